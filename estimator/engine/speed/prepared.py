"""A key (model, GPU, engine, precision, parallelism) with every constant folded once, ready for any load."""

from dataclasses import dataclass, replace
from enum import StrEnum

from estimator.constants import rows
from estimator.constants.bands import BAND_RULES
from estimator.constants.families import FAMILIES
from estimator.constants.kernels import KernelConstants
from estimator.constants.scheduling import SCHEDULING
from estimator.engine.calibration.correction import Correction
from estimator.engine.errors import InvalidInputError, MissingFigureError
from estimator.engine.forward_pass.doubts import Doubt, DoubtKind
from estimator.engine.forward_pass.folding import fold
from estimator.engine.forward_pass.kernels import kernel_library
from estimator.engine.forward_pass.llama_cpp import LlamaCpp, fold_llama_cpp
from estimator.engine.forward_pass.operators import Folded
from estimator.engine.forward_pass.roofline import Floor, ceiling_floor, ideal_floor
from estimator.engine.forward_pass.traffic import RankLayout, rank_layout, without_uniform_window
from estimator.engine.memory.plan import MemoryPlan, batched_tokens_of, holds_experts_on_host
from estimator.engine.memory.replica_cache import ReplicaCache, replica_cache
from estimator.engine.model.spec import Architecture
from estimator.engine.power.draw import Draw, draw_of
from estimator.engine.serving.capacity import Limits
from estimator.engine.serving.launch import LaunchSettings, Scheduler, launched, scheduler_of
from estimator.engine.specs import EngineProfile, Gpu, Parallelism, Precision
from estimator.engine.speed.bands import Band, llama_cpp_band, no_band, serving_band
from estimator.engine.speed.evidence import GROUPS, cell_of, distance, kernel_distance


class Basis(StrEnum):
    """What stands behind a figure."""

    CALIBRATED = "calibrated"
    NEAREST_FAMILY = "nearest_family"
    ASSUMPTION = "assumption"
    EXTRAPOLATED = "extrapolated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Everything of a plan but its load.

    `memory` is the plan that memory fit counts with: it says what the KV cache holds, how many sequences the engine
    runs at once and how many tokens one pass takes. None takes the engine's own policy on this GPU, for short lengths.
    `launch` is how its scheduler was started (None: nothing but defaults). `kv_settings_assumed`: the KV format or the
    memory fraction is a default, so that a saturated TTFT is not said. `power_cap_w` is the most that a GPU may draw.
    `correction` is what runs of this setting say.
    """

    architecture: Architecture
    gpu: Gpu
    engine: EngineProfile
    precision: Precision
    parallelism: Parallelism
    memory: MemoryPlan | None = None
    launch: LaunchSettings | None = None
    kv_settings_assumed: bool = False
    power_cap_w: float | None = None
    correction: Correction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedKey:
    """A key folded: the ceiling always, one model of the expectation unless no measured kernels stand for the GPU.

    `unsupported` says in words why there is no expectation; `doubts` what was taken from a nearest family.
    """

    key: Key
    layout: RankLayout
    ceiling: Floor
    cache: ReplicaCache
    reserved_share: float
    band: Band
    basis: Basis
    doubts: tuple[Doubt, ...]
    draw: Draw
    serving: Folded | None = None
    scheduler: Scheduler | None = None
    ideal: Floor | None = None
    llama_cpp: LlamaCpp | None = None
    unsupported: str | None = None

    @property
    def limits(self) -> Limits:
        """What bounds the sequences of the replica besides the bytes of its cache."""
        return Limits(
            attention_dp=float(self.cache.attention_dp),
            engine_sequences=float(self.cache.engine_sequences),
            reserved_share=self.reserved_share,
        )

    @property
    def kind(self) -> str:
        """serving, ideal, llama_cpp, or none where only the ceiling is known."""
        return "none" if self.unsupported else self.key.engine.kind


def prepare(key: Key, constants: KernelConstants | None = None) -> PreparedKey:
    """Folds a key once; everything after is elementwise arithmetic over loads.

    Args:
        key: model, GPU, engine profile, precision, parallelism and the cache's budget.
        constants: constants of kernels and operators; None takes the shipped ones.

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
    return PreparedKey(
        key=key,
        layout=layout,
        ceiling=ceiling,
        ideal=ideal_floor(key.architecture, key.gpu, key.precision, key.parallelism, layout),
        cache=replica_cache(_memory(key)),
        # The documents count what is in the cache, without what an engine reserves.
        reserved_share=SCHEDULING.mean_share_of_output,
        band=no_band(),
        basis=Basis.ASSUMPTION,
        doubts=(),
        draw=draw_of(key.gpu, key.power_cap_w),
    )


def _prepare_llama_cpp(key: Key, layout: RankLayout, ceiling: Floor) -> PreparedKey:
    constants = key.engine.llama_cpp
    if constants is None:
        raise InvalidInputError("the profile has no llama.cpp constants", field="engine")
    if key.memory is not None and holds_experts_on_host(key.memory):
        raise MissingFigureError(
            "the speed of experts in host memory is not modelled: it hangs on the host's memory and threads; "
            "memory-fit answers with this setting",
            field="memory.n_cpu_moe",
        )
    folded = fold_llama_cpp(key.architecture, layout, key.gpu, key.precision, constants)
    # One stream reads the experts of one token: part of the weights above, not of a coverage.
    ceiling = replace(
        ceiling,
        weights_s=folded.read_bytes / key.gpu.memory_bandwidth_bytes_per_s,
        experts_s=tuple(0.0 for _ in ceiling.experts_s),
    )
    family = FAMILIES.get(key.gpu.kernel_family or "")
    doubts: list[Doubt] = []
    if family is None or family.llama_cpp_basis is rows.Basis.JUDGEMENT:
        doubts.append(Doubt(f"llama.cpp on {key.gpu.kernel_family or key.gpu.slug}"))
    if constants.basis == "judgement":
        doubts.append(Doubt("constants of the engine"))
    far = BAND_RULES.distance_of_kernel * len(doubts)
    return PreparedKey(
        key=key,
        layout=layout,
        ceiling=ceiling,
        llama_cpp=folded,
        # One stream is what was measured, however many the engine may be started for.
        cache=replace(replica_cache(_memory(key)), engine_sequences=1),
        reserved_share=SCHEDULING.mean_share_of_output,
        band=llama_cpp_band(far),
        basis=_basis(far),
        doubts=tuple(doubts),
        draw=draw_of(key.gpu, key.power_cap_w),
    )


def _prepare_serving(key: Key, layout: RankLayout, ceiling: Floor, constants: KernelConstants | None) -> PreparedKey:
    serving = key.engine.serving
    if serving is None:
        raise InvalidInputError("the profile has no serving constants", field="engine")
    memory = _memory(key)
    if not memory.policy.uniform_window:
        layout = without_uniform_window(layout)
    launch = key.launch or LaunchSettings()
    serving = launched(serving, launch)
    folded: Folded | None = None
    doubts: tuple[Doubt, ...] = ()
    unsupported = None
    try:
        folded, doubts = fold(
            layout,
            key.gpu,
            serving,
            constants,
            max_batched_tokens=batched_tokens_of(memory),
            library=kernel_library(key.engine.engine),
        )
        if launch.eager:
            # A step that no graph holds is launched as a pass with prompts is; no row of such a server is fitted.
            folded, doubts = replace(folded, step_launch_s=folded.launch_s), (*doubts, Doubt("steps without graphs"))
    except MissingFigureError as missing:
        unsupported = str(missing)
    family = FAMILIES.get(key.gpu.kernel_family or "")
    amd = family is not None and family.bands == "amd"
    cell = cell_of(layout, key.architecture, key.engine, key.gpu.kernel_family or "", GROUPS[0])
    found = distance(cell, kernels=kernel_distance(doubts))
    borrowed = any(doubt.kind is DoubtKind.EXPERTS for doubt in doubts)
    return PreparedKey(
        key=key,
        layout=layout,
        ceiling=ceiling,
        serving=folded,
        scheduler=scheduler_of(launch, serving, key.parallelism),
        cache=replica_cache(memory),
        reserved_share=serving.kv_reserved_share_of_output,
        band=serving_band(layout, found.by_group, amd=amd, fallback=borrowed),
        basis=_basis(min(found.by_group.values())),
        doubts=(*doubts, *found.missing),
        draw=draw_of(key.gpu, key.power_cap_w),
        unsupported=unsupported,
    )


def _basis(far: float) -> Basis:
    """What a distance from the measured settings is called."""
    if far <= 0.0:
        return Basis.CALIBRATED
    return Basis.EXTRAPOLATED if far >= BAND_RULES.extrapolated_from else Basis.NEAREST_FAMILY


def _memory(key: Key) -> MemoryPlan:
    if key.memory is not None:
        return key.memory
    return MemoryPlan(
        architecture=key.architecture,
        memory_bytes=key.gpu.memory_bytes,
        gpu_family=key.gpu.kernel_family,
        policy=key.engine.memory,
        precision=key.precision,
        parallelism=key.parallelism,
    )
