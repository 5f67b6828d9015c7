"""A key (model, GPU, engine, precision, parallelism) with every constant folded once, ready for any load."""

from dataclasses import dataclass, replace
from enum import StrEnum

from estimator.engine.architecture.spec import Architecture
from estimator.engine.errors import InvalidInputError, MissingFigureError
from estimator.engine.forward_pass.flops import active_parameters
from estimator.engine.forward_pass.kernel_tables import DEFAULT_OPERATORS, OperatorConstants
from estimator.engine.forward_pass.kernels import weight_format
from estimator.engine.forward_pass.llama_cpp import LlamaCpp, fold_llama_cpp
from estimator.engine.forward_pass.operators import Folded, fold
from estimator.engine.forward_pass.roofline import Floor, ceiling_floor, ideal_floor
from estimator.engine.forward_pass.traffic import RankLayout, rank_layout, without_uniform_window
from estimator.engine.serving.capacity import Storage, kv_budget_bytes, storage
from estimator.engine.specs import EngineProfile, Gpu, Parallelism, Precision
from estimator.engine.speed.bands import Band, llama_cpp_band, no_band, serving_band

_AMD_FAMILIES = ("cdna2", "cdna3", "cdna4")


class Basis(StrEnum):
    """What stands behind a figure."""

    CALIBRATED = "calibrated"
    NEAREST_FAMILY = "nearest_family"
    ASSUMPTION = "assumption"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Everything of a plan but its load.

    `cache_budget_bytes` is what one rank gives to the KV cache (from the memory model or observed); None takes
    `utilization · memory − weights − reserve`. The overrides replace the profile's own limits.
    `kv_settings_assumed`: the KV format or the memory fraction is a default, so that a saturated TTFT is not said.
    """

    architecture: Architecture
    gpu: Gpu
    engine: EngineProfile
    precision: Precision
    parallelism: Parallelism
    cache_budget_bytes: float | None = None
    memory_utilization: float | None = None
    max_num_seqs: int | None = None
    max_batched_tokens: int | None = None
    kv_settings_assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedKey:
    """A key folded: the ceiling always, one model of the expectation unless no measured kernels stand for the GPU.

    `unsupported` says in words why there is no expectation; `doubts` what was taken from a nearest family.
    """

    key: Key
    layout: RankLayout
    ceiling: Floor
    store: Storage
    band: Band
    basis: Basis
    doubts: tuple[str, ...]
    serving: Folded | None = None
    ideal: Floor | None = None
    llama_cpp: LlamaCpp | None = None
    unsupported: str | None = None
    weight_bytes: float = 0.0

    @property
    def kind(self) -> str:
        """serving, ideal, llama_cpp, or none where only the ceiling is known."""
        return "none" if self.unsupported else self.key.engine.kind


def prepare(key: Key, constants: OperatorConstants = DEFAULT_OPERATORS) -> PreparedKey:
    """Folds a key once; everything after is elementwise arithmetic over loads.

    Args:
        key: model, GPU, engine profile, precision, parallelism and the cache's budget.
        constants: constants of the operator model.

    Raises:
        InvalidInputError: a format the engine does not know, or degrees below 1.
        MissingFigureError: no 16-bit peak is known for the GPU, so that not even a ceiling can be given.
    """
    layout = rank_layout(key.architecture, key.gpu, key.precision, key.parallelism)
    ceiling = ceiling_floor(layout, key.gpu)
    if key.engine.ideal is not None:
        return _prepare_ideal(key, layout, ceiling)
    if key.engine.llama_cpp is not None:
        return _prepare_llama_cpp(key, layout, ceiling)
    return _prepare_serving(key, layout, ceiling, constants)


def _prepare_ideal(key: Key, layout: RankLayout, ceiling: Floor) -> PreparedKey:
    counts = active_parameters(key.architecture)
    fmt = weight_format(key.precision.weights, key.gpu)
    shards = key.parallelism.tp * key.parallelism.pp
    weights = counts.total * fmt.bytes_per_weight / shards
    if layout.experts:
        weights = layout.weight_bytes
    return PreparedKey(
        key=key,
        layout=layout,
        ceiling=ceiling,
        ideal=ideal_floor(key.architecture, key.gpu, key.precision, key.parallelism, layout),
        store=storage(
            layout, budget_bytes=_whole_budget(key, weights, reserve_bytes=0.0), max_num_seqs=key.max_num_seqs or 10**9
        ),
        band=no_band(),
        basis=Basis.ASSUMPTION,
        doubts=(),
        weight_bytes=weights,
    )


def _prepare_llama_cpp(key: Key, layout: RankLayout, ceiling: Floor) -> PreparedKey:
    constants = key.engine.llama_cpp
    if constants is None:
        raise InvalidInputError("the profile has no llama.cpp constants", field="engine")
    folded = fold_llama_cpp(key.architecture, layout, key.gpu, key.precision, constants)
    # One stream reads the experts of one token: part of the weights above, not of a coverage.
    ceiling = replace(
        ceiling,
        weights_s=folded.read_bytes / key.gpu.memory_bandwidth_bytes_per_s,
        experts_s=tuple(0.0 for _ in ceiling.experts_s),
    )
    families = ("ampere", "ampere_g", "ada", "hopper", "apple")
    doubtful = key.gpu.kernel_family not in families
    return PreparedKey(
        key=key,
        layout=layout,
        ceiling=ceiling,
        llama_cpp=folded,
        store=storage(
            layout,
            budget_bytes=_whole_budget(key, layout.weight_bytes, reserve_bytes=2.0**30),
            max_num_seqs=1,
        ),
        band=llama_cpp_band(doubtful=doubtful),
        basis=Basis.NEAREST_FAMILY if doubtful else Basis.CALIBRATED,
        doubts=(f"llama.cpp on {key.gpu.kernel_family or key.gpu.slug}",) if doubtful else (),
        weight_bytes=layout.weight_bytes,
    )


def _prepare_serving(key: Key, layout: RankLayout, ceiling: Floor, constants: OperatorConstants) -> PreparedKey:
    serving = key.engine.serving
    if serving is None:
        raise InvalidInputError("the profile has no serving constants", field="engine")
    if not serving.uniform_window:
        layout = without_uniform_window(layout)
    budget = key.cache_budget_bytes
    if budget is None:
        budget = kv_budget_bytes(
            serving,
            memory_bytes=key.gpu.memory_bytes,
            weight_bytes=layout.weight_bytes,
            utilization=key.memory_utilization,
        )
    store = storage(
        layout,
        budget_bytes=budget,
        max_num_seqs=key.max_num_seqs or serving.max_num_seqs,
        reserved_share=serving.kv_reserved_share_of_output,
    )
    folded: Folded | None = None
    doubts: tuple[str, ...] = ()
    unsupported = None
    try:
        folded, doubts = fold(layout, key.gpu, serving, constants, max_batched_tokens=key.max_batched_tokens)
    except MissingFigureError as missing:
        unsupported = str(missing)
    amd = key.gpu.kernel_family in _AMD_FAMILIES
    return PreparedKey(
        key=key,
        layout=layout,
        ceiling=ceiling,
        serving=folded,
        store=store,
        band=serving_band(layout, doubtful=bool(doubts), amd=amd),
        basis=Basis.NEAREST_FAMILY if doubts else Basis.CALIBRATED,
        doubts=doubts,
        unsupported=unsupported,
        weight_bytes=layout.weight_bytes,
    )


def _whole_budget(key: Key, weights: float, *, reserve_bytes: float) -> float:
    if key.cache_budget_bytes is not None:
        return key.cache_budget_bytes
    share = key.memory_utilization if key.memory_utilization is not None else 1.0
    return share * key.gpu.memory_bytes - weights - reserve_bytes
