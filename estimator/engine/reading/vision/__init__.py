"""Parameters of vision towers and their projectors, by the outer model_type; what has no rule is said, not guessed."""

from estimator.engine.reading.fields import Fields
from estimator.engine.reading.vision.adapters import ADAPTERS
from estimator.engine.reading.vision.audio import AUDIO
from estimator.engine.reading.vision.blocks import Defaults
from estimator.engine.reading.vision.convolutional_towers import CONVOLUTIONAL_TOWERS
from estimator.engine.reading.vision.plain_towers import PLAIN_TOWERS
from estimator.engine.reading.vision.towers import TOWERS

# Parts of a config that hold parameters beside the language model; `encoder_config` is that of Granite Speech.
_PARTS = (
    "vision_config", "audio_config", "sound_config", "speech_config", "encoder_config", "projector_config",
    "qformer_config", "perceiver_config", "high_res_vision_config", "vq_config", "talker_config", "token2wav_config",
    "code2wav_config",
)  # fmt: skip
_WITH_OUTER = {**ADAPTERS, **PLAIN_TOWERS, **CONVOLUTIONAL_TOWERS}
# Parts that a tower's rule reads beside `vision_config`.
_READ_WITH = {"deepseek_vl_hybrid": ("high_res_vision_config",)}
# Outer classes that build a tower of class defaults where a file leaves it out; the others have none then.
_ALWAYS = frozenset({*TOWERS, *PLAIN_TOWERS, *CONVOLUTIONAL_TOWERS}) - {"gemma4", "nemotron_h_omni", "aria"}


def vision_parameters(outer: Fields, outer_type: str, rule_type: str, hidden: int) -> tuple[int, tuple[str, ...]]:
    """Parameters outside the language model, and what to say about parts without a rule.

    Args:
        outer: the whole config.
        outer_type: its model_type.
        rule_type: the model_type whose rule read the text part.
        hidden: width of the text part.

    Returns:
        Vision parameters (0 for text models) and warnings.
    """
    stated = [name for name in _PARTS if outer.config.get(name) is not None]
    count = 0
    for name, found in (
        ("vision_config", _vision(outer, outer_type, rule_type, hidden)),
        ("audio_config", _audio(outer, outer_type, hidden)),
    ):
        if found is not None:
            count += found
            read = _READ_WITH.get(outer_type, ()) if name == "vision_config" else ()
            stated = [one for one in stated if one != name and one not in read]
    if not stated:
        return count, ()
    total = "" if count else ": the total is that of the text part"
    return count, (f"parameters of {' and '.join(stated)} are not counted, there is no rule for them{total}",)


def _audio(outer: Fields, outer_type: str, hidden: int) -> int | None:
    """Parameters of audio tower and projector, None where there is no rule or no tower."""
    if outer_type not in AUDIO:
        return None
    count, defaults = AUDIO[outer_type]
    return count(_part(outer, "audio_config", defaults), hidden)


def _vision(outer: Fields, outer_type: str, rule_type: str, hidden: int) -> int | None:
    """Parameters of tower and projector, None where there is no rule or no tower."""
    given = outer.config.get("vision_config") is not None
    if not (given or outer_type in _ALWAYS):
        return None
    if outer_type in TOWERS:
        count, defaults = TOWERS[outer_type]
        return count(_part(outer, "vision_config", defaults), hidden)
    if outer_type in _WITH_OUTER:
        adapt, defaults = _WITH_OUTER[outer_type]
        return adapt(outer, _part(outer, "vision_config", defaults), hidden)
    return None


def _part(outer: Fields, name: str, defaults: Defaults) -> Fields:
    return outer.sub(name, defaults) or Fields({}, defaults, f"{outer.path}.{name}")
