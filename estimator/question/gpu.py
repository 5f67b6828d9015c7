"""The `gpu` of a request: a slug, or its figures."""

from typing import Annotated

from pydantic import Field, Tag

from estimator.question.acting import REPEATED
from estimator.question.fields import SMALLEST, WHOLE, Bytes, GpuSlug, HardwareRate, Name, RequestBody, by_key, tag
from estimator.question.formats import PeakName


class GpuFigures(RequestBody):
    """A GPU given by its figures."""

    memory_bytes: Bytes = Field(description="Memory of one GPU, bytes, as the engine sees it.")
    memory_bandwidth_bytes_per_s: HardwareRate = Field(description="Memory bandwidth, bytes/s.")
    peak_flops_per_s: dict[PeakName, HardwareRate] = Field(
        min_length=1, description="Dense peak of the tensor cores by format, FLOP/s (never the sparse figure)."
    )
    name: Annotated[Name | None, REPEATED] = Field(default=None, description="Name to echo.")
    kernel_family: Name | None = Field(
        default=None,
        description=(
            "Family of measured kernels that stands for this GPU: ampere, ampere_g, ada, hopper, blackwell, ultra, "
            "rtxbw, cdna3, rdna3 or apple. Without it only the ceiling can be given."
        ),
    )
    link: Name | None = Field(default=None, description="Link between GPUs, such as nvlink4 or pcie5.")
    link_bytes_per_s_per_direction: HardwareRate | None = Field(
        default=None, description="Rate of the link of one GPU in one direction, bytes/s."
    )
    scale_up_gpus: Annotated[int, Field(ge=1, le=100_000), WHOLE] = Field(
        default=8, description="GPUs that the fast link joins, count."
    )
    tdp_w: Annotated[float, Field(ge=SMALLEST, le=1e6)] | None = Field(
        default=None, description="Power of one GPU, watts."
    )


GpuRef = Annotated[
    Annotated[GpuSlug, Tag(tag("slug"))] | Annotated[GpuFigures, Tag(tag("figures"))],
    by_key({"memory_bytes": "figures"}, text="slug", otherwise="figures"),
    Field(description="The GPU (any accelerator of the catalog): a slug, or its figures.", examples=["h100-sxm5-80gb"]),
]
