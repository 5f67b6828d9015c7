"""Words for decode speeds as a reader feels them."""

from enum import StrEnum

from estimator.constants.bands import SPEED_WORDS


class SpeedWord(StrEnum):
    """How a stream of tokens feels to the person who reads it."""

    INSTANT = "instant"
    COMFORTABLE = "comfortable"
    SLOW = "visibly_slow"
    PAINFUL = "painful"


def speed_word(tokens_per_s_per_user: float) -> SpeedWord:
    """The word for a speed in tokens/s of one user: 240 instant, 50 comfortable, 10 visibly slow, 2 painful."""
    borders = (
        (SPEED_WORDS.instant_from, SpeedWord.INSTANT),
        (SPEED_WORDS.comfortable_from, SpeedWord.COMFORTABLE),
        (SPEED_WORDS.slow_from, SpeedWord.SLOW),
    )
    for border, word in borders:
        if tokens_per_s_per_user >= border:
            return word
    return SpeedWord.PAINFUL
