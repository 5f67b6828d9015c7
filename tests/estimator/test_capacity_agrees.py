"""One count of what fits: memory fit, speed, sizing and sweeps say the same of the same load, on any plan.

The plans are drawn at random from every shipped model, GPU and engine. What must hold for each of them:

- throughput's `full_length_sequences` is memory-fit's `max_sequences`, its `feasible` memory-fit's of the same load,
  and so is that of the cost; `serves` is memory-fit's of one sequence;
- memory-fit's `feasible` is `concurrency <= full_length_sequences`, of a load and of a row of a sweep (`fits`);
- throughput's clamp is the same cache filled at the length of running sequences, at most the engine's limit, which both
  endpoints name alike; what runs is never more than asked for;
- what does not fit has no time and no rate, and nothing waits for a place.
"""

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from estimator.engine.codes import Reason
from estimator.engine.errors import EngineError, MissingFigureError
from estimator.engine.faults import ResolutionError
from estimator.engine.memory.plan import holds_experts_on_host
from estimator.engine.specs import WorkloadMode
from estimator.estimates.memory_fit.compute import estimate_memory
from estimator.estimates.memory_fit.load import memory_plan
from estimator.estimates.sizing.compute import Candidate, size
from estimator.estimates.sizing.question import Demand
from estimator.estimates.sweep.compute import load, snapshot_of
from estimator.estimates.throughput.compute import estimate_throughput
from estimator.estimates.throughput.figures import METRICS, figures_at
from estimator.estimates.throughput.replica import replica_speed
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import setting_of
from estimator.question.plan import Memory, Parallelism, PlanRequest, Precision
from estimator.question.workload import Speculative, Targets, Workload
from estimator.resolvers.resolve import resolve_plan
from estimator.validation import shipped

PLANS = 1500
WEIGHTS = ("bf16", "bf16", "fp8", "int4", "nvfp4", "q4_k_m")
CACHES = ("bf16", "bf16", "fp8")
DEGREES = (
    {},
    {},
    {"tp": 2},
    {"tp": 4},
    {"tp": 8},
    {"pp": 2},
    {"tp": 2, "pp": 4},
    {"dp": 4},
    {"tp": 2, "dp": 2, "ep": 4},
)
RELEASES = (
    "vllm-0.11.0",
    "vllm-0.16",
    "vllm-0.18",
    "vllm-0.20.0",
    "vllm-0.24",
    "vllm-0.27",
    "vllm-0.29",
    "sglang-0.5.19",
)
"""Releases that differ from their profiles in groups, states or what they print."""
DRAFT = Speculative(acceptance_rate=0.7, draft_tokens=3)
LENGTHS = ((1, 1), (128, 128), (921.6, 921.6), (1000, 300), (100, 5000), (7373, 922), (30_000, 500), (100_000, 4000))
MODES = (WorkloadMode.CLOSED_LOOP, WorkloadMode.STATIC_BATCH, WorkloadMode.DECODE_STEP, WorkloadMode.OFFLINE)


@cache
def gpus():
    """GPUs of the catalog whose peak is known: those of which a speed can be said."""
    rows = [shipped.facts().row("gpu", slug) for slug in sorted(shipped.facts().slugs("gpu"))]
    return [row["slug"] for row in rows if row.get("memory_vendor_bytes") and peak_of(row)]


def peak_of(row):
    return any(row["peak_flops_per_s"].get(name) for name in ("bf16", "fp16"))


def drawn(number):
    """A plan of the seed `number`, or None where its parts do not go together."""
    rng = random.Random(number)
    facts = shipped.facts()
    inputs, outputs = rng.choice(LENGTHS)
    mode = rng.choice(MODES)
    load = {} if mode is WorkloadMode.OFFLINE else {"concurrency": rng.choice((1, 2, 3, 7, 16, 64, 257, 1025, 5000))}
    limits = Memory(
        utilization=rng.choice((None, None, 0.5, 0.95)),
        max_num_seqs=rng.choice((None, None, None, 8, 4096)),
        max_batched_tokens=rng.choice((None, None, 512)),
        kv_cache_tokens_observed=rng.choice((None,) * 9 + (65_536,)),
        enable_prefix_caching=rng.choice((None, None, True, False)),
        async_scheduling=rng.choice((None, None, False)),
        disable_hybrid_kv_cache_manager=rng.choice((None, None, None, True)),
        swa_full_tokens_ratio=rng.choice((None, None, 0.3)),
        mamba_full_memory_ratio=rng.choice((None, None, 0.4)),
        mamba_ssm_cache_dtype=rng.choice((None, None, "bfloat16")),
        kv_unified=rng.choice((None, None, True)),
        mamba_cache_mode=rng.choice((None, None, "none", "align", "all")),
        n_cpu_moe=rng.choice((None, None, 0, 4, 10_000)),
    )
    asked = PlanRequest(
        model=rng.choice(sorted(facts.slugs("model"))),
        gpu=rng.choice(gpus()),
        engine=rng.choice((*sorted(facts.slugs("engine")), *RELEASES)),
        mtp_layers_loaded=rng.choice((0, 0, 1)),
        speculative=rng.choice((None, None, None, DRAFT)),
        precision=Precision(weights=rng.choice(WEIGHTS), kv_cache=rng.choice(CACHES)),
        parallelism=Parallelism(**rng.choice(DEGREES)),
        memory=limits,
        workload=Workload(
            mode=mode,
            input_tokens=inputs,
            output_tokens=outputs,
            context_tokens=rng.choice((None, None, 8192)),
            batch_sizes=[1, 40, 3000],
            **load,
        ),
    )
    try:
        return resolve_plan(asked, facts)
    except (ResolutionError, EngineError):
        return None


def with_load(plan, **load):
    """The plan under another load."""
    return replace(plan, workload=plan.workload.model_copy(update=load))


def with_length(plan, tokens, concurrency=1):
    """The plan asking for sequences of this many tokens."""
    return with_load(plan, context_tokens=tokens, concurrency=concurrency)


def check_host(plan):
    """Of experts in host memory no endpoint says a speed; what they leave is room for the cache of memory-fit."""
    moved, kept = (estimate_memory(one).fit for one in (plan, without_host(plan)))
    assert moved.rank.kv_budget_bytes > kept.rank.kv_budget_bytes
    assert moved.max_sequences >= kept.max_sequences
    for ask in (estimate_throughput, replica_speed):
        with pytest.raises(MissingFigureError, match="host memory"):
            ask(plan)


def without_host(plan):
    return replace(plan, memory=replace(plan.memory, n_cpu_moe=None))


def check(plan):
    """Every claim of the module's head for one plan; whether it fits, and whether more was asked for than runs."""
    if holds_experts_on_host(memory_plan(plan)):
        check_host(plan)
        plan = without_host(plan)
    fit, speed = estimate_memory(plan).fit, estimate_throughput(plan)
    figures, cache = speed.figures, speed.memory_cache
    assert figures.full_length_sequences == fit.max_sequences
    assert cache.engine_sequences == fit.engine_sequences_limit
    assert fit.feasible is (fit.sequences <= fit.max_sequences)
    assert (fit.verdict == "does_not_fit") is not fit.feasible
    one = with_load(plan, concurrency=1)
    assert speed.serves is estimate_memory(one).fit.feasible
    assert speed.feasible is fit.feasible
    assert replica_speed(plan).feasible is fit.feasible
    rows = row_figures(plan)
    for row in (figures, *rows):
        assert row.full_length_sequences == fit.max_sequences
        check_row(row, plan, speed)
    for row, said in zip(rows, speed.rows, strict=True):
        assert (row.concurrency, row.effective_concurrency, row.saturated) == (
            said["batch_size"], said["effective_concurrency"], said["saturated"],
        )  # fmt: skip
        for name in METRICS:
            band = said[name] or dict.fromkeys(("low", "mid", "high"))
            assert (row.expected[name].mid, row.ceiling[name]) == (band["mid"], said[f"ceiling_{name}"])
    if speed.serves and plan.engine.kind != "llama_cpp" and plan.engine.slug != "vllm-unsloth":
        check_clamp(plan, speed)
    return speed.serves, figures.saturated


def row_figures(plan):
    """All figures of the batch sizes of a plan, of which the rows of the answer show a part."""
    sizes = [float(size) for size in plan.workload.batch_sizes or ()]
    if not sizes:
        return []
    columns = setting_of(plan).sweep.evaluate(rows_of(plan.workload, np.array(sizes)))
    return [figures_at(columns, place, size) for place, size in enumerate(sizes)]


def check_row(row, plan, speed):
    """No time, rate or wait of what does not fit; never more inside than asked for, than fits and than is run."""
    if row.reason is Reason.DOES_NOT_FIT:
        said = [*(row.expected[name].mid for name in METRICS), *row.ceiling.values(), row.prefill_s, row.step_s]
        assert said == [None] * len(said)
        assert (row.saturated, row.max_sequences, row.effective_concurrency) == (False, 0, None)
        assert row.full_length_sequences == 0
        return
    assert row.full_length_sequences >= 1
    if row.effective_concurrency is None:
        return  # the ceiling alone is known: no measured kernels, or more than one stream of llama.cpp
    assert row.effective_concurrency < row.max_sequences + 1
    if plan.workload.mode is not WorkloadMode.OFFLINE:
        assert row.effective_concurrency <= row.concurrency
        assert row.saturated == (row.concurrency > row.effective_concurrency * (1 + 1e-9))
        assert row.saturated or row.concurrency <= row.max_sequences
    assert row.max_sequences <= speed.memory_cache.engine_sequences


def check_clamp(plan, speed):
    """What runs at once fills memory-fit's own cache at the length of those running, on each attention-data rank."""
    asked = speed.running_tokens
    # Where a whole prompt is one pass, memory-fit would count another server for another length.
    if plan.engine.memory.batched_tokens_follow_context and plan.memory.max_batched_tokens is None:
        return
    if speed.memory_cache.observed and not speed.memory_cache.stages[0].allocation.is_plain:
        return  # a printed size of a cache of unlike layers or states is of sequences of the longest length
    fit = estimate_memory(with_length(plan, asked)).fit
    dp, limit = plan.parallelism.dp, fit.engine_sequences_limit
    most = speed.figures.max_sequences
    if fit.max_sequences >= limit:
        assert most == limit
    else:
        assert fit.max_sequences <= most < fit.max_sequences + dp or (most == limit < fit.max_sequences + dp)


def test_memory_fit_and_throughput_agree_on_what_fits():
    plans = [plan for plan in map(drawn, range(PLANS)) if plan is not None]
    seen = [check(plan) for plan in plans]
    assert len(plans) > PLANS / 2
    fitting = sum(fits for fits, _ in seen)
    assert fitting > 200
    assert len(plans) - fitting > 200
    assert sum(saturated for _, saturated in seen) > 50
    assert {plan.engine.slug for plan in plans} == {profile["slug"] for profile in engines()}
    assert sum(plan.speculative is not None and has_states(plan) for plan in plans) > 20
    assert sum(holds_experts_on_host(memory_plan(plan)) for plan in plans) > 5
    assert sum(plan.memory.enable_prefix_caching is not None and has_states(plan) for plan in plans) > 50


def has_states(plan):
    return any(group.state is not None for group in plan.model.architecture.layer_groups)


def engines():
    facts = shipped.facts()
    return [facts.row("engine", slug) for slug in facts.slugs("engine")]


def test_sizing_takes_the_same_counts():
    checked = 0
    for number in range(2000, 2400):
        plan = drawn(number)
        if plan is None or plan.engine.kind == "llama_cpp" or plan.workload.context_tokens is not None:
            continue
        plan = with_load(plan, mode=WorkloadMode.CLOSED_LOOP)
        speed = estimate_throughput(plan)
        candidate = Candidate(plan=plan, gpu="g", precision="p", tp=plan.parallelism.tp, price=None)
        [option] = size([candidate], Demand(concurrency=1), Targets(), 8)
        if not speed.serves:
            assert option.served is None
            assert option.reason.startswith("does_not_fit")
        elif option.served is not None:
            checked += 1
            replica = option.replica
            assert replica.max_sequences == speed.figures.max_sequences
            assert replica.full_length_sequences == speed.figures.full_length_sequences
            limited = replica.max_sequences == speed.memory_cache.engine_sequences
            assert replica.capacity.binding.value == ("max_num_seqs" if limited else "memory")
            assert replica.capacity.concurrency == replica.max_sequences
    assert checked > 50


SWEEP = {
    "models": ["llama-3.1-8b", "gpt-oss-120b", "deepseek-v3"],
    "gpus": ["h100-sxm5-80gb", "l40s"],
    "engines": ["vllm-0.19", "vllm-v0", "vllm-2023", "tensorrt-llm-1", "nim", "trtllm-bench", "lmdeploy", "sglang-0.5"],
    "precisions": [{"weights": "fp8", "kv_cache": "bf16"}],
    "parallelism": [{"tp": 1}, {"tp": 2, "pp": 2}, {"tp": 8}],
    "workloads": [
        {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 3000},
        {"mode": "static_batch", "input_tokens": 20_000, "output_tokens": 500},
    ],
    "batch_sizes": [1, 30, 300, 3000],
}


@pytest.mark.parametrize("batches", [[1, 30, 300, 3000], "max"])
def test_rows_of_a_sweep_say_what_memory_fit_says(batches):
    facts = shipped.facts()
    asked = SWEEP | {"batch_sizes": batches}
    sweep = load({"sweep": asked}, snapshot_of(asked, facts))
    rows = sweep.rows(0, sweep.total_rows)
    text = {
        name: np.array(rows[name].labels)[rows[name].codes]
        for name in ("model", "gpu", "engine", "parallelism", "status")
    }
    compared = 0
    for at in range(0, sweep.total_rows, 5):
        if text["status"][at] == "unsupported":
            continue
        inputs, outputs, batch = (int(rows[name][at]) for name in ("input_tokens", "output_tokens", "batch_size"))
        plan = resolve_plan(
            PlanRequest(
                model=text["model"][at],
                gpu=text["gpu"][at],
                engine=text["engine"][at],
                precision=Precision(weights="fp8", kv_cache="bf16"),
                parallelism=Parallelism(**{part[:2]: int(part[2:]) for part in text["parallelism"][at].split("-")}),
                workload=Workload(input_tokens=inputs, output_tokens=outputs, concurrency=batch),
            ),
            facts,
        )
        fit, speed = estimate_memory(plan).fit, estimate_throughput(plan)
        assert bool(rows["fits"][at]) is fit.feasible
        assert rows["full_length_sequences"][at] == fit.max_sequences
        assert rows["max_sequences"][at] == speed.figures.max_sequences
        assert rows["slack_bytes"][at] == pytest.approx(fit.ledger.slack_bytes, abs=2)
        assert (text["status"][at] == "does_not_fit") is not speed.serves
        assert bool(rows["fits"][at]) is speed.feasible
        if batches == "max":
            assert fit.feasible or batch == 1
            assert batch == 1 or batch <= speed.figures.max_sequences
        compared += 1
    assert compared > 40
