"""Audio towers with their projectors, as parameter counts.

Source: the reference model classes (transformers 5.24, 2026-11).
"""

from collections.abc import Callable, Mapping

from estimator.engine.reading.fields import MAX_LAYERS, MAX_TOKENS, Fields
from estimator.engine.reading.vision.blocks import Defaults, linear


def _whisper(audio: Fields) -> tuple[int, int]:
    """Whisper's encoder: two convolutions, positions, blocks whose keys have no bias, a norm; parameters and width."""
    width = audio.whole("d_model", "hidden_size")
    mlp = audio.whole("encoder_ffn_dim", "intermediate_size")
    layers = audio.whole("encoder_layers", "num_hidden_layers", high=MAX_LAYERS)
    block = 4 * width * width + 3 * width + linear(width, mlp) + linear(mlp, width) + 4 * width
    count = linear(3 * audio.whole("num_mel_bins", high=65_536), width) + linear(3 * width, width)
    return count + audio.whole("max_source_positions", high=MAX_TOKENS) * width + layers * block + 2 * width, width


def qwen2_audio(audio: Fields, hidden: int) -> int:
    """Qwen2-Audio: Whisper large and one linear map."""
    tower, width = _whisper(audio)
    return tower + linear(width, hidden)


def voxtral(audio: Fields, hidden: int) -> int:
    """Voxtral: Whisper large, four frames joined, two linear maps without biases."""
    tower, _ = _whisper(audio)
    return tower + audio.whole("intermediate_size") * hidden + hidden * hidden


def inkling(audio: Fields, hidden: int) -> int:
    """Inkling: a table of the values of each mel bin, and a norm."""
    rows = audio.whole("n_mel_bins", "num_codebooks", high=65_536) * audio.whole("mel_vocab_size", "codebook_size")
    return rows * hidden + hidden


def muse_spark(audio: Fields, hidden: int) -> int:
    """Muse Spark: stages that fold samples, each with convolutions over time and MLPs, then one map between norms."""
    folds = _stages(audio, "patch_sizes", (16, 6, 5, 4))
    widths = _stages(audio, "hidden_sizes", (256, 512, 1024, 2048))
    depths = _stages(audio, "depths", (2, 2, 2, 2))
    if not len(folds) == len(widths) == len(depths):
        raise audio.error("depths", f"has {len(depths)} entries for {len(widths)} stages")
    kernel = audio.whole("conv_kernel_size", high=1024, default=7)
    ratio = audio.number("mlp_ratio", low=0.01, high=64.0, default=4.0)
    count, before = 0, 1
    for fold, width, depth in zip(folds, widths, depths, strict=True):
        mlp = int(width * ratio)
        block = linear(kernel, width) + width + linear(width, mlp) + linear(mlp, width)
        count += linear(before * fold, width) + width + depth * block
        before = width
    return count + before + linear(before, hidden) + hidden


def _stages(audio: Fields, name: str, default: tuple[int, ...]) -> list[int]:
    return [audio.check_whole(name, one, 1, 1_048_576) for one in audio.sequence(name) or default]


def dots3(audio: Fields, hidden: int) -> int:
    """Dots 3: three convolutions over mel bins, gated blocks whose keys have no bias, an adapter of two maps."""
    settings = audio.sub("whisper_config") or audio
    width = settings.whole("d_model", "hidden_size", default=1280)
    mlp = settings.whole("encoder_ffn_dim", "intermediate_size", default=5120)
    layers = settings.whole("encoder_layers", "num_hidden_layers", high=MAX_LAYERS, default=32)
    bins = settings.whole("num_mel_bins", "feature_size", high=65_536, default=128)
    inner = audio.whole("downsample_hidden_size", default=480)
    stem = linear(9, inner) + 2 * linear(9 * inner, inner) + inner * ((bins + 7) // 8) * width
    bias = audio.flag("attention_bias", default=True)
    block = 3 * linear(width, width, bias=bias) + width * width + 2 * width
    block += 2 * linear(width, mlp) + linear(mlp, width)
    out = audio.whole("whisper_adapter_out_dim", "adapter_out_dim", "adapter_output_size", default=hidden)
    return stem + layers * block + width + 2 * width + linear(width, out) + linear(out, out)


def phi4(audio: Fields, hidden: int) -> int:
    """Phi-4 multimodal: convolutions that halve time, conformer blocks, a relative bias, two pairs of maps."""
    width, mlp = audio.whole("hidden_size"), audio.whole("intermediate_size")
    channels, halvings = audio.whole("nemo_conv_channels"), audio.whole("time_reduction", high=65_536).bit_length() - 1
    bins = audio.whole("input_size", high=65_536)
    for _ in range(halvings):
        bins = (bins - 1) // 2 + 1
    stem = linear(9, channels) + (halvings - 1) * (linear(9, channels) + linear(channels, channels))
    stem += linear(channels * bins, width)
    spread = audio.whole("bias_max_distance")
    table = (spread if audio.flag("bias_symmetric") else 2 * spread) * audio.whole("num_attention_heads", high=65_536)
    outer, depth = audio.whole("ext_pw_out_channel"), audio.whole("depthwise_separable_out_channel")
    kernel, times = audio.whole("kernel_size", high=1024), audio.whole("depthwise_multiplier", high=64)
    feed = 2 * width + linear(width, 2 * mlp) + linear(mlp, width)
    convolution = 2 * width + 2 * outer + linear(width, 2 * outer)
    convolution += linear(kernel, width * times) + linear(width * times, depth) + linear(depth, outer)
    block = 2 * feed + 4 * linear(width, width) + convolution + 4 * width
    blocks = audio.whole("num_blocks", high=MAX_LAYERS) * block
    down = audio.whole("downsample_rate", high=64, default=1)
    return stem + table + blocks + 2 * (linear(width * down, hidden) + linear(hidden, hidden))


_PHI4: Defaults = {
    "hidden_size": 1024,
    "intermediate_size": 1536,
    "num_blocks": 24,
    "num_attention_heads": 16,
    "ext_pw_out_channel": 1024,
    "depthwise_separable_out_channel": 1024,
    "depthwise_multiplier": 1,
    "kernel_size": 3,
    "input_size": 80,
    "time_reduction": 8,
    "bias_max_distance": 1000,
    "nemo_conv_channels": 1024,
}
_WHISPER: Defaults = {
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_hidden_layers": 32,
    "num_mel_bins": 128,
    "max_source_positions": 1500,
}
_QWEN: Defaults = {
    "d_model": 1280,
    "encoder_ffn_dim": 5120,
    "encoder_layers": 32,
    "num_mel_bins": 128,
    "max_source_positions": 1500,
}

AUDIO: Mapping[str, tuple[Callable[[Fields, int], int], Defaults]] = {
    "qwen2_audio": (qwen2_audio, _QWEN),
    "voxtral": (voxtral, _WHISPER),
    "inkling_mm_model": (inkling, {"n_mel_bins": 80, "mel_vocab_size": 256}),
    "muse_spark": (muse_spark, {}),
    "dots3_note": (dots3, {}),
    "phi4_multimodal": (phi4, _PHI4),
}
