"""Reported cases that the product cannot be asked in full, or does not meet: the reason, what it says and the error."""

from dataclasses import dataclass

# Rows whose figures cannot be asked for at all (at most 6 of the memory rows).
NOT_ASKABLE = {
    "M11": (
        "The report names no model; its figures (48 KiB a token at both lengths, 5 GiB more reserve) are asked of one "
        "with 48 KiB a token instead: the cache of a token stays, and the ledger shows the reserve apart."
    ),
    "M34": (
        "31.18 GiB at the moment of failure is a peak above the engine's own budget, and neither its version nor its "
        "load is stated. Asked are the budget, the graphs apart from the rest, and the warning of so small a remainder."
    ),
    "P03": "A trace of four single requests: the service takes loads, not traces; asked is what TPOT leaves out.",
    "P11": "Two calculators of one vendor disagree and no truth is published; vendor units are no meters of a price.",
    "P12": "Two runs of two load tools; asked is that a calibration refuses a run of other lengths than it claims.",
}


@dataclass(frozen=True, kw_only=True)
class NotCaptured:
    """A figure that is answered and not met: measured, said, the error as said / measured − 1, and the cause."""

    measured: float
    said: float | None
    cause: str

    @property
    def error(self) -> float | None:
        return None if self.said is None else self.said / self.measured - 1


# Speed rows answered but not met (at most 8); docs/accuracy-open-points.md tells them at length.
NOT_CAPTURED = {
    "T01": NotCaptured(
        measured=192.4, said=401.0, cause="prefill and decode on different GPUs are not modelled: here they share them"
    ),
    "T05": NotCaptured(
        measured=77 / 90,
        said=1.22,
        cause="no mxfp4 expert kernels measured on an A100; eager all-reduces of that engine",
    ),
    "T07": NotCaptured(
        measured=1468 / 2025,
        said=0.99,
        cause="AWQ and GPTQ share one class of 4-bit kernels; GPTQ (0.90) is within 12 %",
    ),
    "T09": NotCaptured(
        measured=32,
        said=128,
        cause="the acceptance rate was not published; that engine drafted without captured graphs",
    ),
    "T19": NotCaptured(
        measured=312.5, said=480.0, cause="at 64 requests that run queued (mean TTFT 5.7 s); 4 to 32 are met"
    ),
    "T21": NotCaptured(measured=15.4, said=None, cause="offloading to host memory is not modelled: it does not fit"),
    "T22": NotCaptured(
        measured=5.3, said=6.2, cause="99th percentile: prompts of a burst are served one by one here; the mean is met"
    ),
}
