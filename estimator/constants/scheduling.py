"""Constants of how a serving engine schedules prompts and decode steps."""

from dataclasses import dataclass

from estimator.constants.kernels import constants_of, typed


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingConstants:
    """Shares, sequences and loads; each row of scheduling.csv says what it is."""

    decoding_sequences_per_prompt: float
    hidden_step_share: float
    least_unhidden_share: float
    mean_share_of_output: float
    step_met_share: float
    queue_utilization_limit: float
    least_decoding_share: float
    open_loop_load_limit: float
    judged: frozenset[str] = frozenset()


SCHEDULING = typed(SchedulingConstants, constants_of("scheduling.csv"))
