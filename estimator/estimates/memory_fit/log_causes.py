"""Why a server printed another figure than an estimate says: the first cause that explains the difference."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from django.utils.translation import gettext as _

from estimator.engine.memory.ledger import rank_memory
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.startup_log import PrintedFigure, StartupLog
from estimator.estimates.memory_fit.compute import MemoryEstimate
from estimator.estimates.memory_fit.log_figures import (
    FOLLOWING,
    SETTINGS,
    agrees,
    length_of,
    lines_at,
    tokens_at,
)

_GIB = 2**30
_WEIGHT_FORMATS = ("bf16", "fp8", "int8", "int4", "nvfp4", "mxfp4")
_CACHE_FORMATS = ("bf16", "fp8")
_NEAR = 0.03
_TERMS = ("weights_bytes", "activation_bytes", "runtime_overhead_bytes", "cuda_graph_bytes")


def likely_cause(
    printed: PrintedFigure, figures: Mapping[str, float], log: StartupLog, estimate: MemoryEstimate
) -> str:
    """The likely cause of a difference, in words.

    Args:
        printed: the figure that differs.
        figures: what the estimate says, by name.
        log: all that was read.
        estimate: of the memory.
    """
    name, said = printed.name, figures[printed.name]
    if name in SETTINGS:
        text = _("The server was started with another setting: ask with %(field)s %(value)s.")
        return text % {"field": SETTINGS[name], "value": f"{printed.value:g}"}
    if name == "weights_bytes":
        return _of_weights(printed.value, said, estimate)
    if name in FOLLOWING:
        return _of_what_follows(printed, log, estimate)
    if name == "kv_cache_bytes":
        return _of_the_cache(printed.value - said, log, figures)
    return _OTHERS.get(name, _any)()


def _of_weights(printed: float, said: float, estimate: MemoryEstimate) -> str:
    asked = estimate.memory.precision
    for name in _WEIGHT_FORMATS:
        if name == asked.weights:
            continue
        memory = replace(estimate.memory, precision=replace(asked, weights=name), stored_weight_bytes=None)
        if abs(rank_memory(memory, stage=estimate.fit.rank.stage).weights_bytes / printed - 1) <= _NEAR:
            text = _("As many bytes as %(name)s weights take: ask with precision.weights %(name)s.")
            return text % {"name": name}
    if printed > said:
        return _(
            "The files keep more in 16 bits than the format says (tower, embeddings, unquantised modules), a draft is "
            "loaded, or temporaries of loading are counted."
        )
    return _("A part of the weights lies in host memory, is spread over more GPUs, or is kept in fewer bits.")


def _of_the_cache(difference: float, log: StartupLog, said: Mapping[str, float]) -> str:
    """The printed term that is furthest from the ledger in the direction of the difference."""
    apart = dict(_terms_apart(log, said))
    if apart:
        term = max(apart, key=lambda name: apart[name] * (1 if difference > 0 else -1))
        if apart[term] * difference > 0:
            text = _("Follows from %(term)s, which leaves %(gib)s GiB %(more)s.")
            more = _("more") if apart[term] > 0 else _("less")
            return text % {"term": SETTINGS.get(term, term), "gib": f"{abs(apart[term]) / _GIB:.2f}", "more": more}
    if log.first("weights_bytes") is None:
        return _("What is left of the other terms; the log prints none of them.")
    return _(
        "What the log does not print: memory outside the allocator, the peak of the profiling, graphs, or other "
        "processes on the GPU."
    )


def _terms_apart(log: StartupLog, said: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """By how many bytes more each printed term leaves for the cache than the ledger says."""
    for term in _TERMS:
        printed = log.first(term)
        if printed is not None and term in said and not agrees(term, printed, said[term]):
            yield term, said[term] - printed
    memory, share = said["memory_bytes"], said["utilization"]
    held, asked = log.first("memory_bytes") or memory, log.first("utilization") or share
    if held != memory and not agrees("memory_bytes", held, memory):
        yield "memory_bytes", (held - memory) * share
    if not agrees("utilization", asked, share):
        yield "utilization", (asked - share) * held


def _of_what_follows(printed: PrintedFigure, log: StartupLog, estimate: MemoryEstimate) -> str:
    """Tokens, blocks and concurrency: from the printed bytes, another format of the cache, or what shares the pool."""
    bytes_printed = log.first("kv_cache_bytes")
    if bytes_printed is None:
        return _("Follows from the bytes of the cache, which the log does not print.")
    length = length_of(estimate, log)
    if _follows(estimate.memory, printed, bytes_printed, length, estimate):
        return _("Follows from the bytes of the cache.")
    asked = estimate.memory.precision
    for name in _CACHE_FORMATS:
        other = replace(estimate.memory, precision=replace(asked, kv_cache=name))
        if name != asked.kv_cache and _follows(other, printed, bytes_printed, length, estimate):
            return _("The cache is kept in %(name)s: ask with precision.kv_cache %(name)s.") % {"name": name}
    for kept in (True, False):
        overrides = replace(estimate.memory.overrides, enable_prefix_caching=kept)
        if _follows(replace(estimate.memory, overrides=overrides), printed, bytes_printed, length, estimate):
            value = "true" if kept else "false"
            return _("Prefixes are kept or not: ask with memory.enable_prefix_caching %(value)s.") % {"value": value}
    return _(
        "Not from the bytes alone: a draft that shares the cache (speculative, mtp_layers_loaded), states of another "
        "type (memory.mamba_ssm_cache_dtype), passes of another size, or the rules of another version."
    )


def _follows(
    memory: MemoryPlan, printed: PrintedFigure, bytes_printed: float, length: int, estimate: MemoryEstimate
) -> bool:
    rank = rank_memory(memory, stage=estimate.fit.rank.stage)
    if printed.name == "kv_cache_tokens":
        said: float | None = tokens_at(memory, rank, bytes_printed, length)
    else:
        said = getattr(lines_at(memory, rank, bytes_printed, length), printed.name)
    return said is not None and agrees(printed.name, printed.value, said)


def _of_memory() -> str:
    return _("Another GPU than asked for, or memory that the driver or other processes hold.")


def _of_activation() -> str:
    return _(
        "The peak of the profiling: memory.max_batched_tokens, memory.max_num_seqs and the largest item of a model "
        "that reads pictures decide it."
    )


def _of_overhead() -> str:
    return _(
        "Communication buffers and libraries of this build: memory.runtime_overhead_bytes takes the printed figure."
    )


def _of_graphs() -> str:
    return _(
        "Captured sizes: memory.max_num_seqs and memory.max_cudagraph_capture_size decide them, drafted tokens capture "
        "more; an estimate before the capture differs from what it takes."
    )


def _of_blocks() -> str:
    return _(
        "Another format of the cache, type of states or number of drafted tokens, or the rules of another version."
    )


def _of_requests() -> str:
    return _("Another format of the cache, passes of another size, a draft, or prefixes kept or not.")


def _any() -> str:
    return _("A setting that the log does not print.")


_OTHERS = {
    "memory_bytes": _of_memory,
    "activation_bytes": _of_activation,
    "runtime_overhead_bytes": _of_overhead,
    "cuda_graph_bytes": _of_graphs,
    "captured_graph_bytes": _of_graphs,
    "block_tokens": _of_blocks,
    "cache_token_bytes": _of_blocks,
    "request_bytes": _of_requests,
    "longest_tokens": _of_requests,
}
