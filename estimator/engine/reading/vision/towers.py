"""Vision towers that belong to one family of models each, with their projectors.

Source: the reference model classes (transformers 5.24, 2026-11), class defaults for keys a file omits.
"""

from collections.abc import Callable, Mapping

from estimator.engine.reading.fields import MAX_LAYERS, Fields
from estimator.engine.reading.vision.blocks import SIGLIP, Defaults, linear, pixtral, siglip


def gemma3_tower(vision: Fields, hidden: int) -> int:
    """SigLIP with one projection and a norm."""
    tower, width = siglip(vision)
    return tower + width * hidden + width


def _qwen_patches(vision: Fields, width: int, *, bias: bool) -> int:
    patch = vision.whole("patch_size", high=4096)
    inputs = vision.whole("in_channels", high=64) * vision.whole("temporal_patch_size", high=64) * patch * patch
    return linear(inputs, width, bias=bias)


def qwen3_vl_tower(vision: Fields, hidden: int) -> int:
    """Qwen3-VL and Qwen3.5: learned positions, LayerNorm blocks, one merger and one more for each deep-stack level."""
    width = vision.whole("hidden_size")
    mlp = vision.whole("intermediate_size")
    merged = width * vision.whole("spatial_merge_size", high=64) ** 2
    out = vision.whole("out_hidden_size", default=hidden)
    levels = len(vision.sequence("deepstack_visual_indexes") or ())
    block = linear(width, 3 * width) + linear(width, width) + linear(width, mlp) + linear(mlp, width) + 4 * width
    merger = linear(merged, merged) + linear(merged, out)
    return (
        _qwen_patches(vision, width, bias=True)
        + vision.whole("num_position_embeddings") * width
        + vision.whole("depth", high=MAX_LAYERS) * block
        + merger
        + 2 * width
        + levels * (merger + 2 * merged)
    )


def qwen2_vl_tower(vision: Fields, hidden: int) -> int:
    """Qwen2-VL: LayerNorm blocks with a plain MLP, one merger."""
    width = vision.whole("embed_dim")
    mlp = vision.whole("mlp_ratio", high=64) * width
    merged = width * vision.whole("spatial_merge_size", high=64) ** 2
    out = vision.whole("hidden_size", default=hidden)
    block = linear(width, 3 * width) + linear(width, width) + linear(width, mlp) + linear(mlp, width) + 4 * width
    blocks = vision.whole("depth", high=MAX_LAYERS) * block
    return _qwen_patches(vision, width, bias=False) + blocks + linear(merged, merged) + linear(merged, out) + 2 * width


def qwen2_5_vl_tower(vision: Fields, hidden: int) -> int:
    """Qwen2.5-VL: RMS norms and a gated MLP, one merger."""
    width = vision.whole("hidden_size")
    mlp = vision.whole("intermediate_size")
    merged = width * vision.whole("spatial_merge_size", high=64) ** 2
    out = vision.whole("out_hidden_size", default=hidden)
    block = linear(width, 3 * width) + linear(width, width) + 2 * linear(width, mlp) + linear(mlp, width) + 2 * width
    blocks = vision.whole("depth", high=MAX_LAYERS) * block
    return _qwen_patches(vision, width, bias=False) + blocks + linear(merged, merged) + linear(merged, out) + width


def llama4_tower(vision: Fields, hidden: int) -> int:
    """Llama 4: an encoder with a class token, a pixel-shuffle MLP and a projection into the text width."""
    width = vision.whole("hidden_size")
    patch = vision.whole("patch_size", high=4096)
    positions = (vision.whole("image_size", high=65_536) // patch) ** 2 + 1
    mlp = vision.whole("intermediate_size")
    block = 4 * linear(width, width) + linear(width, mlp) + linear(mlp, width) + 4 * width
    inner, out = vision.whole("projector_input_dim"), vision.whole("projector_output_dim")
    return (
        vision.whole("num_channels", high=64) * patch * patch * width
        + width
        + positions * width
        + 4 * width
        + vision.whole("num_hidden_layers", high=MAX_LAYERS) * block
        + mlp * inner
        + out * out
        + vision.whole("vision_output_dim") * hidden
    )


def gemma4_tower(vision: Fields, hidden: int) -> int:
    """Gemma 4: two position tables, gated blocks with head norms and four norms, one projection."""
    width = vision.whole("hidden_size")
    mlp = vision.whole("intermediate_size")
    patch = vision.whole("patch_size", high=4096)
    head = vision.whole("head_dim")
    queries = vision.whole("num_attention_heads") * head
    keys = vision.whole("num_key_value_heads") * head
    block = width * (2 * queries + 2 * keys) + 2 * head + 3 * width * mlp + 4 * width
    return (
        3 * patch * patch * width
        + 2 * vision.whole("position_embedding_size") * width
        + vision.whole("num_hidden_layers", high=MAX_LAYERS) * block
        + width * hidden
    )


def step_tower(vision: Fields, hidden: int) -> int:
    """Step 3.5/3.7: an encoder with layer scales and two strided convolutions that double the width each."""
    width = vision.whole("hidden_size", "width")
    patch = vision.whole("patch_size", high=4096)
    patches = (vision.whole("image_size", high=65_536) // patch) ** 2
    mlp = int(width * vision.number("mlp_ratio", low=0.1, high=64.0, default=4.0))
    block = 4 * linear(width, width) + linear(width, mlp) + linear(mlp, width) + 6 * width
    return (
        vision.whole("num_channels", high=64) * patch * patch * width
        + patches * width
        + 2 * width
        + vision.whole("num_hidden_layers", "layers", high=MAX_LAYERS) * block
        + linear(9 * width, 2 * width)
        + linear(18 * width, 4 * width)
        + 4 * width * hidden
    )


def pixtral_tower(vision: Fields, hidden: int) -> int:
    """Pixtral behind Mistral 3: a 2 × 2 patch merger, a projector of two layers."""
    tower, width = pixtral(vision)
    return tower + width + 4 * width * width + width * hidden + hidden * hidden


# the files leave the pooling head out whether they say so or not: 27,432,406,640 parameters of the 27B
_GEMMA3: Defaults = {**SIGLIP, "vision_use_head": False}
_QWEN3: Defaults = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "in_channels": 3,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "num_position_embeddings": 2304,
}
_QWEN2: Defaults = {
    "depth": 32,
    "embed_dim": 1280,
    "mlp_ratio": 4,
    "in_channels": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
_QWEN25: Defaults = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "in_channels": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
_LLAMA4: Defaults = {
    "hidden_size": 768,
    "num_hidden_layers": 34,
    "num_channels": 3,
    "intermediate_size": 5632,
    "vision_output_dim": 7680,
    "image_size": 448,
    "patch_size": 14,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
}
_GEMMA4: Defaults = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 16,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
    "head_dim": 64,
    "patch_size": 16,
    "position_embedding_size": 10_240,
}
_STEP: Defaults = {
    "hidden_size": 1536,
    "num_hidden_layers": 47,
    "num_channels": 3,
    "image_size": 728,
    "patch_size": 14,
    "mlp_ratio": 8960 / 1536,
}
_PIXTRAL: Defaults = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "patch_size": 16}
_LARGE4: Defaults = {"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 30, "patch_size": 14}

TOWERS: Mapping[str, tuple[Callable[[Fields, int], int], Defaults]] = {
    "gemma3": (gemma3_tower, _GEMMA3),
    "shieldgemma2": (gemma3_tower, _GEMMA3),
    "qwen3_vl": (qwen3_vl_tower, {**_QWEN3, "deepstack_visual_indexes": [8, 16, 24]}),  # type: ignore[dict-item]
    "qwen3_vl_moe": (qwen3_vl_tower, {**_QWEN3, "deepstack_visual_indexes": [8, 16, 24]}),  # type: ignore[dict-item]
    "qwen3_5": (qwen3_vl_tower, _QWEN3),
    "qwen3_5_moe": (qwen3_vl_tower, _QWEN3),
    "qwen2_vl": (qwen2_vl_tower, _QWEN2),
    "qwen2_5_vl": (qwen2_5_vl_tower, _QWEN25),
    "llama4": (llama4_tower, _LLAMA4),
    "gemma4": (gemma4_tower, _GEMMA4),
    "diffusion_gemma": (gemma4_tower, _GEMMA4),
    "qwen4_exp": (qwen3_vl_tower, _QWEN3),
    "cohere_compass": (qwen3_vl_tower, {**_QWEN3, "deepstack_visual_indexes": [8, 16, 24]}),  # type: ignore[dict-item]
    "step3p7": (step_tower, _STEP),
    "mistral3": (pixtral_tower, _PIXTRAL),
    "mistral_large4": (pixtral_tower, _LARGE4),
}
