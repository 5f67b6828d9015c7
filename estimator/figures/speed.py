"""Figures that every load has: expected with a band (low, mid, high), and as a ceiling that nothing passes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a load.

    `said` is what it means as expected, a band; `least` what it means as the ceiling. Both name the unit.
    """

    name: str
    unit: str
    said: str
    least: str


FIGURES = (
    Figure(
        name="ttft_s",
        unit="s",
        said="Time to the first token, seconds: the mean, or as traffic asks; static batch: until all have theirs.",
        least="Least time to the first token, seconds.",
    ),
    Figure(
        name="tpot_s",
        unit="s",
        said="Mean time per output token after the first, (e2e_s - ttft_s) / (output_tokens - 1), seconds: of a mean "
        "between 1 and 2 tokens that of the answers that have a second. null for answers of one token.",
        least="Least mean time per token with as many sequences decoding, seconds.",
    ),
    Figure(
        name="e2e_s",
        unit="s",
        said="Mean time to the whole answer, seconds, whichever first token traffic asks for; static batch: of all "
        "of it.",
        least="Least mean time to the whole answer, seconds: in a closed loop and a batch the prompts of all sequences "
        "are multiplied on the same GPUs, so that it may be above ttft_s + (n - 1) * tpot_s.",
    ),
    Figure(
        name="tokens_per_s_per_user",
        unit="tokens/s",
        said="Output tokens/s that one request sees, 1 / tpot_s.",
        least="Most output tokens/s of one request.",
    ),
    Figure(
        name="tokens_per_s_total",
        unit="tokens/s",
        said="Output tokens/s of the replica.",
        least="Most output tokens/s of the replica.",
    ),
    Figure(
        name="tokens_per_s_per_gpu",
        unit="tokens/s",
        said="Output tokens/s of the replica over its GPUs.",
        least="Most output tokens/s of the replica over its GPUs.",
    ),
    Figure(
        name="requests_per_s",
        unit="requests/s",
        said="Requests/s of the replica.",
        least="Most requests/s of the replica.",
    ),
)
SIDES = ("low", "mid", "high")
METRICS = tuple(figure.name for figure in FIGURES)
EXPECTED_COLUMNS = tuple(f"{name}_{side}" for name in METRICS for side in SIDES)
CEILING_COLUMNS = tuple(f"{name}_ceiling" for name in METRICS)
