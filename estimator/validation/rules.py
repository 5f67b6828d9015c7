"""Why rows are left out: each rule looks at the setting or the figure itself, never at the error of a prediction."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from estimator.validation.rows import Measurement

RULES = {
    "unlabelled_mtp": (
        "TensorRT-LLM images of DeepSeek-R1 and V3 that ran multi-token prediction without saying so: the same "
        "configuration took 10.30 ms a token in one image and 5.38 ms in the next."
    ),
    "weights_do_not_fit": "The weights are more than 0.97 of the memory: the row's GPU count or format is not right.",
    "sharegpt_burst": "Requests of a real mix of lengths were sent at once: concurrency and lengths are not stated.",
    "unusable_kernel": "The server fell back to a kernel that its own log calls unusable for the model.",
    "power_cap": "The card ran under a power limit of its own.",
    "gpu_unknown": "The source does not say which card it was.",
    "mfu_above_0.6": "The figure implies more than 0.6 of the dense peak at the concurrency, lengths and times stated.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCount:
    """A rule in words and the rows it keeps out."""

    rule: str
    reason: str
    rows: int


def excluded(rows: Sequence[Measurement]) -> tuple[RuleCount, ...]:
    """Every rule with the number of rows it keeps out.

    Raises:
        ValueError: a row is kept out by something that is no rule.
    """
    counts = Counter(row.excluded_by for row in rows if row.excluded_by)
    unknown = set(counts) - set(RULES)
    if unknown:
        raise ValueError(f"rows are excluded by {sorted(unknown)}, which is no rule")
    return tuple(RuleCount(rule=rule, reason=reason, rows=counts[rule]) for rule, reason in RULES.items())
