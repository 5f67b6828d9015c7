"""Encoders that several vision towers share, as parameter counts.

Source: the reference model classes (transformers 5.24, 2026-11), class defaults for keys a file omits.
"""

from collections.abc import Mapping

from estimator.engine.reading.fields import MAX_LAYERS, Fields

Defaults = Mapping[str, int | float | bool | str]

SIGLIP: Defaults = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 16,
    "num_patches": 256,
    "vision_use_head": True,
}
CLIP: Defaults = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 32,
}


def linear(inputs: int, outputs: int, *, bias: bool = True) -> int:
    """Parameters of a linear map."""
    return inputs * outputs + (outputs if bias else 0)


def side(fields: Fields, name: str, high: int = 65_536) -> int:
    """A side in pixels, given as a number or as a pair of equal ones."""
    value = fields.raw(name)
    if isinstance(value, list | tuple) and value and all(one == value[0] for one in value):
        return fields.check_whole(name, value[0], 1, high)
    return fields.whole(name, high=high)


def plain_block(width: int, mlp: int) -> int:
    """Attention of four maps, an MLP of two, all with biases, and two LayerNorms."""
    return 4 * linear(width, width) + linear(width, mlp) + linear(mlp, width) + 4 * width


def siglip(vision: Fields, *, head: bool | None = None) -> tuple[int, int]:
    """SigLIP: patches, positions, plain blocks, a last norm and a pooling head; its parameters and width.

    Args:
        vision: the tower's config.
        head: whether the pooling head is stored; None goes by `vision_use_head`.
    """
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    patch = vision.whole("patch_size", high=4096)
    flexible = vision.text("model_type") == "siglip2_vision_model"
    positions = vision.whole("num_patches") if flexible else (side(vision, "image_size") // patch) ** 2
    count = linear(vision.whole("num_channels", high=64) * patch * patch, width) + positions * width
    count += vision.whole("num_hidden_layers", high=MAX_LAYERS) * plain_block(width, mlp) + 2 * width
    if vision.flag("vision_use_head") if head is None else head:
        count += width + plain_block(width, mlp) - 2 * width
    return count, width


def clip(vision: Fields) -> tuple[int, int]:
    """CLIP: a class token, patches without bias, positions, plain blocks between two norms; parameters and width."""
    width = vision.whole("hidden_size")
    patch = vision.whole("patch_size", high=4096)
    positions = (side(vision, "image_size") // patch) ** 2 + 1
    block = plain_block(width, vision.whole("intermediate_size"))
    layers = vision.whole("num_hidden_layers", high=MAX_LAYERS)
    patches = vision.whole("num_channels", high=64) * patch * patch * width
    return width + patches + positions * width + layers * block + 4 * width, width


def pixtral(vision: Fields) -> tuple[int, int]:
    """Pixtral: gated blocks without biases between RMS norms; parameters and width."""
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    patch = vision.whole("patch_size", high=4096)
    block = 4 * width * width + 3 * width * mlp + 2 * width
    return 3 * patch * patch * width + width + vision.whole("num_hidden_layers", high=MAX_LAYERS) * block, width


def internvit(vision: Fields) -> tuple[int, int]:
    """InternViT: a class token, positions, blocks with layer scales and norms where asked; parameters and width."""
    width, mlp = vision.whole("hidden_size"), vision.whole("intermediate_size")
    patch = side(vision, "patch_size", high=4096)
    positions = (side(vision, "image_size") // patch) ** 2 + 1
    bias = vision.flag("attention_bias", "qkv_bias")
    norm = width if vision.text("norm_type") == "rms_norm" else 2 * width
    block = 3 * linear(width, width, bias=bias) + linear(width, width) + linear(width, mlp) + linear(mlp, width)
    block += 2 * norm + 2 * width
    if vision.flag("use_qk_norm", "qk_normalization"):
        block += 2 * width
    patches = linear(vision.whole("num_channels", high=64) * patch * patch, width)
    return width + patches + positions * width + vision.whole("num_hidden_layers", high=MAX_LAYERS) * block, width
