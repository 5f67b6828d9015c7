"""`estimates/memory-fit/`: whether a model and its load fit, what binds, and what would."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import BeforeValidator, Field

from estimator.engine.memory.fit import Ledger
from estimator.engine.memory.kv_allocation import UNLIMITED_TOKENS
from estimator.engine.memory.plan import HostMemory, host_memory
from estimator.engine.memory.suggestions import GpuChoice, Suggestion
from estimator.engine.model.parameters import ParameterTotals
from estimator.engine.specs import WorkloadMode
from estimator.estimates.answers import BASIS_HELP, Basis, ResponsePart, part_of, shown, values_of
from estimator.estimates.echo import PlanAnswer, plan_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.memory_fit.compute import CacheFigures, MemoryEstimate, estimate_memory
from estimator.estimates.memory_fit.idle import idle_settings
from estimator.estimates.memory_fit.launch import Server, launch_hint
from estimator.estimates.memory_fit.load import DEFAULT_TOKENS
from estimator.estimates.memory_fit.log_part import StartupLogPart, log_warnings, startup_log_part
from estimator.estimates.memory_fit.notes import memory_not_modelled, memory_notes, memory_warnings
from estimator.estimates.memory_fit.startup import Startup, startup_of
from estimator.estimates.unused import unused_by_memory, unused_in_plan, unused_warnings
from estimator.question.plan import PlanRequest
from estimator.resolvers.facts import Facts
from estimator.resolvers.plan import Plan, Provenance
from estimator.resolvers.resolve import resolve_plan


class MemoryFitRequest(PlanRequest):
    """A replica and its load; without a workload, one conversation of 4,096 tokens."""

    startup_log: Annotated[str, Field(min_length=1, max_length=200_000)] | None = Field(
        default=None,
        description="What the server printed at start, as text (vLLM, SGLang, llama.cpp, TensorRT-LLM): each figure is "
        "compared with this estimate. At most 200,000 characters: the part before it serves is enough.",
    )


MemoryLedger: Any = part_of(
    Ledger,
    "MemoryLedger",
    "Where the memory of the worst GPU goes; unmanaged to slack sum exactly to `memory_bytes`.",
    memory_bytes="Memory of one GPU that the profile counts with, bytes.",
    usable_bytes="Share the engine may use, bytes.",
    unmanaged_bytes="The rest of the memory, bytes; graphs may be paid from it.",
    weights_bytes="Weights on this GPU, adapters, draft and MTP layers included, bytes.",
    runtime_overhead_bytes="Runtime and communication buffers, bytes.",
    activation_bytes="Peak of activations paid from the budget, bytes.",
    cuda_graph_bytes="Captured graphs paid from the budget, bytes.",
    kv_cache_bytes="KV cache that the load needs on this GPU, bytes.",
    slack_bytes="What is left of the budget, bytes; negative when it does not fit.",
    lora_bytes=shown("Adapters, part of the weights, bytes.", kind=int),
    draft_bytes=shown("Draft model, part of the weights, bytes.", kind=int),
    mtp_bytes=shown("Multi-token prediction layers, part of the weights, bytes.", kind=int),
    cuda_graph_outside_bytes=shown("Graphs paid from unmanaged, typical, bytes; counted there once.", kind=int),
    activation_outside_bytes=shown("Activations paid from unmanaged, bytes; counted there once.", kind=int),
    graphs_in_budget=shown("Whether the engine pays graphs from its budget.", kind=bool),
    pipeline_stage=shown("Pipeline stage of this GPU, from 0.", kind=int),
    max_num_seqs=shown("Sequences at once on this GPU that the activations were sized for, count.", kind=int),
    max_batched_tokens=shown("Tokens of one forward pass that the activations were sized for.", kind=int),
)


HostMemoryPart: Any = part_of(
    HostMemory,
    "HostMemoryPart",
    "Weights of a replica in host memory, beside those on its GPUs.",
    expert_bytes="Routed experts of the first layers (n_cpu_moe), bytes.",
    embedding_bytes="Input embedding, whose rows are looked up there, bytes.",
    table_bytes="Tables of n-grams, whose rows are looked up there, bytes.",
    expert_layers="Layers whose routed experts lie there, count.",
    total_bytes=shown("All together, bytes.", kind=int),
)


class MemoryCurvePoint(ResponsePart):
    """Sequences that fit at a length."""

    context_tokens: int = Field(description="Length of every sequence, tokens.")
    max_sequences: int = Field(description="Sequences of that length in the replica's cache, count.")


class CacheAlternative(ResponsePart):
    """The cache under another technique, weights unchanged."""

    name: Literal["as_is", "mha", "gqa_8", "mqa", "mla", "window_4096", "kv_fp8", "kv_int8", "kv_int4"] = Field(
        description="As it is, another attention (MHA, GQA with 8 heads, MQA, MLA), a window, or a format."
    )
    bytes_per_token: int = Field(description="Bytes one token adds to the cache, while inside every window.")
    window_tokens: int | None = Field(description="Tokens a windowed layer keeps; null without a window.")


MemoryCache: Any = part_of(
    CacheFigures,
    "MemoryCache",
    "The KV cache: logical figures of the model, and what the engine allocates and admits.",
    attention="MHA, GQA, MQA, MLA, compressed, their mixture, or none.",
    bytes_per_token="Bytes one token adds in layers that grow without limit, whole model.",
    window_bytes_per_token="Bytes one token adds in windowed layers, whole model.",
    window_tokens="Longest window, tokens; null without windows.",
    fixed_bytes_per_sequence="Full windows and states of one sequence, whole model, bytes.",
    bytes_per_sequence="Cache of one sequence of the asked length, whole model, bytes.",
    engine_allocated_bytes_per_sequence=shown(
        "What the engine allocates for it alone on the worst GPU: blocks, chunks, split over GPUs, bytes.", kind=int
    ),
    needed_bytes=shown("Cache that the load needs on the worst GPU, bytes.", kind=int),
    capacity_bytes=shown("Cache that the worst GPU has room for, bytes.", kind=int),
    capacity_tokens=shown(
        "Tokens the replica's cache holds: as the engine's version prints them, or at the asked length.", kind=int
    ),
    effective_tokens=shown("Tokens of the whole sequences of the asked length that fit.", kind=int),
    max_sequences=(
        shown(
            "Sequences of the asked length that the replica's cache holds, count; feasible is held against it. "
            "full_length_sequences of throughput is the same number.",
            kind=int,
        )
    ),
    max_context_tokens=shown(
        "Longest length at which the asked sequences fit, tokens; null where no length is too long.", kind=int | None
    ),
    engine_max_sequences=(
        shown(
            "Sequences that the engine's scheduler runs at once at most, whatever the cache holds, count: "
            "max_num_seqs of all attention-data ranks.",
            kind=int,
        )
    ),
    basis=shown(BASIS_HELP, kind=Basis),
    notes=shown("What to know about these figures.", kind=list[str]),
    curve=shown("Length against sequences.", kind=list[MemoryCurvePoint]),
    alternatives=shown("The cache under other techniques.", kind=list[CacheAlternative]),
)


ParameterCounts: Any = part_of(
    ParameterTotals,
    "ParameterCounts",
    "Parameters of the model by part, counts.",
    total="All parameters, vision and audio included, count.",
    active="Parameters a token uses, embedding tables included, count.",
    active_without_input_embedding="The same without what is only looked up, count.",
    embedding="Token, position and per-layer tables, count.",
    attention="Attention, count.",
    mlp="Dense MLPs, count.",
    routed_experts="Routed experts, count.",
    shared_experts="Shared experts, count.",
    router="Routers, count.",
    norms="Norms, count.",
    state="Mamba, linear attention and convolutions, count.",
    lm_head="Output head; 0 when it shares the embedding, count.",
    vision_audio="Vision and audio towers, count.",
    other="Everything else, count.",
    mtp="Multi-token prediction layers, not part of the total, count.",
)


def _length(tokens: int | None) -> int | None:
    """The length, or None where the cache does not grow with it and no window of the model is known."""
    return None if tokens is None or tokens >= UNLIMITED_TOKENS else tokens


MemorySuggestion: Any = part_of(
    Suggestion,
    "MemorySuggestion",
    "One change that makes the load fit.",
    change="The setting to change, as in the request.",
    value=shown(
        "Its new value, as the request takes it; degrees by name for parallelism.",
        kind=str | int | float | dict[str, int],
    ),
    max_sequences="Sequences of the length that then fit, count.",
    max_context_tokens=shown(
        "Longest length of the asked sequences that then fits, tokens; null where nothing grows with it.",
        kind=Annotated[int | None, BeforeValidator(_length)],
    ),
    verdict="fits or tight.",
)


class MemoryFitAnswer(PlanAnswer):
    """Whether the load fits into one replica, and why."""

    feasible: bool = Field(description="Whether the load fits.")
    verdict: Literal["fits", "tight", "does_not_fit"] = Field(
        description="fits: needs at most 95 % of the cache's capacity; tight: up to 100 %, or the GPU shares its "
        "memory with the host and its cache was not observed; does_not_fit."
    )
    binding_term: Literal["weights", "runtime_overhead", "activation", "cuda_graph", "kv_cache", "max_num_seqs"] = (
        Field(description="When it does not fit, the first term that passes the budget; else what load exhausts first.")
    )
    per_gpu: MemoryLedger
    host_memory: HostMemoryPart | None = Field(
        description="What the engine keeps of the weights in host memory; null where it keeps all on its GPUs."
    )
    kv_cache: MemoryCache
    startup: Startup
    parameters: ParameterCounts
    suggestions: list[MemorySuggestion] = Field(description="Nearest settings that fit, least change first.")
    launch_hint: list[str] = Field(
        description="Flags of the engine for this plan; empty where it has none or nothing fits."
    )
    startup_log: StartupLogPart | None = Field(
        description="The log that was pasted beside this estimate, line by line; null where none was."
    )


def _with_lengths(body: MemoryFitRequest) -> MemoryFitRequest:
    """A load of context_tokens alone, with the lengths that it is: memory has no use of how they came about."""
    load = body.workload
    if load is None or load.context_tokens is None or load.mode is not WorkloadMode.CLOSED_LOOP:
        return body
    if load.input_tokens is not None or load.output_tokens is not None:
        return body
    lengths = {"input_tokens": load.context_tokens, "output_tokens": 0.0}
    return body.model_copy(update={"workload": load.model_copy(update=lengths)})


def answer_memory_fit(body: MemoryFitRequest, asked: Asked) -> MemoryFitAnswer:
    """The answer to a request."""
    body = _with_lengths(body)
    plan = resolve_plan(body, asked.facts)
    estimate = estimate_memory(plan, gpus=gpu_choices(plan, asked.facts))
    fit = estimate.fit
    steps = estimate.explain() if asked.explain else []
    log = startup_log_part(body.startup_log, estimate) if body.startup_log is not None else None
    parts = plan_parts(
        plan,
        steps=steps,
        explain=asked.explain,
        assumptions=list(_assumptions(plan)),
        warnings=[
            *memory_warnings(estimate),
            *log_warnings(log, estimate),
            *idle_settings(plan),
            *_unused(body, plan),
        ],
        not_modelled=list(memory_not_modelled(estimate)),
    )
    parts["provenance"].append(_policy_entry(plan, parts["provenance"]))
    return MemoryFitAnswer(
        **parts,
        feasible=fit.feasible,
        verdict=fit.verdict.value,
        binding_term=fit.binding_term.value,
        per_gpu=ledger_part(estimate),
        host_memory=_host_part(estimate),
        kv_cache=_cache(estimate),
        startup=startup_of(estimate),
        parameters=plan.kept.of("parameters", lambda: ParameterCounts.model_validate(estimate.parameters)),
        suggestions=[MemorySuggestion.model_validate(one) for one in estimate.suggestions],
        launch_hint=_launch_hint(estimate),
        startup_log=log,
    )


def _unused(body: MemoryFitRequest, plan: Plan) -> tuple[str, ...]:
    return unused_warnings(body, (*unused_by_memory(body, plan), *unused_in_plan(plan)))


def _launch_hint(estimate: MemoryEstimate) -> list[str]:
    """Flags of a server that holds the load; none where not one sequence fits: no flags start such a server."""
    fit = estimate.fit
    if fit.max_sequences < 1:
        return []
    server = Server(
        plan=estimate.plan,
        memory=estimate.memory,
        context_tokens=fit.context_tokens,
        sequences=fit.sequences,
        engine_sequences=fit.engine_sequences_limit,
    )
    return launch_hint(server)


def _policy_entry(plan: Plan, known: list[Provenance]) -> Provenance:
    """What the memory constants of the engine rest on, and their error where start-up logs tell it."""
    policy = plan.engine.memory
    date = next((entry.date for entry in known if entry.what == "engine.constants"), None)
    return Provenance(
        what="engine.memory_policy",
        value=policy.basis,
        unit="1",
        source=policy.evidence or _("catalog"),
        date=date,
    )


_SLOWEST_NEIGHBOUR = 0.7
"""Share of the asked GPU's bandwidth that a GPU suggested instead has at least."""


def gpu_choices(plan: Plan, facts: Facts) -> tuple[GpuChoice, ...]:
    """GPUs of the same maker that may be suggested, with the memory figure that the profile counts with."""
    vendor = plan.gpu.facts.get("vendor")
    if plan.gpu.slug is None or vendor is None:
        return ()
    basis = plan.gpu.memory_basis
    # A larger GPU that is much slower is no neighbour: the bandwidth decides how fast tokens are written.
    least = _SLOWEST_NEIGHBOUR * plan.gpu.spec.memory_bandwidth_bytes_per_s

    def build() -> tuple[GpuChoice, ...]:
        rows = (facts.row("gpu", slug) for slug in sorted(facts.slugs("gpu")))
        return tuple(
            GpuChoice(
                slug=str(row["slug"]),
                memory_bytes=int(row[f"memory_{basis}_bytes"]),
                family=row.get("kernel_family_used") or row.get("kernel_family"),
                scale_up_gpus=int(row.get("scale_up_gpus") or 1),
            )
            for row in rows
            if row.get("vendor") == vendor
            and row.get(f"memory_{basis}_bytes")
            and row.get("devices_per_unit", 1) == 1
            and (row.get("memory_bandwidth_bytes_per_s") or 0.0) >= least
        )

    return facts.derived(("memory_gpu_choices", plan.gpu.slug, basis), build)


def _assumptions(plan: Plan) -> Iterator[str]:
    if plan.workload is None:
        yield _("No workload given: one conversation of %(tokens)s tokens.") % {"tokens": DEFAULT_TOKENS}
    if plan.memory.max_num_seqs is None and plan.engine.kind == "serving":
        yield _("max_num_seqs is the engine's default for this GPU.")
    if plan.memory.max_batched_tokens is None and plan.engine.kind == "serving":
        yield _("max_batched_tokens is the engine's default for this GPU.")


def ledger_part(estimate: MemoryEstimate) -> MemoryLedger:
    """The ledger of the worst GPU in the answer's form."""
    ledger, rank = estimate.fit.ledger, estimate.fit.rank
    return MemoryLedger(
        **values_of(ledger),
        lora_bytes=rank.lora_bytes,
        draft_bytes=rank.draft_bytes,
        mtp_bytes=rank.mtp_bytes,
        cuda_graph_outside_bytes=rank.outside_graph_bytes,
        activation_outside_bytes=rank.outside_activation_bytes,
        graphs_in_budget=estimate.memory.policy.graphs_in_budget,
        pipeline_stage=rank.stage,
        max_num_seqs=rank.max_num_seqs,
        max_batched_tokens=rank.batched_tokens,
    )


def _host_part(estimate: MemoryEstimate) -> HostMemoryPart | None:
    held = host_memory(estimate.memory)
    if held is None:
        return None
    total = held.expert_bytes + held.embedding_bytes + held.table_bytes
    return HostMemoryPart(**values_of(held), total_bytes=total)


def _cache(estimate: MemoryEstimate) -> MemoryCache:
    fit, cache = estimate.fit, estimate.cache
    # The points of the curve are checked with the whole, which costs less than one by one.
    return MemoryCache.model_validate(
        {
            "attention": cache.attention,
            "bytes_per_token": cache.bytes_per_token,
            "window_bytes_per_token": cache.window_bytes_per_token,
            "window_tokens": cache.window_tokens,
            "fixed_bytes_per_sequence": cache.fixed_bytes_per_sequence,
            "bytes_per_sequence": cache.bytes_per_sequence,
            "engine_allocated_bytes_per_sequence": round(fit.bytes_per_sequence),
            "needed_bytes": fit.needed_bytes,
            "capacity_bytes": fit.capacity_bytes,
            "capacity_tokens": fit.capacity_tokens,
            "effective_tokens": fit.effective_tokens,
            "max_sequences": fit.max_sequences,
            "max_context_tokens": _length(fit.max_context_tokens),
            "engine_max_sequences": fit.engine_sequences_limit,
            "basis": estimate.basis,
            "notes": list(memory_notes(estimate)),
            "curve": [
                {"context_tokens": point.context_tokens, "max_sequences": point.sequences} for point in fit.curve
            ],
            "alternatives": estimate.plan.kept.of("alternatives", partial(_alternatives, estimate)),
        }
    )


def _alternatives(estimate: MemoryEstimate) -> list[CacheAlternative]:
    return [CacheAlternative.model_validate(item) for item in estimate.alternatives]


ENDPOINT = Endpoint(
    slug="memory-fit",
    summary=_("Memory fit"),
    description=_(
        "Whether a model, its load and an engine fit into the GPUs of one replica: the ledger of the worst GPU, what "
        "binds, how many sequences of what length fit, and the nearest settings that would."
    ),
    request=MemoryFitRequest,
    response=MemoryFitAnswer,
    answer=answer_memory_fit,
)
