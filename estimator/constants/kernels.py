"""What kernels reach, by GPU family and format: the constants of one forward pass.

A product takes `n·t0 + sqrt((bytes / (BW · share))² + (FLOP / (peak · share · x / (x + half_size)))²)`: a fixed time,
shares of bandwidth and of dense peak, and the half-size of the matrix side x.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from estimator.constants.rows import DATA_DIR, Basis, Constant, ConstantsFileError, read_constants

RowT = TypeVar("RowT")
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow:
    """Fixed time in microseconds, shares of bandwidth and of dense peak, half-size of the matrix side in elements.

    `judged` names the fields whose basis is judgement.
    """

    fixed_us: float
    bandwidth_share: float
    compute_share: float
    half_size: float
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertRow:
    """Grouped product of routed experts: fixed time in microseconds, shares of bandwidth and of dense peak.

    `activation_passes`: how often the activations of a pair of token and expert move through memory;
    `foreign_passes`: the same for pairs whose expert lies on another rank, which some kernels sort and reduce too.
    """

    fixed_us: float
    bandwidth_share: float
    compute_share: float
    activation_passes: float
    foreign_passes: float
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRow:
    """Share of bandwidth reading a 16-bit and an 8-bit cache, share of the 16-bit peak in prefill (bf16 and fp8).

    `unshared_kv_reads`: 1 where the kernel reads a KV head once for each of its query heads, 0 where once for all.
    Without a share of fp8 prefill its attention runs in 16 bits. `decode_product`: share of the 16-bit peak of decode
    over a latent cache; `padded_heads`: heads that a kernel of sparse latent attention computes at least.
    """

    decode_bf16: float
    decode_fp8: float
    prefill_bf16: float
    prefill_fp8: float | None = None
    unshared_kv_reads: float = 0.0
    decode_product: float | None = None
    padded_heads: float | None = None
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentModuleRow:
    """Fixed time of one layer of latent attention with its projections, microseconds."""

    fixed_us: float
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedTimeRow:
    """What fixed times of kernels other than grouped experts are multiplied by on a family."""

    share: float
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRow:
    """One exchange of activations between the ranks that share the experts: seconds, and seconds a token of a rank."""

    fixed_s: float
    token_s: float = 0.0
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineEccRow:
    """Share of the published bandwidth that a card leaves whose memory keeps its check bits among the data."""

    bandwidth_share: float
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPoint:
    """All-reduce over a number of GPUs of one node: latency in microseconds, bus bandwidth in GB/s."""

    latency_us: float
    bus_gb_per_s: float
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRate:
    """Published rate of a link in one direction, GB/s: a link cut by its vendor scales the bus figures by it."""

    nominal_gb_per_s_per_direction: float
    judged: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorConstants:
    """Constants of the operator model that hold for every GPU and engine; times in seconds, widths in elements."""

    attention_fixed_s: float
    elementwise_fixed_s: float
    elementwise_hidden_factor: float
    elementwise_ffn_factor: float
    elementwise_bandwidth_share: float
    routing_exponent: float
    moved_hidden_bytes: float
    moved_width_bytes: float
    rank_unevenness: float
    attention_dp_prefill_factor: float
    offline_prefill_factor: float
    head_norm_fixed_s: float
    recurrent_prefill_passes: float
    sparse_prefill_share: float
    pipeline_hop_s: float
    pipeline_offline_bubble: float
    prefill_half_length_tokens: float
    sparse_attention_fixed_s: float
    sparse_index_bytes_overhead: float
    linear_attention_fixed_s: float
    linear_attention_width: float
    linear_attention_columns: float
    latent_query_width: float
    latent_head_width: float
    gated_side_factor: float
    attention_kernels: float
    latent_attention_kernels: float
    state_kernels: float
    feed_forward_kernels: float
    judged: frozenset[str] = _NONE


class Table(Mapping[Any, RowT], Generic[RowT]):
    """Rows of one kind by where they act; read-only."""

    def __init__(self, rows: Mapping[Any, RowT]) -> None:
        self._rows = MappingProxyType(dict(rows))

    def __getitem__(self, key: Any) -> RowT:
        row: RowT = self._rows[key]
        return row

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def with_factors(self, factors: Mapping[tuple[Any, str], float]) -> "Table[RowT]":
        """The table with fields multiplied: (key, field) → factor."""
        rows = dict(self._rows)
        for (key, name), factor in factors.items():
            rows[key] = replace(rows[key], **{name: getattr(rows[key], name) * factor})
        return Table(rows)


# What end-to-end rows want of a kernel constant beside the kernel tables, by where it acts ("" everywhere):
# (table, library, family, format, field) → factor.
Factors = Mapping[tuple[str, str, str, str, str], float]
# What the key of a row holds, by table.
_KEYS = MappingProxyType(
    {
        "gemm": ("family", "format"),
        "expert": ("library", "family", "format"),
        "attention": ("family",),
        "latent_attention": ("family",),
        "latent_module": ("library", "family"),
        "fixed_time": ("family",),
        "exchange": ("library", "back_end"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelConstants:
    """All constants of a forward pass: products, experts and attention by where they act, links, operators."""

    gemm: Table[KernelRow]
    expert: Table[ExpertRow]
    attention: Table[AttentionRow]
    latent_attention: Table[AttentionRow]
    latent_module: Table[LatentModuleRow]
    fixed_time: Table[FixedTimeRow]
    exchange: Table[ExchangeRow]
    link: Table[LinkPoint]
    link_rate: Table[LinkRate]
    operators: OperatorConstants
    factors: Factors = field(default_factory=dict)

    def with_factors(self, factors: Factors) -> "KernelConstants":
        """The constants with the tables multiplied by these factors; a factor acts on every row that its scope holds.

        Raises:
            ConstantsFileError: a factor that no row is under.
        """
        changed: dict[str, dict[tuple[Any, str], float]] = {}
        for (name, library, family, form, field_name), factor in factors.items():
            asked = {"library": library, "family": family, "format": form, "back_end": ""}
            keys = [key for key in getattr(self, name) if _acts_on(asked, _KEYS[name], key)]
            if not keys:
                raise ConstantsFileError(f"factors.csv: no row of {name} for {library} {family} {form}")
            for key in keys:
                each = changed.setdefault(name, {})
                each[key, field_name] = each.get((key, field_name), 1.0) * factor
        tables: dict[str, Any] = {name: getattr(self, name).with_factors(each) for name, each in changed.items()}
        return replace(self, **tables, factors=MappingProxyType(dict(factors)))


def _acts_on(asked: Mapping[str, str], columns: tuple[str, ...], key: Any) -> bool:
    cells = key if isinstance(key, tuple) else (key,)
    return all(not asked[column] or asked[column] == cell for column, cell in zip(columns, cells, strict=True))


def typed(cls: Callable[..., RowT], rows: Mapping[str, Constant], **more: Any) -> RowT:
    """An object of `cls` from constants by name.

    Raises:
        ConstantsFileError: a field without a row, or a row that is no field.
    """
    known = {each.name: each for each in fields(cls) if each.name != "judged"}  # type: ignore[arg-type]
    where = next(iter(rows.values()))
    for name, row in rows.items():
        if name not in known:
            raise ConstantsFileError(f"{row.file} line {row.line}, name: {name!r} is none of {', '.join(known)}")
    missing = [name for name, each in known.items() if name not in rows and each.default is MISSING]
    if missing:
        raise ConstantsFileError(f"{where.file}: {missing[0]} is missing for {' '.join(where.scope.values()) or 'all'}")
    judged = frozenset(name for name, row in rows.items() if row.basis is Basis.JUDGEMENT)
    return cls(**{name: row.value for name, row in rows.items()}, judged=judged, **more)


def table(file: str, cls: Callable[..., RowT], *columns: str) -> Table[RowT]:
    """The rows of a file as objects of `cls`, by the cells of `columns` (one cell where there is one column)."""
    groups: dict[Any, dict[str, Constant]] = {}
    for row in read_constants(DATA_DIR / file):
        cells = row.where(*columns)
        groups.setdefault(cells[0] if len(cells) == 1 else cells, {})[row.name] = row
    return Table({key: typed(cls, rows) for key, rows in groups.items()})


def constants_of(file: str) -> dict[str, Constant]:
    """The constants of a file that act everywhere, by name."""
    return {row.name: row for row in read_constants(DATA_DIR / file)}


@cache
def reference() -> KernelConstants:
    """The founders' reference: kernel tables as they are, operators before our fit; golden cases are worked with it."""
    operators = constants_of("operators.csv")
    links = read_constants(DATA_DIR / "links.csv")
    points: dict[Any, dict[str, Constant]] = {}
    for row in links:
        key = (row.scope["link"], int(row.scope["gpus"])) if "gpus" in row.scope else row.scope["link"]
        points.setdefault(key, {})[row.name] = row
    started: dict[str, Any] = {name: row.prior for name, row in operators.items() if row.prior is not None}
    return KernelConstants(
        gemm=table("gemm.csv", KernelRow, "family", "format"),
        expert=table("experts.csv", ExpertRow, "library", "family", "format"),
        attention=table("attention.csv", AttentionRow, "family"),
        latent_attention=table("latent_attention.csv", AttentionRow, "family"),
        latent_module=table("latent_modules.csv", LatentModuleRow, "library", "family"),
        fixed_time=table("fixed_times.csv", FixedTimeRow, "family"),
        exchange=table("exchanges.csv", ExchangeRow, "library", "back_end"),
        link=Table({key: typed(LinkPoint, rows) for key, rows in points.items() if isinstance(key, tuple)}),
        link_rate=Table({key: typed(LinkRate, rows) for key, rows in points.items() if isinstance(key, str)}),
        operators=replace(typed(OperatorConstants, operators), **started),
    )


@cache
def shipped() -> KernelConstants:
    """The constants in use: the reference with what rows of whole engines want beside it."""
    base = reference()
    rows = read_constants(DATA_DIR / "factors.csv")
    factors: dict[Any, float] = {
        (*row.where("table", "library", "family", "format"), row.name): row.value for row in rows
    }
    return replace(
        base.with_factors(factors),
        operators=typed(OperatorConstants, constants_of("operators.csv")),
    )


@cache
def inline_ecc() -> Table[InlineEccRow]:
    """Cards whose memory keeps its check bits among the data, by slug; kernel tables of such a card hold it already."""
    return table("inline_ecc.csv", InlineEccRow, "gpu")
