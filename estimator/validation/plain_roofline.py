"""The plain roofline of a measured setting: 0.8 of bandwidth, 0.5 of the peak, prefill added, nothing else."""

from estimator.engine.forward_pass.roofline import floor_prefill_s, floor_step_s
from estimator.engine.serving.load import context_tokens
from estimator.engine.speed.prepared import PreparedKey
from estimator.question.workload import ResolvedWorkload
from estimator.validation.rows import Metric

BANDWIDTH_SHARE, COMPUTE_SHARE = 0.8, 0.5
_SEQUENCES_AT_MOST = 2048.0
_MEMORY_SHARE = 0.9


def plain_figure(prepared: PreparedKey, workload: ResolvedWorkload, metric: Metric) -> float:
    """What a spreadsheet gives: step and prefill by the roofline, the cache in 0.9 of memory less weights.

    Args:
        prepared: the key of the setting; its ceiling is the roofline.
        workload: lengths and concurrency.
        metric: which figure; seconds, or tokens/s of the replica.
    """
    layout, ceiling = prepared.layout, prepared.ceiling
    stages = float(layout.parallelism.pp)
    inputs, outputs = float(workload.input_tokens), max(float(workload.output_tokens), 1.0)
    context = float(context_tokens(inputs, float(workload.output_tokens)))
    room = max(_MEMORY_SHARE * prepared.key.gpu.memory_bytes - layout.weight_bytes, 0.0)
    held = float(prepared.cache.stages[0].allocation.mean_sequences_within(room, context))
    fits = max(layout.parallelism.dp * held, 1.0)
    wanted = fits if metric is Metric.OFFLINE else float(workload.concurrency)
    batch = min(wanted, fits, _SEQUENCES_AT_MOST)
    efficiency = COMPUTE_SHARE / BANDWIDTH_SHARE
    step = float(floor_step_s(ceiling, batch / min(stages, batch), context, efficiency)) / BANDWIDTH_SHARE
    prefill = float(floor_prefill_s(ceiling, inputs, 0.0, efficiency)) / BANDWIDTH_SHARE
    if metric in (Metric.TTFT, Metric.TTFT_ALONE):
        return prefill
    if metric is Metric.TPOT:
        return step
    if metric is Metric.SINGLE_STREAM:
        return 1.0 / step
    if metric is Metric.PREFILL:
        return inputs / prefill
    return batch * outputs / (batch * prefill / stages + outputs * step)
