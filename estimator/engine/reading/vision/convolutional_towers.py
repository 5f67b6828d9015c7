"""Towers with convolutions or folded patches: SAM behind DeepSeek's models, LFM3-VL, Inkling, as parameter counts.

Source: the reference model classes (transformers 5.24, 2026-11), class defaults for keys a file omits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.vision.blocks import SIGLIP, Defaults, linear, side, siglip

Adapter = Callable[[Fields, Fields, int], int]


def _sam(vision: Fields) -> tuple[int, int]:
    """SAM's encoder with its neck: blocks with relative positions of a window or of the picture; count and channels."""
    width, out = vision.whole("hidden_size"), vision.whole("output_channels")
    heads, layers = (
        vision.whole("num_attention_heads", high=MAX_COUNT),
        vision.whole("num_hidden_layers", high=MAX_LAYERS),
    )
    ratio = vision.number("mlp_ratio", low=0.01, high=64.0, default=4.0)
    mlp = vision.whole("mlp_dim", default=int(width * ratio))
    patch = side(vision, "patch_size", high=4096)
    grid, window = side(vision, "image_size") // patch, vision.whole("window_size", low=0, high=65_536)
    bias = vision.flag("qkv_bias", default=True)
    block = 4 * width + linear(width, 3 * width, bias=bias) + linear(width, width)
    block += linear(width, mlp) + linear(mlp, width)
    listed = vision.sequence("global_attn_indexes") or (2, 5, 8, 11)
    everywhere = {vision.check_whole("global_attn_indexes", entry, 0, MAX_LAYERS) for entry in listed}
    count = layers * block
    if vision.flag("use_rel_pos", default=True):
        sides = [grid if layer in everywhere or not window else window for layer in range(layers)]
        count += sum(2 * (2 * one - 1) * (width // heads) for one in sides)
    if vision.flag("use_abs_pos", default=True):
        count += grid * grid * width
    channels = vision.whole("num_channels", high=64)
    neck = width * out + 9 * out * out + 4 * out
    return count + linear(channels * patch * patch, width) + neck, out


def deepseek_vl(outer: Fields, vision: Fields, hidden: int) -> int:
    """DeepSeek-VL: SigLIP and an aligner of two maps."""
    tower, width = siglip(vision)
    return tower + linear(width, hidden) + linear(hidden, hidden)


def deepseek_vl_hybrid(outer: Fields, vision: Fields, hidden: int) -> int:
    """DeepSeek-VL 7B: SigLIP beside SAM with a second neck and two strided convolutions; each fills half the width."""
    tower, width = siglip(vision)
    name = "high_res_vision_config"
    fine = outer.sub(name, _SAM) or Fields({}, _SAM, f"{outer.path}.{name}")
    sam, out = _sam(fine)
    fine_width = fine.whole("hidden_size")
    second = fine_width * out + 9 * out * out + 4 * out
    strided = 9 * out * 2 * out + 9 * 2 * out * 4 * out
    halves = linear(width, hidden // 2) + linear(4 * out, hidden // 2)
    return tower + sam + second + strided + 1 + halves + linear(hidden, hidden)


def deepseek_ocr2(outer: Fields, vision: Fields, hidden: int) -> int:
    """DeepSeek-OCR 2: SAM, two strided convolutions, a small decoder that reads with learned queries, one map."""
    sam_fields = vision.sub("sam_config", _SAM) or Fields({}, _SAM, f"{vision.path}.sam_config")
    sam, out = _sam(sam_fields)
    channels = [
        sam_fields.check_whole("downsample_channels", one, 1, 1_048_576)
        for one in sam_fields.sequence("downsample_channels") or (512, 896)
    ]
    strided = sum(9 * inputs * outputs for inputs, outputs in zip([out, *channels], channels, strict=False))
    encoder = vision.sub("encoder_config", _OCR_ENCODER) or Fields({}, _OCR_ENCODER, f"{vision.path}.encoder_config")
    width, mlp = encoder.whole("hidden_size"), encoder.whole("intermediate_size")
    heads = encoder.whole("num_attention_heads", high=MAX_COUNT)
    keys = encoder.whole("num_key_value_heads", high=MAX_COUNT, default=heads) * (width // heads)
    block = linear(width, width) + 2 * linear(width, keys) + width * width + 3 * width * mlp + 2 * width
    layers = encoder.whole("num_hidden_layers", high=MAX_LAYERS)
    queries = (144 + 256) * width
    return sam + strided + layers * block + width + queries + linear(width, hidden) + hidden


def lfm3_vl(outer: Fields, vision: Fields, hidden: int) -> int:
    """LFM3-VL: gated convolutions in two dimensions and attention by turns, a projector of two maps behind a norm."""
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    layers = vision.whole("num_hidden_layers", high=MAX_LAYERS)
    heads = vision.whole("num_attention_heads", high=MAX_COUNT)
    keys = vision.whole("num_key_value_heads", high=MAX_COUNT) * (width // heads)
    kernel = vision.whole("conv_kernel_size", high=1024)
    types = vision.sequence("layer_types", at_least=layers)
    kinds: Sequence[object] = types or [
        "full_attention" if layer and layer % 2 == 0 else "conv" for layer in range(layers)
    ]
    convolution = 3 * width * width + kernel * kernel * width + width * width
    attention = 2 * width * width + 2 * keys * width + 2 * (width // heads)
    mixers = sum(convolution if kind == "conv" else attention for kind in kinds)
    patch, frames = side(vision, "patch_size", high=4096), vision.whole("temporal_patch_size", high=64)
    pixels = vision.whole("in_channels", high=64) * frames * patch * patch
    tower = pixels * width + width + mixers + layers * (3 * width * mlp + 2 * width)
    merged = width * vision.whole("spatial_merge_size", high=64) ** 2
    inner, bias = outer.whole("projector_hidden_size", default=4096), outer.flag("projector_bias", default=True)
    return tower + 2 * width + linear(merged, inner, bias=bias) + linear(inner, hidden, bias=bias)


def _factors(number: int) -> list[int]:
    """Prime factors, smallest first."""
    found, divisor = [], 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found


def _scales(patch: int, frames: int, channels: int) -> list[tuple[int, int]]:
    """How far patches can be folded: pixels in a fold, and channels in multiples of 64."""
    found, edge = [(1, channels)], 1
    for factor in reversed(_factors(patch)):
        edge *= factor
        found.append((edge * edge, -(-edge * edge * channels // 64) * 64))
    deep = 1
    for factor in reversed(_factors(frames)):
        deep *= factor
        # the reference class leaves out the division by 64 for folds over time
        found.append((deep * edge * edge, deep * edge * edge * channels * 64))
    return found


def _plan(scales: Sequence[tuple[int, int]], total: int, layers: int) -> list[int]:
    """The scale of each layer: the nearest to equal steps of the logarithm; all different where layers are few."""
    ideal = [math.log(total) * layer / layers for layer in range(layers + 1)]
    cost = [[abs(one - math.log(size)) for size, _ in scales] for one in ideal]
    chosen = [row.index(min(row)) for row in cost] if layers >= len(scales) else _cheapest(cost)
    return [0, *chosen[1:-1], len(scales) - 1]


def _cheapest(cost: Sequence[Sequence[float]]) -> list[int]:
    """A rising choice of one column for each row, of least cost."""
    columns = len(cost[0])
    best: list[tuple[float, list[int]]] = [(math.inf, [])] * columns
    for index, row in enumerate(cost):
        found: list[tuple[float, list[int]]] = []
        for column in range(columns):
            before = min((best[one] for one in range(column)), default=(math.inf, [])) if index else (0.0, [])
            found.append((before[0] + row[column], [*before[1], column]))
        best = found
    return min(best)[1]


def inkling(outer: Fields, vision: Fields, hidden: int) -> int:
    """Inkling: patches folded step by step through linear maps with norms, up to the text width."""
    patch, frames = side(vision, "patch_size", high=1024), vision.whole("temporal_patch_size", high=64)
    channels = vision.whole("num_channels", high=64)
    layers = vision.whole("n_layers", "num_hidden_layers", high=256)
    scales = _scales(patch, frames, channels)
    chosen = [scales[index] for index in _plan(scales, patch * patch * frames * channels, layers)]
    count = hidden
    for layer, ((size, depth), (next_size, next_depth)) in enumerate(pairwise(chosen)):
        inputs = depth * (next_size // size)
        last = layer == layers - 1
        count += inputs * (hidden if last else next_depth) + (0 if last else next_depth)
    return count


_SAM: Defaults = {
    "hidden_size": 768,
    "output_channels": 256,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_channels": 3,
    "image_size": 1024,
    "patch_size": 16,
    "window_size": 14,
}
_OCR_ENCODER: Defaults = {
    "hidden_size": 4096,
    "intermediate_size": 22_016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
}
_LFM3: Defaults = {
    "hidden_size": 1024,
    "intermediate_size": 2560,
    "num_hidden_layers": 14,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "in_channels": 3,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "conv_kernel_size": 3,
}
_INKLING: Defaults = {"patch_size": 40, "temporal_patch_size": 2, "num_channels": 3, "n_layers": 24}

CONVOLUTIONAL_TOWERS: Mapping[str, tuple[Adapter, Defaults]] = {
    "deepseek_vl": (deepseek_vl, SIGLIP),
    "deepseek_vl_hybrid": (deepseek_vl_hybrid, SIGLIP),
    "deepseek_ocr2": (deepseek_ocr2, {}),
    "lfm3_vl": (lfm3_vl, _LFM3),
    "inkling_mm_model": (inkling, _INKLING),
}
