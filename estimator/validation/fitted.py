"""The constants that were fitted on the shipped rows: which they are, where they started, and how freely they moved."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from estimator.constants import kernels
from estimator.constants.kernels import KernelConstants
from estimator.constants.profiles import profile_constants
from estimator.constants.rows import DATA_DIR, ConstantsFileError, read_constants
from estimator.engine.calibration.least_squares import Floats
from estimator.engine.specs import EngineProfile
from estimator.validation import shipped

# Constants of the reference calibration that were kept: fitted on an earlier cut of the rows, by the founders.
REFERENCE_FITTED = 31
# Width of the prior of groups of factors.csv: rows of one group share the reason, so that they move together.
_FACTOR_WIDTHS = MappingProxyType(
    {
        "nvfp4 products, fixed time": 0.5,
        "fp8 products on Blackwell, fixed time": 0.4,
        "16-bit prefill attention, share of peak": 0.2,
        "8-bit cache reads on Hopper, share of bandwidth": 0.15,
        "16-bit cache reads on AMD of 2024, share of bandwidth": 0.5,
        "16-bit products on AMD of 2024, share of peak": 0.5,
    }
)
_WIDTH, _WIDTH_OF_PEAK_SHARES, _WIDTH_OF_MODULES = 0.25, 0.2, 0.6
# The factor on moved activations is the inverse of the one on the share of the peak: no constant of its own.
_TIED = "moved activations"
_OPERATORS = MappingProxyType(
    {
        "routing_exponent": 0.04,
        "rank_unevenness": 0.5,
        "attention_dp_prefill_factor": 0.4,
        "offline_prefill_factor": 0.3,
        "head_norm_fixed_s": 0.4,
    }
)
_VLLM = ("vllm-0.19", "vllm-0.11")
_TENSORRT = ("tensorrt-llm-1", "nim")
_OTHER_ONLINE = ("sglang-0.5", *_TENSORRT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """One fitted constant: its name, its value before, now, and the width of the prior.

    The shift is `ln(value / before)`, or `value / step` where the constant started from 0 (`step` above 0).
    `kernel_factors` or `field` of the operators, or `field` of `profiles`, holds the value.
    """

    name: str
    before: float
    now: float
    sigma: float
    step: float = 0.0
    profiles: tuple[str, ...] = ()
    field: str = ""
    kernel_factors: tuple[tuple[str, str, str, str, str], ...] = ()

    @property
    def shift(self) -> float:
        """Where the shipped value lies."""
        return self.now / self.step if self.step else float(np.log(self.now / self.before))

    def value(self, shift: float) -> float:
        """The constant at a shift."""
        return max(self.step * shift, 0.0) if self.step else self.before * float(np.exp(shift))


def fitted_constants() -> tuple[Fitted, ...]:
    """Every constant fitted on the shipped rows; one per kernel class or engine, none per model or row."""
    return (*_operators(), *_profiles())


def _operators() -> Iterator[Fitted]:
    now, start = kernels.shipped(), kernels.reference()
    for field, sigma in _OPERATORS.items():
        before = float(getattr(start.operators, field))
        yield Fitted(name=field, before=before, now=float(getattr(now.operators, field)), sigma=sigma, field=field)
    groups: dict[str, list[tuple[str, str, str, str, str]]] = {}
    starts: dict[str, float] = {}
    for row in read_constants(DATA_DIR / "factors.csv"):
        table, library, family, form, group = row.where("table", "library", "family", "format", "group")
        groups.setdefault(group, []).append((table, library, family, form, row.name))
        starts[group] = row.prior or 1.0
    for name, keys in groups.items():
        if not name.endswith(_TIED):
            usual = _WIDTH_OF_PEAK_SHARES if name.endswith("share of peak") else _WIDTH
            usual = _WIDTH_OF_MODULES if keys[0][0] in ("latent_module", "exchange") else usual
            sigma = _FACTOR_WIDTHS.get(name, usual)
            yield Fitted(
                name=name, before=starts[name], now=now.factors[keys[0]], sigma=sigma, kernel_factors=tuple(keys)
            )


def _profiles() -> Iterator[Fitted]:
    """The constants of profiles whose rows say where they started (`prior`), in the order in which they are fitted."""
    for slugs, field, sigma in (
        *((slugs, "kernel_time_scale", 0.15) for slugs in (_VLLM, ("sglang-0.5",), _TENSORRT)),
        *((slugs, "per_sequence_s", 0.4) for slugs in (_VLLM, ("sglang-0.5",), _TENSORRT)),
        *((slugs, "step_s", 0.5) for slugs in (_VLLM, ("sglang-0.5",), _TENSORRT)),
        (("trtllm-bench",), "kernel_time_scale", 0.06),
        (("trtllm-bench",), "per_sequence_s", 0.4),
        (("tensorrt-llm-0-2024",), "per_sequence_s", 1.0),
        (("tensorrt-llm-0",), "step_s", 0.5),
        (("vllm-v0",), "step_s", 0.5),
        (("vllm-v0",), "kernel_time_scale", 0.3),
        (("vllm-v0",), "per_sequence_s", 1.0),
        (("vllm-2023",), "bandwidth_factor", 0.1),
    ):
        yield _of_profile(slugs, field, sigma=sigma)
    yield _of_profile(("vllm-v0",), "unshared_kv_reads", sigma=1.0, step=0.2)
    for slug in ("tensorrt-llm-0-2024", "tensorrt-llm-0"):
        yield _of_profile((slug,), "unshared_kv_reads", sigma=1.0, step=0.2)
    for field, row in profile_constants("llama.cpp-b2800").items():
        if row.prior is not None:
            yield _of_profile(("llama.cpp-b2800",), field, sigma=0.5)


def _of_profile(slugs: tuple[str, ...], field: str, *, sigma: float, step: float = 0.0) -> Fitted:
    profile, before = shipped.profile(slugs[0]), profile_constants(slugs[0])[field].prior
    if before is None:
        raise ConstantsFileError(f"profiles.csv: {field} of {slugs[0]} has no prior")
    now = float(getattr(profile.serving or profile.llama_cpp, field))
    return Fitted(
        name=f"{slugs[0]} {field}", before=before, now=now, sigma=sigma, step=step, profiles=slugs, field=field
    )


def constants_at(constants: Sequence[Fitted], shifts: Floats) -> tuple[KernelConstants, Callable[[str], EngineProfile]]:
    """The operators and profiles with these shifts in place of the shipped values."""
    factors = dict(kernels.shipped().factors)
    fields: dict[str, Any] = {}
    changed: dict[str, dict[str, float]] = {}
    for constant, shift in zip(constants, shifts, strict=True):
        value = constant.value(float(shift))
        factors |= dict.fromkeys(constant.kernel_factors, value)
        for slug in constant.profiles:
            changed.setdefault(slug, {})[constant.field] = _allowed(constant.field, value)
        if constant.field and not constant.profiles:
            fields[constant.field] = value
    moved = replace(kernels.shipped().operators, **fields)
    operators = replace(kernels.reference().with_factors(factors), operators=moved)

    def profile(slug: str) -> EngineProfile:
        base = shipped.profile(slug)
        values: dict[str, Any] = dict(changed.get(slug, {}))
        if not values:
            return base
        if base.llama_cpp is not None:
            return replace(base, llama_cpp=replace(base.llama_cpp, **values))
        return replace(base, serving=replace(base.serving, **values) if base.serving else None)

    return operators, profile


def _allowed(field: str, value: float) -> float:
    return min(value, 1.0) if field in ("bandwidth_factor", "unshared_kv_reads") else value
