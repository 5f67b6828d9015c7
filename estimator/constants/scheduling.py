"""Constants of how a serving engine schedules prompts and decode steps."""

from dataclasses import dataclass

from estimator.constants.kernels import constants_of, typed


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingConstants:
    """Shares, sequences and loads; each row of scheduling.csv says what it is."""

    hidden_step_share: float
    least_unhidden_share: float
    mean_share_of_output: float
    open_loop_load_limit: float
    judged: frozenset[str] = frozenset()


SCHEDULING = typed(SchedulingConstants, constants_of("scheduling.csv"))
