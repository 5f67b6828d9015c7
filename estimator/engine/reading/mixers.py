"""What mixes the tokens of a layer, as data: grouped-query attention, latent attention, and layers with a state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from estimator.engine.model.spec import Attention, AttentionKind, Component, Split
from estimator.engine.reading.blocks import LayerBuilder, add_attention
from estimator.engine.reading.fields import MAX_COUNT, MAX_TOKENS, Fields
from estimator.engine.reading.latent import add_indexer, add_latent, latent_attention, read_latent
from estimator.engine.reading.shape import HEADS, head_width, read_kv_heads
from estimator.engine.reading.switches import Switch, switch

Names = tuple[str, ...]
AttentionPart = Callable[[LayerBuilder, Fields, int, Attention], None]
"""Adds to a layer what its attention holds besides."""
_PART = Component.ATTENTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """Grouped-query attention of one kind of layer.

    `value_dim` and `window` are the keys that hold the width of values (else that of keys) and the window in tokens;
    the first that is stated wins. A layer that `reuses` the cache of another has neither keys nor values of its own.
    `whole_groups` asks that KV heads divide the query heads.
    `qk_norm`: "" none, "head" (one of head_dim each), "width" (over the whole projection), "per_head" (a row a head).
    `gate` multiplies what attention gives: "query" (in the query projection, twice as wide), "width" (a map as wide as
    the heads), "head" (one number a head), "" none; a function reads it from the config. `also` adds the rest.
    """

    kind: AttentionKind = AttentionKind.FULL
    value_dim: Names = ()
    window: Names | Callable[[Fields], int] = ("sliding_window",)
    qkv_bias: Switch = False
    out_bias: Switch = False
    qk_norm: str | Callable[[Fields], str] = ""
    qk_norm_if: str = ""
    qk_norm_width: int = 1
    sinks: bool = False
    gate: str | Callable[[Fields], str] = ""
    key_equals_value: Switch = False
    reuses: bool = False
    whole_groups: bool = True
    prefix: str = "self_attn"
    also: tuple[AttentionPart, ...] = ()

    def __call__(self, layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        """Add the attention to a layer."""
        gate = self.gate if isinstance(self.gate, str) else self.gate(fields)
        attention = self._attention(fields, hidden, output_gate=gate == "query")
        add_attention(
            layer,
            attention,
            hidden,
            prefix=self.prefix,
            qkv_bias=switch(fields, self.qkv_bias),
            out_bias=switch(fields, self.out_bias),
            key_equals_value=switch(fields, self.key_equals_value),
            own_keys=not self.reuses,
        )
        add_gate(layer, gate, attention, hidden, self.prefix)
        if self.sinks:
            layer.vector(_PART, attention.query_heads)
        norm = self.qk_norm if isinstance(self.qk_norm, str) else self.qk_norm(fields)
        if norm and (not self.qk_norm_if or fields.flag(self.qk_norm_if)):
            add_query_key_norm(layer, norm, attention, self.qk_norm_width)
        for part in self.also:
            part(layer, fields, hidden, attention)

    def _attention(self, fields: Fields, hidden: int, *, output_gate: bool) -> Attention:
        heads = fields.whole(*HEADS, high=MAX_COUNT)
        width = head_width(fields, hidden, heads)
        window = None
        if self.kind is not AttentionKind.FULL:
            window = self.window(fields) if callable(self.window) else fields.whole(*self.window, high=MAX_TOKENS)
        return Attention(
            kind=self.kind,
            query_heads=heads,
            kv_heads=read_kv_heads(fields, heads, whole_groups=self.whole_groups),
            head_dim_qk=width,
            head_dim_v=fields.whole(*self.value_dim, default=width) if self.value_dim else width,
            window_tokens=window,
            output_gate=output_gate,
            stores_kv=not self.reuses,
        )


def add_gate(layer: LayerBuilder, gate: str, attention: Attention, hidden: int, prefix: str = "self_attn") -> None:
    """Add the map of an output gate that has a map of its own: as wide as the heads, or one number a head."""
    if gate == "width":
        layer.matrix(f"{prefix}.gate_proj", attention.query_heads * attention.head_dim_v, hidden, _PART)
    elif gate == "head":
        layer.matrix(f"{prefix}.g_proj", attention.query_heads, hidden, _PART)


def add_query_key_norm(layer: LayerBuilder, kind: str, attention: Attention, norm_width: int = 1) -> None:
    """Add the parameters of query and key norms of the given kind to the layer's norms."""
    heads, kv_heads, width = attention.query_heads, attention.kv_heads, attention.head_dim_qk
    if kind == "head":
        layer.norms += (2 if attention.stores_kv else 1) * width * norm_width
    elif kind in ("width", "per_head"):
        layer.norms += (heads + kv_heads) * width


def both(grouped: Grouped, **windowed: object) -> dict[str, Grouped]:
    """The mixers of a family with full and windowed layers that differ by nothing but what is given."""
    return {"full": grouped, "window": replace(grouped, kind=AttentionKind.WINDOW, **windowed)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Multi-head latent attention of one kind of layer.

    `index`: "" none, "own" (the layer computes and keeps its own index), "shared" (it reads that of another layer).
    `window` is the key of its window. `unrotated` layers have no rotary part: the whole head is cached in the latent.
    `stores_kv` is False where the layer reads the cache of another one. `gate` as in `Grouped`, or "fused" (A.X K2: one
    map with the queries); `also` adds the rest.
    """

    index: str = ""
    index_ratio: Names = ()
    window: Names = ()
    unrotated: bool = False
    stores_kv: bool = True
    sinks: bool = False
    gate: str = ""
    also: tuple[AttentionPart, ...] = ()

    def __call__(self, layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        """Add the attention to a layer."""
        size = read_latent(fields)
        if self.unrotated:
            size = replace(size, nope=size.nope + size.rope, rope=0)
        kind = AttentionKind.SPARSE_LATENT if self.index else AttentionKind.LATENT
        attention = replace(latent_attention(size, kind=kind), stores_kv=self.stores_kv)
        if self.window:
            attention = replace(attention, window_tokens=fields.whole(*self.window, high=MAX_TOKENS))
        add_latent(layer, size, with_down=self.stores_kv, fused_gate=self.gate == "fused")
        if self.index:
            ratio = fields.whole(*self.index_ratio, high=MAX_COUNT, default=1) if self.index_ratio else 1
            attention = replace(
                attention,
                index_heads=fields.whole("index_n_heads", high=MAX_COUNT),
                index_head_dim=fields.whole("index_head_dim"),
                index_top_k=fields.whole("index_topk", high=MAX_COUNT),
                stores_index=self.index == "own",
                index_ratio=ratio,
            )
        if self.index == "own":
            add_indexer(layer, fields, size)
        layer.attention = attention
        add_gate(layer, self.gate, attention, hidden)
        if self.sinks:
            layer.vector(_PART, attention.query_heads)
        for part in self.also:
            part(layer, fields, hidden, attention)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """A mixer whose figures stand under other keys for one kind of layer, such as `swa_num_attention_heads`.

    `keys` maps a usual key to the one that holds its figure, or to a function of the config; where the config has none,
    the usual key holds. A config with `per_layer_config` has its figures there instead.
    """

    mixer: Callable[[LayerBuilder, Fields, int], None]
    keys: Mapping[str, str | Callable[[Fields], int | None]]

    def __call__(self, layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        """Add the mixer to a layer."""
        if fields.raw("per_layer_config") is None:
            own = {key: fields.raw(name) if isinstance(name, str) else name(fields) for key, name in self.keys.items()}
            fields = fields.over({key: value for key, value in own.items() if value is not None})
        self.mixer(layer, fields, hidden)


def prefixed(prefix: str, *keys: str) -> dict[str, str | Callable[[Fields], int | None]]:
    """The keys of `Renamed` where each has a prefix."""
    return {key: prefix + key for key in keys}


def replicated(layer: LayerBuilder, name: str, rows: int, columns: int, *, quantisable: bool = True) -> None:
    """Add a matrix of attention that every rank holds whole."""
    layer.matrix(name, rows, columns, _PART, 1, Split.REPLICATED, quantisable=quantisable)
