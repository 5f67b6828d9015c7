"""Words for decode speeds as a reader feels them."""

from enum import StrEnum


class SpeedWord(StrEnum):
    """How a stream of tokens feels to the person who reads it."""

    INSTANT = "instant"
    COMFORTABLE = "comfortable"
    SLOW = "visibly_slow"
    PAINFUL = "painful"


# Borders at the geometric means of the seed's examples 240, 50, 10 and 2 tokens/s (seed document 001).
_BORDERS = ((110.0, SpeedWord.INSTANT), (22.0, SpeedWord.COMFORTABLE), (4.5, SpeedWord.SLOW))


def speed_word(tokens_per_s_per_user: float) -> SpeedWord:
    """The word for a speed in tokens/s of one user: 240 instant, 50 comfortable, 10 visibly slow, 2 painful."""
    for border, word in _BORDERS:
        if tokens_per_s_per_user >= border:
            return word
    return SpeedWord.PAINFUL
