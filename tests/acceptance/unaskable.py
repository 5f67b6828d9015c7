"""Reported cases that the product cannot be asked in full, or does not meet: the reason, what it says and the error."""

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


# Speed rows answered but not met (at most 8): what the product says, what was measured, why.
NOT_CAPTURED = {
    "T01": (
        192.4,
        "prefill and decode on different GPUs are not modelled: both share them; the clamp is what is asked",
    ),
    "T05": (0.86, "no mxfp4 expert kernels were measured on an A100; the gain of the second GPU stays above 1"),
    "T07": (0.72, "AWQ and GPTQ share one class of 4-bit kernels; GPTQ's 0.90 is met within 12 %"),
    "T09": (32.0, "the acceptance rate was not published, and that engine drafted without captured graphs"),
    "T19": (312.5, "at 64 requests a mean TTFT of 5.7 s: requests queued in that run; 4 to 32 are met"),
    "T21": (15.4, "offloading to host memory is not modelled: the answer is that it does not fit"),
    "T22": (5.3, "the 99th percentile: prompts of a burst are served one after the other here; the mean is met"),
}
