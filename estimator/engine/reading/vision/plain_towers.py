"""Towers of plain or gated transformer blocks with a projector of the model's own, as parameter counts.

Source: the reference model classes (transformers 5.24, 2026-11), class defaults for keys a file omits.
"""

from collections.abc import Callable, Mapping, Sequence

from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.vision.blocks import Defaults, linear, plain_block, side, siglip

Adapter = Callable[[Fields, Fields, int], int]


def _layers(vision: Fields) -> int:
    return vision.whole("num_hidden_layers", "depth", high=MAX_LAYERS)


def _heads(vision: Fields) -> int:
    return vision.whole("num_attention_heads", "num_heads", high=MAX_COUNT)


def _merge(vision: Fields) -> int:
    return vision.whole("spatial_merge_size", "merge_size", "adapter_merge_size", high=64)


def _pixels(vision: Fields) -> int:
    """Numbers of one patch: channels times the patch, times the frames that it spans."""
    frames = side(vision, "temporal_patch_size", high=64) if vision.raw("temporal_patch_size") is not None else 1
    return vision.whole("in_channels", "num_channels", high=64) * frames * side(vision, "patch_size", high=4096) ** 2


def _glm_tower(vision: Fields, hidden: int, inner: int) -> int:
    """GLM-OCR and GLM 5.3: gated blocks with norms of queries and keys, a strided convolution, a gated merger."""
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    bias = vision.flag("attention_bias", default=True)
    block = 3 * linear(width, width, bias=bias) + linear(width, width, bias=bias) + 2 * width
    block += 2 * linear(width, mlp, bias=bias) + linear(mlp, width, bias=bias) + 2 * (width // _heads(vision))
    out = vision.whole("out_hidden_size", default=hidden)
    merger = out * out + 2 * out + 3 * out * inner
    downsample = linear(width * _merge(vision) ** 2, out)
    return linear(_pixels(vision), width) + _layers(vision) * block + width + downsample + merger


def glm_ocr(outer: Fields, vision: Fields, hidden: int) -> int:
    """GLM-OCR: the merger is as wide as its output times the channels of a picture."""
    inner = vision.whole("out_hidden_size", default=hidden) * vision.whole("in_channels", high=64)
    return _glm_tower(vision, hidden, inner)


def glm5_next(outer: Fields, vision: Fields, hidden: int) -> int:
    """GLM 5.3 Flash: the merger has a width of its own."""
    return _glm_tower(vision, hidden, vision.whole("projection_intermediate_size"))


def hy4(outer: Fields, vision: Fields, hidden: int) -> int:
    """Hy4: plain blocks, positions of the largest picture, a strided and a plain convolution, a learned line break."""
    width, out = vision.whole("hidden_size"), vision.whole("out_hidden_size", default=hidden)
    patch = side(vision, "patch_size", high=4096)
    positions = (vision.whole("max_image_size", high=65_536) // patch) ** 2 + 1
    tower = linear(_pixels(vision), width) + positions * width
    tower += _layers(vision) * plain_block(width, vision.whole("intermediate_size"))
    merged = width * _merge(vision) ** 2
    return tower + width + linear(merged, merged) + linear(merged, out) + out


def inkling2(outer: Fields, vision: Fields, hidden: int) -> int:
    """Inkling 2: plain blocks with two layer scales, a class token, positions on a grid, two maps without biases."""
    width = vision.whole("hidden_size")
    ratio = vision.number("mlp_ratio", low=0.01, high=64.0, default=4.0)
    mlp = vision.whole("intermediate_size", default=int(width * ratio))
    bias = vision.flag("projector_bias")
    inner = vision.whole("projection_hidden_dim")
    tower = 2 * width + _pixels(vision) * width + vision.whole("posemb_grid_size", high=65_536) ** 2 * width + 2 * width
    tower += _layers(vision) * (plain_block(width, mlp) + 2 * width)
    merged = width * _merge(vision) ** 2
    return tower + linear(merged, inner, bias=bias) + linear(inner, hidden, bias=bias)


def muse(outer: Fields, vision: Fields, hidden: int) -> int:
    """Muse: plain blocks between two norms, positions on a grid, an adapter of two maps and a projection."""
    width, patch = vision.whole("hidden_size"), side(vision, "patch_size", high=4096)
    frames = vision.whole("patch_temporal", high=64)
    tower = 3 * frames * patch * patch * width + 4 * width
    tower += vision.whole("pos_emb_height", high=65_536) * vision.whole("pos_emb_width", high=65_536) * width
    tower += _layers(vision) * plain_block(width, vision.whole("intermediate_size"))
    inner = outer.whole("projector_hidden_size", default=4096)
    merged = outer.whole("out_hidden_size", default=width * _merge(vision) ** 2)
    return tower + merged * inner + inner * inner + inner * hidden


def minicpm(outer: Fields, vision: Fields, hidden: int) -> int:
    """MiniCPM-V 4.6 and 4.7: SigLIP with a merger of windows between its layers, then one merger or several."""
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    patch = side(vision, "patch_size", high=4096)
    tower = linear(_pixels(vision), width) + (side(vision, "image_size") // patch) ** 2 * width
    tower += _layers(vision) * plain_block(width, mlp) + 2 * width
    window = _product(vision, "window_kernel_size")
    tower += 4 * linear(width, width) + 2 * width + 2 * width * window
    tower += linear(width * window, mlp * window) + linear(mlp * window, width)
    merged = width * _product(outer, "merge_kernel_size")
    times = outer.whole("merger_times", high=64, default=1)
    between = (times - 1) * (2 * merged + linear(merged, merged) + linear(merged, width))
    return tower + between + 2 * merged + linear(merged, merged) + linear(merged, hidden)


def _product(fields: Fields, name: str) -> int:
    """The product of a pair of sides; two by two where none is stated."""
    count = 1
    for one in fields.sequence(name, length=2) or (2, 2):
        count *= fields.check_whole(name, one, 1, 64)
    return count


def molmo2(outer: Fields, vision: Fields, hidden: int) -> int:
    """Molmo 2: plain blocks up to the last layer that is read, attention that pools patches, a gated projector."""
    width = vision.whole("hidden_size")
    adapter = outer.sub("adapter_config", _MOLMO_ADAPTER) or Fields({}, _MOLMO_ADAPTER, f"{outer.path}.adapter_config")
    patch = side(vision, "patch_size", high=4096)
    sides = vision.sequence("image_size", "image_default_input_size", length=2) or (378, 378)
    grid = [vision.check_whole("image_size", one, 1, 65_536) // patch for one in sides]
    positions = vision.whole("num_position_embeddings", "image_num_pos", default=grid[0] * grid[1])
    tower = linear(_pixels(vision), width) + positions * width
    tower += _layers(vision) * plain_block(width, vision.whole("intermediate_size"))
    levels = len(adapter.sequence("vision_feature_layer", "vit_layers") or (24, 18))
    inner, bias = adapter.whole("hidden_size"), adapter.flag("attention_bias", default=True)
    queries = adapter.whole("num_attention_heads", high=MAX_COUNT) * adapter.whole("head_dim")
    keys = adapter.whole("num_key_value_heads", high=MAX_COUNT) * adapter.whole("head_dim")
    pooling = linear(levels * width, queries, bias=bias) + 2 * linear(levels * width, keys, bias=bias)
    mlp, out = adapter.whole("intermediate_size"), adapter.whole("text_hidden_size", default=hidden)
    return tower + pooling + linear(queries, inner) + 2 * inner * mlp + mlp * out


def phi4(outer: Fields, vision: Fields, hidden: int) -> int:
    """Phi-4 multimodal: SigLIP with its head, separators of pictures, two maps."""
    patch = side(vision, "patch_size", high=4096)
    tower, width = siglip(Fields({**vision.config, "vision_use_head": True}, vision.defaults, vision.path))
    # positions are those of the crop
    crop, image = vision.whole("crop_size", default=448), side(vision, "image_size")
    tower += ((crop // patch) ** 2 - (image // patch) ** 2) * width
    return tower + 2 * width + linear(width, hidden) + linear(hidden, hidden)


def ernie(outer: Fields, vision: Fields, hidden: int) -> int:
    """ERNIE 4.5 VL: plain blocks, a resampler over space and time, and the experts of pictures in the text layers."""
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    tower = _pixels(vision) * width + _layers(vision) * plain_block(width, mlp) + 2 * width
    spatial = width * _merge(vision) ** 2
    temporal = spatial * vision.whole("temporal_merge_size", high=64)
    resampler = 2 * linear(spatial, spatial) + linear(temporal, spatial) + linear(spatial, spatial) + 4 * spatial
    return tower + resampler + linear(spatial, hidden) + hidden + _picture_experts(outer, hidden)


def _picture_experts(outer: Fields, hidden: int) -> int:
    """Experts that only tokens of pictures use, with their router, in every layer with experts."""
    text = outer.sub("text_config") or outer
    widths: Sequence[object] = text.sequence("moe_intermediate_size") or (1536, 512)
    width = text.check_whole("moe_intermediate_size", widths[-1], 1, 4_194_304)
    experts = text.whole("moe_num_experts", high=MAX_COUNT, default=64)
    layers = text.whole("num_hidden_layers", high=MAX_LAYERS, default=28)
    types = text.sequence("mlp_layer_types", at_least=layers)
    sparse = layers - 1 if types is None else sum(1 for entry in types if entry == "sparse")
    return sparse * experts * (3 * width * hidden + hidden + 1)


def dots3(outer: Fields, vision: Fields, hidden: int) -> int:
    """Dots 3: gated blocks with norms of queries and keys, the upper ones with ever more experts, a merger."""
    width = vision.whole("embed_dim", "hidden_size")
    heads, mlp = vision.whole("num_heads", "num_attention_heads", high=MAX_COUNT), vision.whole("intermediate_size")
    bias = vision.flag("use_bias", "attention_bias")
    block = 3 * linear(width, width, bias=bias) + linear(width, width, bias=bias) + 2 * (width // heads) + 2 * width
    counts = _pyramid(vision, _layers(vision))
    inner = vision.whole("moe_intermediate_size")
    blocks = sum(block + (count * (3 * width * inner + width) if count else 3 * width * mlp) for count in counts)
    merged, out = width * _merge(vision) ** 2, vision.whole("adapter_out_dim", default=hidden)
    patches = linear(_pixels(vision), width) + width
    return patches + blocks + width + 2 * width + linear(merged, merged) + linear(merged, out)


def _pyramid(vision: Fields, layers: int) -> list[int]:
    """Experts of each block, 0 for dense ones: as listed, by override, or the class's own pyramid."""
    listed = vision.sequence("pyramid_num_routed", at_least=layers)
    if listed is not None:
        return [max(vision.check_whole("pyramid_num_routed", one, -1, MAX_COUNT), 0) for one in listed]
    overrides, types = vision.sub("per_layer_config"), vision.sequence("mlp_layer_types", at_least=layers)
    if types is None:
        return [0 if layer < 25 else min(4 * (layer - 24), 64) for layer in range(layers)]
    common = vision.whole("num_local_experts", high=MAX_COUNT, default=64)
    counts = []
    for layer, entry in enumerate(types):
        own = overrides.config.get(str(layer), overrides.config.get(f"{layer:02d}")) if overrides is not None else None
        stated = own.get("num_local_experts", common) if isinstance(own, Mapping) else common
        sparse = entry == "sparse"
        counts.append(vision.check_whole("num_local_experts", stated, 1, MAX_COUNT) if sparse else 0)
    return counts


def aria(outer: Fields, vision: Fields, hidden: int) -> int:
    """Aria: SigLIP without its head, and a projector whose queries attend to the patches."""
    tower, width = siglip(vision, head=False)
    queries = outer.whole("max_value_projector_patch_to_query_dict", high=MAX_COUNT, default=256)
    inner = outer.sub("text_config")
    middle = hidden if inner is None else inner.whole("hidden_size", default=hidden)
    attention = 3 * width * width + linear(width, 3 * width) + 2 * linear(width, width) + 4 * width
    return tower + queries * width + attention + 2 * width + width * middle + middle * hidden


def radio(outer: Fields, vision: Fields, hidden: int) -> int:
    """Nemotron Omni's RADIO: blocks with layer scales, positions of the largest picture, class tokens and registers."""
    width = vision.whole("hidden_size")
    mlp = int(width * vision.number("mlp_ratio", low=0.01, high=64.0, default=4.0))
    patch = side(vision, "patch_size", high=4096)
    positions = (vision.whole("max_img_size", high=65_536) // patch) ** 2
    tokens = vision.whole("num_cls_tokens", high=1024) + vision.whole("num_registers", high=1024)
    pixels = vision.whole("num_channels", high=64) * patch * patch
    frames = vision.whole("video_temporal_patch_size", high=64)
    tower = (positions + tokens + pixels + pixels * frames) * width
    tower += _layers(vision) * (plain_block(width, mlp) + 2 * width)
    ratio = outer.number("downsample_ratio", low=0.01, high=1.0, default=0.5)
    merged, inner = width * round(1 / ratio) ** 2, outer.whole("projector_hidden_size", default=4096)
    return tower + merged + merged * inner + inner * hidden


_GLM: Defaults = {
    "depth": 24,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_heads": 16,
    "in_channels": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 1536,
    "projection_intermediate_size": 10_240,
}
_HY4: Defaults = {
    "hidden_size": 1536,
    "intermediate_size": 6144,
    "num_hidden_layers": 40,
    "num_channels": 3,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "max_image_size": 2048,
}
_INKLING2: Defaults = {
    "hidden_size": 1024,
    "num_hidden_layers": 23,
    "num_channels": 3,
    "patch_size": 20,
    "spatial_merge_size": 2,
    "posemb_grid_size": 32,
    "projection_hidden_dim": 4096,
}
_MUSE: Defaults = {
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 50,
    "patch_size": 14,
    "pos_emb_height": 32,
    "pos_emb_width": 32,
    "patch_temporal": 2,
    "merge_size": 2,
}
_MINICPM: Defaults = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 16,
}
_MOLMO: Defaults = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 25,
    "num_channels": 3,
    "patch_size": 14,
}
_MOLMO_ADAPTER: Defaults = {
    "hidden_size": 1152,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "head_dim": 72,
    "intermediate_size": 18_944,
    "text_hidden_size": 3584,
}
_PHI4: Defaults = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_channels": 3,
    "image_size": 448,
    "patch_size": 14,
    "crop_size": 448,
}
_ERNIE: Defaults = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "in_channels": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_merge_size": 2,
}
_DOTS3: Defaults = {
    "hidden_size": 1536,
    "intermediate_size": 4224,
    "moe_intermediate_size": 2112,
    "num_hidden_layers": 42,
    "num_attention_heads": 24,
    "num_channels": 3,
    "patch_size": 14,
    "spatial_merge_size": 2,
}
_ARIA: Defaults = {
    "hidden_size": 1152,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 32,
}
_RADIO: Defaults = {
    "hidden_size": 1280,
    "num_hidden_layers": 32,
    "num_channels": 3,
    "patch_size": 16,
    "max_img_size": 2048,
    "num_cls_tokens": 3,
    "num_registers": 7,
    "video_temporal_patch_size": 2,
}

PLAIN_TOWERS: Mapping[str, tuple[Adapter, Defaults]] = {
    "glm_ocr": (glm_ocr, _GLM),
    "glm5_next": (glm5_next, _GLM),
    "hy_v4_vl": (hy4, _HY4),
    "inkling2": (inkling2, _INKLING2),
    "inkling2_loop": (inkling2, _INKLING2),
    "muse_glimmer": (muse, _MUSE),
    "muse_spark": (muse, _MUSE),
    "minicpmv4_6": (minicpm, _MINICPM),
    "minicpmv4_7": (minicpm, _MINICPM),
    "molmo2": (molmo2, _MOLMO),
    "phi4_multimodal": (phi4, _PHI4),
    "ernie4_5_vl_moe": (ernie, _ERNIE),
    "dots3_note": (dots3, _DOTS3),
    "aria": (aria, _ARIA),
    "nemotron_h_omni": (radio, _RADIO),
}
