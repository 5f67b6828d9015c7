"""Words for speeds and the time of an answer."""

import pytest

from estimator.engine.serving.load import answer_time_s
from estimator.engine.speed.words import speed_word


@pytest.mark.parametrize(
    ("speed", "word"), [(240, "instant"), (50, "comfortable"), (10, "visibly_slow"), (2, "painful")]
)
def test_the_seed_speeds_get_the_seed_words(speed, word):  # S48
    assert speed_word(speed) == word


def test_the_time_of_an_answer_counts_the_first_token_once():  # S31, S32
    assert answer_time_s(ttft_s=0.8, tpot_s=0.05, output_tokens=400) == pytest.approx(20.75, rel=1e-15)
    assert answer_time_s(ttft_s=0.5, tpot_s=0.03, output_tokens=201) == pytest.approx(6.5, rel=1e-15)
