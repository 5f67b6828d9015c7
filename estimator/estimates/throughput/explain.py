"""The working of a throughput answer, step by step, from the values it was computed with."""

from estimator.engine.codes import Binding, Reason
from estimator.engine.explain import Step
from estimator.engine.forward_pass.roofline import StepFloor, added, step_floor
from estimator.engine.serving.steps import micro_batch
from estimator.engine.specs import WorkloadMode
from estimator.estimates.throughput.compute import Throughput
from estimator.estimates.throughput.energy import energy_steps

_ROOFLINE = "roofline: bytes / bandwidth against FLOPs / dense peak"
_SERVING = "calibrated operator model, constants of the engine profile and of measured kernels"
_DEFINITION = "definition"


def steps_of(result: Throughput) -> list[Step]:
    """Steps from the context length to tokens per second; what is not said has no step."""
    return [
        *_context(result),
        *_capacity(result),
        *_work(result),
        *_ceiling(result),
        *_expected_step(result),
        *_times(result),
        *_rates(result),
        *energy_steps(result.plan, result.figures),
        *_speculation(result),
    ]


def _context(result: Throughput) -> list[Step]:
    load = result.workload
    if load.context_tokens is not None:
        return []
    return [
        Step.worked(
            name="context_tokens",
            formula="input_tokens + 0.5 · output_tokens",
            values={"input_tokens": load.input_tokens, "output_tokens": load.output_tokens},
            value=result.context_tokens,
            unit="tokens",
            source="mean cache length of a running sequence",
        )
    ]


def _capacity(result: Throughput) -> list[Step]:
    """Sequences of the length they run at, or at their end where not one fits; the engine's limit has no working."""
    cache, limit = result.prepared.cache, result.figures.max_sequences
    if limit is None or limit >= cache.engine_sequences:
        return []
    tokens = result.running_tokens if limit else result.full_tokens
    running = [float(one.allocation.mean_sequences_within(one.budget_bytes, tokens)) for one in cache.stages]
    on_rank = max(min(running), 1.0)
    stage = cache.stages[running.index(min(running))]
    return [
        Step.worked(
            name="concurrency.max_sequences",
            formula="floor(dp · max(cache_bytes, 0) / bytes_per_sequence + 0.000000001)",
            values={
                "dp": float(cache.attention_dp),
                "cache_bytes": float(stage.budget_bytes),
                # Sequences share the tokens of one pass beside their windows: each takes less than one alone.
                "bytes_per_sequence": float(stage.allocation.load_bytes(on_rank, tokens)) / on_rank,
            },
            value=limit,
            unit="sequences",
            source=f"cache of the worst GPU as memory-fit counts it; each sequence with {tokens:.12g} tokens in it",
        )
    ]


def _work(result: Throughput) -> list[Step]:
    gpu, work = result.plan.gpu.spec, result.decode
    return [
        Step.worked(
            name="roofline.arithmetic_intensity_flops_per_byte",
            formula="decode_flops / decode_bytes",
            values={"decode_flops": work.flops, "decode_bytes": work.bytes},
            value=work.intensity_flops_per_byte,
            unit="FLOP/byte",
            source="work of one decode step of the replica",
        ),
        Step.worked(
            name="roofline.ridge_flops_per_byte",
            formula="peak_flops_per_s / memory_bandwidth_bytes_per_s",
            values={
                "peak_flops_per_s": result.peak_flops_per_s,
                "memory_bandwidth_bytes_per_s": gpu.memory_bandwidth_bytes_per_s,
            },
            value=result.peak_flops_per_s / gpu.memory_bandwidth_bytes_per_s,
            unit="FLOP/byte",
            source="catalog: GPU",
        ),
        Step.worked(
            name="roofline.overlapped_s",
            formula="max(memory_s, compute_s)",
            values=_seconds(result.floor),
            value=float(result.floor.time_s()),
            unit="s",
            source="a step of one GPU whose transfers and products overlap fully",
        ),
        Step.worked(
            name="roofline.added_s",
            formula="memory_s + compute_s",
            values=_seconds(result.floor),
            value=float(added(**_seconds(result.floor))),
            unit="s",
            source="the same without any overlap: more compute changes it only by the second term",
        ),
    ]


def _seconds(least: StepFloor) -> dict[str, float]:
    return {"memory_s": float(least.memory_s), "compute_s": float(least.compute_s)}


def _ceiling(result: Throughput) -> list[Step]:
    value = result.figures.ceiling["tpot_s"]
    if value is None:
        return []
    micro = micro_batch(result.sequences, float(result.plan.parallelism.pp))
    least = step_floor(result.prepared.ceiling, micro, result.context_tokens)
    return [
        Step.worked(
            name="ceiling.tpot_s",
            formula="max(memory_s, compute_s)",
            values=_seconds(least),
            value=value,
            unit="s",
            source=f"{_ROOFLINE}, of one GPU with {result.sequences:.12g} sequences",
        )
    ]


def _expected_step(result: Throughput) -> list[Step]:
    value = result.figures.step_s
    if value is None:
        return []
    if result.prepared.ideal is not None:
        least = result.floor
        ideal = result.plan.engine.ideal
        share = ideal.decode_compute_efficiency if ideal else 1.0
        values = _seconds(least) | {"efficiency": share}
        formula, source = "max(memory_s, compute_s / efficiency)", "roofline with the source documents' efficiency"
        if value > float(least.time_s(share)) * (1 + 1e-12):
            # Weights of less than 16 bits: the physical count reads a 16-bit head, and no step is faster than it.
            values["ceiling_s"] = figures_ceiling = result.figures.ceiling["tpot_s"] or 0.0
            formula = "max(memory_s, compute_s / efficiency, ceiling_s)"
            if abs(figures_ceiling - value) > 1e-9 * value:
                return []
    else:
        names = [b for b in Binding if result.figures.parts_s.get(b) is not None]
        values = {f"{b.label}_s": float(result.figures.parts_s[b] or 0.0) for b in names}
        if abs(sum(values.values()) - value) > 1e-9 * value:
            return []
        formula, source = " + ".join(values), _SERVING
    return [Step.worked(name="decode.step_s", formula=formula, values=values, value=value, unit="s", source=source)]


def _times(result: Throughput) -> list[Step]:
    figures = result.figures
    tpot, ttft = figures.expected["tpot_s"].mid, figures.expected["ttft_s"].mid
    steps = []
    if tpot is not None and figures.step_s is not None and tpot >= figures.step_s:
        steps.append(
            Step.worked(
                name="expected.tpot_s.mid",
                formula="step_s + interference_s",
                values={"step_s": figures.step_s, "interference_s": tpot - figures.step_s},
                value=tpot,
                unit="s",
                source="prefills of the other sequences that are not hidden behind decode steps",
            )
        )
    if ttft is not None and figures.prefill_s is not None and ttft >= figures.prefill_s:
        steps.append(
            Step.worked(
                name="expected.ttft_s.mid",
                formula="prefill_s + waiting_s",
                values={"prefill_s": figures.prefill_s, "waiting_s": ttft - figures.prefill_s},
                value=ttft,
                unit="s",
                source="one prompt alone; engine overhead, the running step, prompts ahead, a free place",
            )
        )
    return [*steps, *_answer_time(result), *_band(result)]


def _answer_time(result: Throughput) -> list[Step]:
    """The time of a whole answer from its parts; a batch that starts and ends together has its own."""
    if result.workload.mode is WorkloadMode.STATIC_BATCH:
        return []
    tpot, ttft, e2e = (result.figures.expected[name].mid for name in ("tpot_s", "ttft_s", "e2e_s"))
    if ttft is None or e2e is None:
        return []
    figures = result.figures
    if figures.ttft_outside_s is not None and figures.ttft_waiting_s is not None and figures.ttft_forward_s is not None:
        # Whole answers are those of the mean from the client, whichever first token was asked for.
        ttft = figures.ttft_outside_s + figures.ttft_waiting_s + figures.ttft_forward_s
    formula, values, source = "ttft_s", {"ttft_s": ttft}, "an answer of one token is whole with its first token"
    if tpot is not None:
        formula, source = "ttft_s + (output_tokens − 1) · tpot_s", _DEFINITION
        values |= {"output_tokens": max(result.workload.output_tokens, 1), "tpot_s": tpot}
    elif result.figures.reason is not Reason.NO_SECOND_TOKEN:
        return []
    return [Step.worked(name="expected.e2e_s.mid", formula=formula, values=values, value=e2e, unit="s", source=source)]


def _band(result: Throughput) -> list[Step]:
    tpot = result.figures.expected["tpot_s"]
    if tpot.low is None or tpot.mid is None or tpot.high is None or tpot.low == tpot.high:
        return []
    return [
        Step.worked(
            name=f"expected.tpot_s.{side}",
            formula="tpot_s · measured_over_predicted",
            values={"tpot_s": tpot.mid, "measured_over_predicted": end / tpot.mid},
            value=end,
            unit="s",
            source=f"{percentile} of measured / predicted of this class, never below the ceiling",
        )
        for side, end, percentile in (("low", tpot.low, "P5"), ("high", tpot.high, "P95"))
    ]


def _rates(result: Throughput) -> list[Step]:
    expected = result.figures.expected
    tpot, total = expected["tpot_s"].mid, expected["tokens_per_s_total"].mid
    steps = []
    if tpot is not None:
        steps.append(
            Step.worked(
                name="expected.tokens_per_s_per_user.mid",
                formula="1 / tpot_s",
                values={"tpot_s": tpot},
                value=1.0 / tpot,
                unit="tokens/s",
                source=_DEFINITION,
            )
        )
    if total is not None:
        steps.append(
            Step.worked(
                name="expected.tokens_per_s_per_gpu.mid",
                formula="tokens_per_s_total / gpus",
                values={"tokens_per_s_total": total, "gpus": result.plan.parallelism.gpus},
                value=total / result.plan.parallelism.gpus,
                unit="tokens/s",
                source=_DEFINITION,
            )
        )
    return steps


def _speculation(result: Throughput) -> list[Step]:
    found, asked = result.speculation, result.plan.speculative
    if found is None or asked is None:
        return []
    steps = []
    if asked.acceptance_rate < 1.0:
        steps.append(
            Step.worked(
                name="speculative.tokens_per_pass",
                formula="(1 − acceptance_rate ^ (draft_tokens + 1)) / (1 − acceptance_rate)",
                values={"acceptance_rate": asked.acceptance_rate, "draft_tokens": asked.draft_tokens},
                value=found.at_load.tokens_per_pass,
                unit="tokens",
                source="Leviathan et al. 2023, arXiv 2211.17192, equation 1",
            )
        )
    steps.append(
        Step.worked(
            name="speculative.speedup",
            formula="tokens_per_pass / (verify_cost_ratio + draft_tokens · draft_cost_ratio)",
            values={
                "tokens_per_pass": found.at_load.tokens_per_pass,
                "verify_cost_ratio": found.verify_cost_ratio,
                "draft_tokens": asked.draft_tokens,
                "draft_cost_ratio": found.draft_cost_ratio,
            },
            value=found.speedup,
            unit="1",
            source="Leviathan et al. 2023, theorem 3.8, with the cost of verifying a batch",
        )
    )
    return steps
