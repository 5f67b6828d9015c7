"""Towers behind a projector of the model's own: LLaVA and heirs, InternVL, GLM-V, Kimi, Llama 3.2 Vision and others.

Each rule takes the whole config, the tower's part and the width of the text part, and counts tower and projector.
Source: the reference model classes (transformers 5.24, 2026-11).
"""

from collections.abc import Callable, Mapping

from estimator.engine.reading.fields import MAX_LAYERS, Fields
from estimator.engine.reading.vision.blocks import (
    CLIP,
    SIGLIP,
    Defaults,
    clip,
    internvit,
    linear,
    pixtral,
    plain_block,
    side,
    siglip,
)

Adapter = Callable[[Fields, Fields, int], int]


def _named_encoder(vision: Fields) -> tuple[int, int]:
    """The encoder that the tower's model_type names."""
    kind = vision.text("model_type") or ""
    if kind in ("siglip_vision_model", "siglip2_vision_model"):
        return siglip(Fields(vision.config, SIGLIP, vision.path))
    if kind == "pixtral":
        return pixtral(Fields(vision.config, _PIXTRAL, vision.path))
    if kind in ("clip_vision_model", ""):
        return clip(Fields(vision.config, {**CLIP, **(vision.defaults if not kind else {})}, vision.path))
    raise vision.error("model_type", "must be clip_vision_model, siglip_vision_model or pixtral for this model")


def llava(outer: Fields, vision: Fields, hidden: int) -> int:
    """LLaVA: two linear maps from the features of the layers chosen."""
    tower, width = _named_encoder(vision)
    layers = outer.raw("vision_feature_layer")
    features = width * (len(layers) if isinstance(layers, list | tuple) and layers else 1)
    bias = outer.flag("multimodal_projector_bias", default=True)
    return tower + linear(features, hidden, bias=bias) + linear(hidden, hidden, bias=bias)


def vipllava(outer: Fields, vision: Fields, hidden: int) -> int:
    """ViP-LLaVA: features of several layers behind a norm, two linear maps."""
    tower, width = _named_encoder(vision)
    layers = outer.raw("vision_feature_layers")
    features = width * (len(layers) if isinstance(layers, list | tuple) and layers else 5)
    return tower + 2 * features + linear(features, hidden) + linear(hidden, hidden)


def llava_with_newline(outer: Fields, vision: Fields, hidden: int) -> int:
    """LLaVA-NeXT and OneVision: LLaVA with a learned line break."""
    return llava(outer, vision, hidden) + hidden


def paligemma(outer: Fields, vision: Fields, hidden: int) -> int:
    """PaliGemma: SigLIP without its head and one linear map (2,923,466,480 parameters with the 3B text part)."""
    tower, width = siglip(vision, head=vision.config.get("vision_use_head") is True)
    return tower + linear(width, hidden)


def idefics3(outer: Fields, vision: Fields, hidden: int) -> int:
    """Idefics 3 and SmolVLM: SigLIP without its head, pixels shuffled into one map without bias."""
    tower, width = siglip(vision, head=False)
    return tower + width * outer.whole("scale_factor", high=64, default=2) ** 2 * hidden


def internvl(outer: Fields, vision: Fields, hidden: int) -> int:
    """InternVL: pixels shuffled, a norm and two linear maps."""
    tower, width = internvit(vision)
    ratio = outer.number("downsample_ratio", low=0.01, high=1.0, default=0.5)
    merged = width * round(1 / ratio) ** 2
    return tower + 2 * merged + linear(merged, hidden) + linear(hidden, hidden)


def aya_vision(outer: Fields, vision: Fields, hidden: int) -> int:
    """Aya Vision: pixels shuffled, a norm, a gated MLP."""
    merged = _shuffled(outer, siglip(vision)[1])
    return cohere2_vision(outer, vision, hidden) + 2 * merged


def cohere2_vision(outer: Fields, vision: Fields, hidden: int) -> int:
    """Command A Vision: pixels shuffled, a gated MLP whose first map holds gate and value."""
    tower, width = siglip(vision)
    inner = outer.whole("alignment_intermediate_size", default=36_864)
    return tower + linear(_shuffled(outer, width), inner) + linear(inner // 2, hidden)


def _shuffled(outer: Fields, width: int) -> int:
    return width * outer.whole("downsample_factor", high=64, default=2) ** 2


def lfm2_vl(outer: Fields, vision: Fields, hidden: int) -> int:
    """LFM2-VL: SigLIP 2, pixels shuffled, a norm and two linear maps."""
    tower, width = siglip(Fields({"model_type": "siglip2_vision_model", **vision.config}, vision.defaults, vision.path))
    merged = _shuffled(outer, width)
    inner = outer.whole("projector_hidden_size", default=2560)
    bias = outer.flag("projector_bias", default=True)
    norm = 2 * merged if outer.flag("projector_use_layernorm", default=True) else 0
    return tower + norm + linear(merged, inner, bias=bias) + linear(inner, hidden, bias=bias)


def glm4v(outer: Fields, vision: Fields, hidden: int) -> int:
    """GLM-4V: gated blocks of the output's width, learned positions, a strided convolution and a gated merger."""
    width, out = vision.whole("hidden_size"), vision.whole("out_hidden_size", default=hidden)
    patch = vision.whole("patch_size", high=4096)
    merge = vision.whole("spatial_merge_size", high=64)
    bias = vision.flag("attention_bias")
    block = 3 * linear(width, width, bias=bias) + width * width + 3 * width * out + 2 * width
    frames = vision.whole("in_channels", high=64) * vision.whole("temporal_patch_size", high=64)
    merger = out * out + 2 * out + 3 * out * vision.whole("intermediate_size")
    return (
        (side(vision, "image_size") // patch) ** 2 * width
        + linear(frames * patch * patch, width)
        + vision.whole("depth", high=MAX_LAYERS) * block
        + 2 * width
        + linear(width * merge * merge, out)
        + merger
    )


def moonvit(outer: Fields, vision: Fields, hidden: int) -> int:
    """MoonViT of Kimi: learned positions in two dimensions, plain blocks, a norm, a merger of two linear maps."""
    width = vision.whole("hidden_size", "vt_hidden_size")
    mlp = vision.whole("intermediate_size", "vt_intermediate_size")
    layers = vision.whole("num_hidden_layers", "vt_num_hidden_layers", high=MAX_LAYERS)
    patch = vision.whole("patch_size", high=4096)
    height = vision.whole("pos_emb_height", "init_pos_emb_height", high=65_536)
    breadth = vision.whole("pos_emb_width", "init_pos_emb_width", high=65_536)
    kernel = vision.sequence("merge_kernel_size", length=2) or (2, 2)
    merged = width
    for one in kernel:
        merged *= vision.check_whole("merge_kernel_size", one, 1, 64)
    tower = linear(3 * patch * patch, width) + height * breadth * width + layers * plain_block(width, mlp) + 2 * width
    return tower + 2 * width + linear(merged, merged) + linear(merged, hidden)


def exaone4_5(outer: Fields, vision: Fields, hidden: int) -> int:
    """EXAONE 4.5: blocks as in Qwen2.5-VL with grouped keys and values."""
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    heads = vision.whole("num_heads", high=65_536)
    keys = vision.whole("num_key_value_heads", high=65_536) * (width // heads)
    patch = vision.whole("patch_size", high=4096)
    merged = width * vision.whole("spatial_merge_size", high=64) ** 2
    out = vision.whole("out_hidden_size", default=hidden)
    block = linear(width, width + 2 * keys) + linear(width, width) + 2 * linear(width, mlp) + linear(mlp, width)
    frames = vision.whole("in_channels", high=64) * vision.whole("temporal_patch_size", high=64)
    layers = vision.whole("depth", high=MAX_LAYERS)
    tower = frames * patch * patch * width + layers * (block + 2 * width)
    return tower + width + linear(merged, merged) + linear(merged, out)


def minimax_m3(outer: Fields, vision: Fields, hidden: int) -> int:
    """MiniMax M3: plain blocks behind a norm, two linear maps and two more that merge neighbours."""
    width = vision.whole("hidden_size")
    patch = vision.whole("patch_size", high=4096)
    inner = outer.whole("projector_hidden_size", default=hidden)
    merged = hidden * vision.whole("spatial_merge_size", high=64) ** 2
    frames = vision.whole("num_channels", high=64) * vision.whole("temporal_patch_size", high=64)
    block = plain_block(width, vision.whole("intermediate_size"))
    tower = frames * patch * patch * width + 2 * width + vision.whole("num_hidden_layers", high=MAX_LAYERS) * block
    projector = linear(width, inner) + linear(inner, hidden) + linear(merged, inner) + linear(inner, hidden)
    return tower + projector


def mllama(outer: Fields, vision: Fields, hidden: int) -> int:
    """Llama 3.2 Vision: local and gated global layers, embeddings of tiles by aspect ratio, one linear map."""
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    patch = vision.whole("patch_size", high=4096)
    patches = (side(vision, "image_size") // patch) ** 2 + 1
    tiles = vision.whole("max_num_tiles", high=64)
    ratios = len(vision.sequence("supported_aspect_ratios") or range(8)) + 1
    block = 4 * width * width + linear(width, mlp) + linear(mlp, width) + 4 * width
    local = vision.whole("num_hidden_layers", high=MAX_LAYERS)
    gated = vision.whole("num_global_layers", low=0, high=MAX_LAYERS)
    embeddings = width + vision.whole("num_channels", high=64) * patch * patch * width + patches * width
    embeddings += ratios * tiles * patches * width + 2 * ratios * tiles * width + 3
    tower = embeddings + 4 * width + (local + gated) * block + 2 * gated
    return tower + linear(vision.whole("vision_output_dim"), hidden)


_PIXTRAL: Defaults = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "patch_size": 16}
_LLAVA_CLIP: Defaults = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "image_size": 336,
    "patch_size": 14,
}
_ONEVISION: Defaults = {
    **SIGLIP,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 26,
    "image_size": 384,
    "patch_size": 14,
    "vision_use_head": False,
}
_IDEFICS3: Defaults = {**SIGLIP, "hidden_size": 1152, "patch_size": 32}
_GLM4V: Defaults = {
    "depth": 24,
    "hidden_size": 1536,
    "in_channels": 3,
    "image_size": 336,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 4096,
    "intermediate_size": 13_696,
}
_MOONVIT: Defaults = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "patch_size": 14,
    "pos_emb_height": 64,
    "pos_emb_width": 64,
}
_INTERNVIT: Defaults = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_channels": 3,
    "image_size": 448,
    "patch_size": 14,
}
_EXAONE: Defaults = {
    "depth": 32,
    "hidden_size": 3584,
    "intermediate_size": 3420,
    "num_heads": 16,
    "num_key_value_heads": 8,
    "in_channels": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
_MINIMAX: Defaults = {
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_hidden_layers": 32,
    "num_channels": 3,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "spatial_merge_size": 2,
}
_MLLAMA: Defaults = {
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_hidden_layers": 32,
    "num_global_layers": 8,
    "num_channels": 3,
    "vision_output_dim": 7680,
    "image_size": 448,
    "patch_size": 14,
    "max_num_tiles": 4,
}

ADAPTERS: Mapping[str, tuple[Adapter, Defaults]] = {
    "llava": (llava, _LLAVA_CLIP),
    "vipllava": (vipllava, _LLAVA_CLIP),
    "qianfan_ocr": (internvl, {**_INTERNVIT, "attention_bias": True}),
    "glmga": (glm4v, _GLM4V),
    "llava_next": (llava_with_newline, _LLAVA_CLIP),
    "llava_next_video": (llava_with_newline, _LLAVA_CLIP),
    "llava_onevision": (llava_with_newline, {"model_type": "siglip_vision_model", **_ONEVISION}),
    "paligemma": (paligemma, SIGLIP),
    "idefics3": (idefics3, _IDEFICS3),
    "smolvlm": (idefics3, _IDEFICS3),
    "internvl": (internvl, _INTERNVIT),
    "internvl_chat": (internvl, {**_INTERNVIT, "qkv_bias": True}),
    "aya_vision": (aya_vision, SIGLIP),
    "cohere2_vision": (cohere2_vision, SIGLIP),
    "lfm2_vl": (lfm2_vl, SIGLIP),
    "glm4v": (glm4v, _GLM4V),
    "glm46v": (glm4v, _GLM4V),
    "glm4v_moe": (glm4v, _GLM4V),
    "kimi_vl": (moonvit, _MOONVIT),
    "kimi_k25": (moonvit, _MOONVIT),
    "exaone4_5": (exaone4_5, _EXAONE),
    "minimax_m3_vl": (minimax_m3, _MINIMAX),
    "mllama": (mllama, _MLLAMA),
}
