"""Families whose keys or blocks need more than a rule: OPT, Falcon, MPT, DBRX, GPT-BigCode, StableLM."""

from collections.abc import Callable
from dataclasses import replace

from estimator.engine.model.spec import Architecture, Attention, AttentionKind
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense
from estimator.engine.reading.decoder import Decoder, Tables, finish, read_decoder
from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.families.dense import DENSE_RULES
from estimator.engine.reading.families.standard import StandardRule, read_standard
from estimator.engine.reading.fields import MAX_COUNT, Fields
from estimator.engine.reading.kinds import every
from estimator.engine.reading.mixers import Grouped
from estimator.engine.reading.shape import HEADS, HIDDEN, read_layers


def read_opt(fields: Fields) -> Architecture:
    """OPT: two extra rows of positions, a narrower token table (350M), no final norm where norms come last."""
    narrow = fields.whole("word_embed_proj_dim", default=fields.whole("hidden_size"))
    hidden = fields.whole("hidden_size")
    bias = fields.flag("enable_bias", default=True)
    rule = StandardRule(
        qkv_bias=bias,
        out_bias=bias,
        mlp_bias=bias,
        gated=False,
        norm_width=2 if fields.flag("layer_norm_elementwise_affine", default=True) else 0,
        positions="max_position_embeddings",
        position_offset=2,
    )
    plain = read_standard(fields, rule, family="opt")
    norms_first = fields.flag("do_layer_norm_before", default=True)
    if not norms_first or fields.flag("_remove_final_layer_norm"):
        plain = replace(plain, final_norm_parameters=0)
    if narrow == hidden:
        return plain
    return replace(
        plain,
        embedding_parameters=plain.vocab_size * narrow,
        lm_head_parameters=0 if plain.tied_embeddings else plain.vocab_size * narrow,
        other_parameters=2 * narrow * hidden,
    )


def read_falcon(fields: Fields) -> Architecture:
    """Falcon: MQA by `multi_query`, grouped heads with `new_decoder_architecture`, one or two parallel norms."""
    hidden = fields.whole(*HIDDEN)
    heads = fields.whole(*HEADS, high=MAX_COUNT)
    if hidden % heads:
        raise fields.error("num_attention_heads", f"must divide the hidden size {hidden}, not {heads}")
    new = fields.flag("new_decoder_architecture")
    kv_heads = heads
    if new:
        kv_heads = fields.whole("num_kv_heads", "n_head_kv", high=MAX_COUNT, default=heads)
    elif fields.flag("multi_query"):
        kv_heads = 1
    if kv_heads > heads or heads % kv_heads:
        raise fields.error("num_kv_heads", f"must divide the {heads} query heads, not {kv_heads}")
    bias = fields.flag("bias")
    layers = read_layers(fields)
    layer = LayerBuilder()
    attention = Attention(
        kind=AttentionKind.FULL,
        query_heads=heads,
        kv_heads=kv_heads,
        head_dim_qk=hidden // heads,
        head_dim_v=hidden // heads,
    )
    add_attention(layer, attention, hidden, prefix="self_attention", qkv_bias=bias, out_bias=bias)
    add_dense(layer, hidden, fields.whole("ffn_hidden_size", default=4 * hidden), gated=False, bias=bias)
    parallel_norms = fields.optional_whole("num_ln_in_parallel_attn", low=1, high=2) or (2 if new else 1)
    norms = parallel_norms if fields.flag("parallel_attn", default=True) or new else 2
    layer.norms = norms * 2 * hidden
    return finish(fields, Tables(norm_width=2), (layer.group(layers),), (0,) * layers, family="falcon")


def read_mpt(fields: Fields) -> Architecture:
    """MPT: KV heads inside `attn_config`, MLP width as a ratio of the hidden size, no biases."""
    attention = fields.sub("attn_config")
    config = dict(fields.config)
    hidden = fields.whole(*HIDDEN)
    config["intermediate_size"] = fields.whole("expansion_ratio", high=1024, default=4) * hidden
    if attention is not None:
        kv_heads = attention.optional_whole("kv_n_heads", high=MAX_COUNT)
        if kv_heads is None and attention.text("attn_type") == "multiquery_attention":
            kv_heads = 1
        if kv_heads is not None:
            config["num_key_value_heads"] = kv_heads
    inner = Fields(config, fields.defaults, fields.path)
    return read_standard(inner, DENSE_RULES["mpt"], family="mpt")


_DBRX = Decoder(
    kinds=every("full"),
    mixers={"full": Grouped(prefix="norm_attn_norm.attn")},
    moe=MoeRule(prefix="ffn", router="router.layer"),
)


def read_dbrx(fields: Fields) -> Architecture:
    """DBRX: KV heads in `attn_config`, experts in `ffn_config`."""
    attention, ffn = fields.sub("attn_config"), fields.sub("ffn_config")
    if attention is None or ffn is None:
        raise fields.missing("attn_config" if attention is None else "ffn_config")
    flat = {
        "num_key_value_heads": attention.whole("kv_n_heads", high=MAX_COUNT, default=1),
        "num_experts": ffn.whole("moe_num_experts", high=MAX_COUNT, default=4),
        "num_experts_per_tok": ffn.whole("moe_top_k", high=MAX_COUNT, default=1),
        "moe_intermediate_size": ffn.whole("ffn_hidden_size", default=3584),
    }
    return read_decoder(fields.over(flat), _DBRX, family="dbrx")


def read_gpt_bigcode(fields: Fields) -> Architecture:
    """GPT-BigCode: one KV head with `multi_query`."""
    config = dict(fields.config)
    if fields.flag("multi_query", default=True):
        config["num_key_value_heads"] = 1
    else:
        config.pop("num_key_value_heads", None)
    inner = Fields(config, fields.defaults, fields.path)
    return read_standard(inner, DENSE_RULES["gpt_bigcode"], family="gpt_bigcode")


def read_stablelm(fields: Fields) -> Architecture:
    """StableLM: one norm with parallel residuals, optional norms of each head."""
    rule = StandardRule(
        qkv_bias="use_qkv_bias",
        norms=1 if fields.flag("use_parallel_residual") else 2,
        norm_width=2,
        qk_norm="per_head",
        qk_norm_if="qk_layernorm",
    )
    return read_standard(fields, rule, family="stablelm")


def legacy_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each of these model types (`RefinedWeb…` are Falcon's first names)."""
    return {
        "opt": read_opt,
        "falcon": read_falcon,
        "RefinedWeb": read_falcon,
        "RefinedWebModel": read_falcon,
        "mpt": read_mpt,
        "dbrx": read_dbrx,
        "gpt_bigcode": read_gpt_bigcode,
        "stablelm": read_stablelm,
    }
