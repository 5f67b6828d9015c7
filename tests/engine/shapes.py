"""Hand-built architectures, GPUs and engines for tests of the engine: no catalog, no reader."""

from dataclasses import replace
from typing import Any

from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.model.spec import (
    Architecture,
    Attention,
    AttentionKind,
    FeedForward,
    LayerGroup,
    LayerParameters,
    RecurrentState,
    StateKind,
)
from estimator.engine.specs import EngineProfile, Gpu, IdealConstants, LlamaCppConstants, ServingConstants

H100 = Gpu(
    slug="h100",
    memory_bytes=80_000_000_000,
    memory_bandwidth_bytes_per_s=3.35e12,
    peak_flops_per_s={"bf16": 989e12, "fp16": 989e12, "fp8": 1978e12, "int8": 1978e12},
    kernel_family="hopper",
    link="nvlink4",
)


def whole_model(parameters: int, *, layers: int, heads: int, kv_heads: int, head_dim: int, hidden: int) -> Architecture:
    """A dense model of which only the totals are known: all parameters in the layers, no embedding apart."""
    per_layer = parameters // layers
    attention = hidden * head_dim * 2 * (heads + kv_heads)
    return Architecture(
        family="inline",
        layer_groups=(
            LayerGroup(
                layers=layers,
                attention=Attention(
                    kind=AttentionKind.FULL,
                    query_heads=heads,
                    kv_heads=kv_heads,
                    head_dim_qk=head_dim,
                    head_dim_v=head_dim,
                ),
                feed_forward=FeedForward(),
                parameters=LayerParameters(attention=attention, mlp=per_layer - attention),
            ),
        ),
        hidden_size=hidden,
        vocab_size=0,
        max_context_tokens=None,
        tied_embeddings=False,
        embedding_parameters=0,
        lm_head_parameters=0,
        final_norm_parameters=0,
        other_parameters=parameters - per_layer * layers,
    )


LLAMA_8B = whole_model(8_030_000_000, layers=32, heads=32, kv_heads=8, head_dim=128, hidden=4096)


def from_shape(shape: dict[str, Any]) -> Architecture:
    """The architecture of a golden case's `model_shape`: parts that the reference counts, nothing else."""
    d, vocab = shape["d"], shape["V"]
    groups = []
    linear, windowed = shape.get("Llin", 0), shape.get("Lw", 0)
    experts, dense = shape.get("E", 0), shape.get("Ld", 0) if shape.get("E") else shape["L"]
    attending = shape["L"] - linear
    plan = [
        ("full", attending - windowed - (dense if experts else 0), bool(experts)),
        ("window", windowed, bool(experts)),
        ("linear", linear, bool(experts)),
        ("full", dense if experts else 0, False),
    ]
    for kind, layers, has_experts in plan:
        if layers:
            groups.append(_group(shape, kind, layers, has_experts))
    return Architecture(
        family="golden",
        layer_groups=tuple(groups),
        hidden_size=d,
        vocab_size=vocab,
        max_context_tokens=None,
        tied_embeddings=bool(shape["tied"]),
        embedding_parameters=vocab * d,
        lm_head_parameters=0 if shape["tied"] else vocab * d,
        final_norm_parameters=0,
    )


def _group(shape: dict[str, Any], kind: str, layers: int, has_experts: bool) -> LayerGroup:
    d = shape["d"]
    matrices = 3 if shape["gated"] else 2
    attention = None if kind == "linear" else _attention(shape, kind)
    state = None
    counts: dict[str, int] = {}
    if kind == "linear":
        state = RecurrentState(
            kind=StateKind.LINEAR_ATTENTION,
            recurrent_elements=64 * 128 * 128,
            conv_elements=0,
            state_bytes_per_element=4,
            heads=64,
            key_dim=128,
            value_dim=128,
        )
        counts["state"] = 28672 * d
    if has_experts:
        feed = FeedForward(
            matrices=matrices,
            experts=shape["E"],
            experts_per_token=shape["k"],
            expert_intermediate_size=shape["dm"],
            shared_intermediate_size=shape["sh"],
        )
        counts |= {"routed_experts": matrices * d * shape["dm"] * shape["E"], "shared_experts": 3 * d * shape["sh"]}
    else:
        feed = FeedForward(intermediate_size=shape["ff"], matrices=matrices)
        counts["mlp"] = matrices * d * shape["ff"]
    return LayerGroup(
        layers=layers, attention=attention, state=state, feed_forward=feed, parameters=LayerParameters(**counts)
    )


def _attention(shape: dict[str, Any], kind: str) -> Attention:
    heads, head = shape["hq"], shape["dh"]
    mla = shape.get("mla")
    if mla:
        top_k = shape.get("dsa", 0)
        return Attention(
            kind=AttentionKind.SPARSE_LATENT if top_k else AttentionKind.LATENT,
            query_heads=heads,
            kv_heads=1,
            head_dim_qk=mla["qk_nope_head_dim"] + mla["qk_rope_head_dim"],
            head_dim_v=mla["v_head_dim"],
            latent_rank=mla["kv_lora_rank"],
            latent_rope_dim=mla["qk_rope_head_dim"],
            latent_nope_dim=mla["qk_nope_head_dim"],
            query_latent_rank=mla["q_lora_rank"],
            index_heads=32 if top_k else 0,
            index_head_dim=128 if top_k else 0,
            index_top_k=top_k,
        )
    return Attention(
        kind=AttentionKind.WINDOW if kind == "window" else AttentionKind.FULL,
        query_heads=heads,
        kv_heads=shape["hkv"],
        head_dim_qk=head,
        head_dim_v=head,
        window_tokens=shape["win"] if kind == "window" else None,
        output_gate=bool(shape.get("gate_attn")),
    )


def llama_8b_shape() -> dict[str, Any]:
    return {"L": 32, "d": 4096, "hq": 32, "hkv": 8, "dh": 128, "ff": 14336, "V": 128256, "gated": 1, "tied": 0}


def mixture_shape() -> dict[str, Any]:
    """A small mixture of experts with window layers."""
    return {
        "L": 24, "d": 2880, "hq": 64, "hkv": 8, "dh": 64, "ff": 0, "V": 201088, "gated": 1, "tied": 0,
        "E": 32, "k": 4, "dm": 2880, "sh": 0, "Ld": 0, "win": 128, "Lw": 12,
    }  # fmt: skip


def latent_shape() -> dict[str, Any]:
    """A latent-attention mixture with three dense layers, a shared expert and 64 experts."""
    return {
        "L": 27, "d": 2048, "hq": 16, "hkv": 1, "dh": 128, "ff": 10944, "V": 102400, "gated": 1, "tied": 0,
        "E": 64, "k": 6, "dm": 1408, "sh": 2816, "Ld": 1,
        "mla": {
            "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128,
        },
    }  # fmt: skip


def serving_engine(**changes: Any) -> EngineProfile:
    """A calibrated profile with the constants of vLLM 0.19."""
    values: dict[str, Any] = {"kernel_time_scale": 1.1, "launch_share": 0.6, "server_in_s": 0.036}
    return EngineProfile(
        slug="vllm-0.19",
        engine="vllm",
        kind="serving",
        memory=REFERENCE_MEMORY,
        serving=ServingConstants(**(values | changes)),
    )


# The reference: 0.9 of the memory, 3 GiB of reserve, 2,048 sequences and 8,192 tokens a pass.
REFERENCE_MEMORY = MemoryPolicy(
    activation_mlp_copies=0.0,
    activation_hidden_copies=0.0,
    runtime_overhead_bytes=3 * 2**30,
    max_num_seqs=2048,
    small_max_num_seqs=2048,
    small_max_batched_tokens=8192,
)
# The source documents: all of the memory, weights by their bits, nothing else.
NOTHING_RESERVED = MemoryPolicy(
    utilization=1.0,
    activation_mlp_copies=0.0,
    activation_hidden_copies=0.0,
    block_tokens=1,
    max_num_seqs=1 << 20,
    small_max_num_seqs=1 << 20,
    window_adds_batched_tokens=False,
    nominal_weights=True,
)
IDEAL = EngineProfile(slug="ideal", engine="ideal", kind="ideal", memory=NOTHING_RESERVED, ideal=IdealConstants())
LLAMA_CPP = EngineProfile(
    slug="llama.cpp",
    engine="llama.cpp",
    kind="llama_cpp",
    memory=replace(NOTHING_RESERVED, nominal_weights=False, runtime_overhead_bytes=2**30),
    llama_cpp=LlamaCppConstants(),
)
