"""What a speed takes for granted, what may make it unlike reality, and what it leaves out."""

from django.utils.translation import gettext as _

from estimator.engine.codes import Reason
from estimator.engine.memory.plan import holds_tables_on_host
from estimator.engine.serving.queue_table import VARIATIONS
from estimator.engine.specs import WorkloadMode
from estimator.estimates.throughput.compute import Throughput
from estimator.estimates.throughput.targets import binding_targets, no_gap_text, no_percentile_text


def throughput_assumptions(result: Throughput) -> list[str]:
    """What a speed takes for granted."""
    texts = []
    ideal = result.plan.engine.ideal
    if ideal is not None:
        texts.append(
            _("Prefill reaches %(prefill)g and decode %(decode)g of the dense peak, transfers the whole bandwidth.")
            % {"prefill": ideal.prefill_compute_efficiency, "decode": ideal.decode_compute_efficiency}
        )
    if result.workload.mode is WorkloadMode.OPEN_LOOP:
        texts.append(
            _(
                "Prompts wait for one server with equal service times (GI/D/1, Gamma gaps), and near full places for "
                "a free one by Sakasegawa's formula."
            )
        )
    return texts


def throughput_warnings(result: Throughput) -> list[str]:
    """What may make a speed unlike reality."""
    texts = [
        _("No measurement stands behind: %(what)s; the nearest was taken and the band is wider.") % {"what": doubt}
        for doubt in result.prepared.doubts
    ]
    slo = result.plan.slo
    if slo is not None and slo != binding_targets(slo, result.workload):
        texts.append(no_gap_text())
    if slo is not None and slo.percentile is not None and result.workload.mode is not WorkloadMode.OPEN_LOOP:
        texts.append(no_percentile_text())
    if result.workload.mode is WorkloadMode.OPEN_LOOP:
        if result.workload.burstiness_cv > VARIATIONS[-1]:
            beyond = _("Waits are known up to a burstiness_cv of %(most)g: those said here are of that, a lower bound.")
            texts.append(beyond % {"most": VARIATIONS[-1]})
        return texts
    if more_than_tokens(result):
        crowded = _(
            "More requests are in flight than an answer has tokens, so that they run in step with each other: against "
            "a step simulation whole answers come out up to 1.8 times too slow here and the time between tokens up to "
            "5 times. percentiles: simulated plays the load instead."
        )
        texts.append(crowded)
    if result.waits_for == "cache":
        texts.append(_("More requests are in flight than fit into the KV cache; plan below 95 % of it."))
    elif result.waits_for == "engine":
        limit = _(
            "More requests are in flight than the engine runs at once (%(n)s): the others wait for a place. "
            "memory.max_num_seqs raises it."
        )
        texts.append(limit % {"n": round(result.figures.max_sequences or 0)})
    if result.may_evict:
        evicts = _(
            "The KV cache holds %(n)s of these sequences with their whole answers; memory-fit says that more do not "
            "fit. They run because few are at their end at once; where many are, the engine evicts and computes again."
        )
        texts.append(evicts % {"n": round(result.figures.full_length_sequences or 0)})
    return texts


def more_than_tokens(result: Throughput) -> bool:
    """Whether a closed loop has so many in flight that each step brings prompts: the closed form is too slow there."""
    running = result.figures.decoding_sequences or 0.0
    at_once = min(result.figures.concurrency, result.figures.max_sequences or running)
    closed = result.workload.mode is WorkloadMode.CLOSED_LOOP and result.prepared.kind == "serving"
    return closed and 1.0 < result.workload.output_tokens < at_once


def throughput_not_modelled(result: Throughput) -> list[str]:
    """What a speed leaves out."""
    texts = [
        _("sampling options, tool calls and network time to the client"),
        _("correlated routing of experts and uneven lengths of requests"),
    ]
    if result.prepared.ideal is not None:
        texts.append(_("kernel launches, exchange between GPUs, prefills of other requests, queues"))
    if result.workload.prefix_cache_hit_rate:
        texts.append(_("memory that requests with a common prefix share"))
    if holds_tables_on_host(result.memory):
        texts.append(_("reads of n-grams from host memory: their time is taken for that of the GPU's own memory"))
    if result.figures.reason is Reason.DOES_NOT_FIT:
        texts.append(
            _("weights in host memory (offloading): such a server is bound by that memory and the bus, not by the GPU")
        )
    if result.waits_for == "cache" and result.workload.mode is not WorkloadMode.OPEN_LOOP:
        texts.append(_("preemption: a server that admits beyond its cache computes some sequences twice"))
    if result.workload.mode is WorkloadMode.OPEN_LOOP:
        texts.append(_("priorities and preemption; prompts are served one after the other"))
    if result.plan.speculative is not None:
        texts.append(_("speculation in expected: its figures are those without, the block speculative those with"))
    return texts
