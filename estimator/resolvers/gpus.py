"""Resolves the GPU of a request, with the memory figure that the engine profile multiplies by its utilization."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from catalog.spelling import near_matches
from estimator.engine.errors import MissingFigureError
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.specs import Gpu
from estimator.question.gpu import GpuFigures
from estimator.resolvers.collect import unknown_slug
from estimator.resolvers.facts import FactRow, Facts, UnknownSlugError
from estimator.resolvers.plan import Provenance, ResolvedGpu

INLINE_SLUG = "inline"


def resolve_gpu(asked: str | GpuFigures, facts: Facts, *, ideal: bool, path: tuple[str, ...] = ("gpu",)) -> ResolvedGpu:
    """The GPU as the engine takes it.

    Args:
        asked: a slug, or the figures of a GPU.
        facts: where catalog rows come from.
        ideal: whether the profile is `ideal`, which counts with the vendor's decimal figure (basis `vendor`); every
            other takes what CUDA or HIP shows (basis `visible`).
        path: place in the request, for pointers.

    Raises:
        ResolutionError: unknown slug, or a package of two devices.
        MissingFigureError: the memory that software sees is not known for this GPU.
    """
    if isinstance(asked, GpuFigures):
        return _of_figures(asked)
    try:
        row = facts.row("gpu", asked)
    except UnknownSlugError as error:
        raise unknown_slug(error, path, near_matches(asked, facts.slugs("gpu"))) from None
    if row.get("devices_per_unit", 1) != 1:
        raise _package(row, facts, path)
    return facts.derived(("resolved_gpu", asked, str(ideal)), lambda: _of_row(row, ideal=ideal))


def gpu_provenance(gpu: ResolvedGpu, dtypes: frozenset[str]) -> Iterator[Provenance]:
    """Where the GPU's figures are from; peaks of the given dtypes only."""
    yield _entry(gpu, "memory_bytes", f"memory_{gpu.memory_basis}_bytes", gpu.spec.memory_bytes, "bytes")
    yield _entry(
        gpu,
        "memory_bandwidth_bytes_per_s",
        "memory_bandwidth_bytes_per_s",
        gpu.spec.memory_bandwidth_bytes_per_s,
        "bytes/s",
    )
    for dtype, peak in gpu.spec.peak_flops_per_s.items():
        if dtype in dtypes:
            yield _entry(gpu, f"peak_flops_per_s.{dtype}", "peak_flops_per_s", peak, "FLOP/s")


def _entry(gpu: ResolvedGpu, what: str, key: str, value: float, unit: str) -> Provenance:
    sources: Mapping[str, Any] = gpu.facts.get("sources") or {}
    source: Any = sources.get(what) or sources.get(key) or sources.get("*") or {}
    if gpu.slug is None:
        return Provenance(what=f"gpu.{what}", value=value, unit=unit, source="request")
    return Provenance(
        what=f"gpu.{what}",
        value=value,
        unit=unit,
        source=str(source.get("source") or "catalog"),
        date=source.get("date"),
        confidence=source.get("confidence") or gpu.facts.get("confidence"),
    )


def _of_row(row: FactRow, *, ideal: bool) -> ResolvedGpu:
    basis = "vendor" if ideal else "visible"
    memory = row[f"memory_{basis}_bytes"]
    if memory is None:
        raise MissingFigureError(
            _("how much memory software sees on %(gpu)s is not known; give the GPU by its figures")
            % {"gpu": row["name"]},
            field="gpu",
        )
    return ResolvedGpu(
        slug=row["slug"],
        name=row["name"],
        spec=Gpu(
            slug=row["slug"],
            memory_bytes=int(memory),
            memory_bandwidth_bytes_per_s=float(row["memory_bandwidth_bytes_per_s"]),
            peak_flops_per_s={dtype: float(peak) for dtype, peak in row["peak_flops_per_s"].items() if peak},
            kernel_family=row.get("kernel_family"),
            link=row.get("link"),
            link_bytes_per_s_per_direction=row.get("link_bytes_per_s_per_direction"),
            scale_up_gpus=row.get("scale_up_gpus") or 1,
            tdp_w=float(row["tdp_w"]) if row.get("tdp_w") else None,
        ),
        memory_basis=basis,
        facts=row,
    )


def _of_figures(given: GpuFigures) -> ResolvedGpu:
    return ResolvedGpu(
        slug=None,
        name=given.name or _("GPU of the figures given"),
        spec=Gpu(
            slug=INLINE_SLUG,
            memory_bytes=given.memory_bytes,
            memory_bandwidth_bytes_per_s=given.memory_bandwidth_bytes_per_s,
            peak_flops_per_s={str(dtype): peak for dtype, peak in given.peak_flops_per_s.items()},
            kernel_family=given.kernel_family,
            link=given.link,
            link_bytes_per_s_per_direction=given.link_bytes_per_s_per_direction,
            scale_up_gpus=given.scale_up_gpus,
            tdp_w=given.tdp_w,
        ),
        memory_basis="given",
        facts={"tdp_w": given.tdp_w},
    )


def _package(row: FactRow, facts: Facts, path: tuple[str, ...]) -> ResolutionError:
    near = tuple(slug for slug in facts.slugs("gpu") if slug.startswith(row["slug"] + "-"))
    detail = _("%(gpu)s is a package of %(n)s devices, each with its own memory; take the single device.") % {
        "gpu": row["name"],
        "n": row["devices_per_unit"],
    }
    return ResolutionError([Fault(path=path, code="not_supported", detail=detail, near=near)])
