"""Audio towers of the Whisper kind with their projectors, as parameter counts.

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
}
