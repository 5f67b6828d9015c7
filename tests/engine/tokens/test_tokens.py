"""Words to tokens, by hand and against the lecture notes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.engine.errors import InvalidInputError
from estimator.engine.tokens.count import count_tokens, count_units, rule_for, window_fit
from estimator.engine.tokens.rules import TOKEN_RULES


def test_s28_900_english_words_are_1200_tokens_and_leave_5992_of_8192():
    count = count_tokens(900, TOKEN_RULES["en"])
    fit = window_fit(count.tokens, 1000, 8192)
    assert (count.tokens, fit.total_tokens, fit.fits, fit.remaining_tokens) == (1200, 2200, True, 5992)


def test_s41_spanish_needs_more_tokens_than_english_for_the_same_words():
    for words in (2, 10, 900, 3000):
        assert count_tokens(words, TOKEN_RULES["es"]).tokens > count_tokens(words, TOKEN_RULES["en"]).tokens


def test_s45_a_prompt_of_8000_leaves_192_of_8192():
    assert window_fit(8000, 0, 8192).remaining_tokens == 192


def test_the_window_is_met_exactly_and_missed_by_one():
    assert window_fit(8000, 192, 8192).fits
    over = window_fit(8000, 193, 8192)
    assert (over.fits, over.remaining_tokens) == (False, -1)


def test_whole_products_are_not_rounded_up_by_float_noise():
    # 3 words are 4 tokens exactly; 3 · (4/3) may come out a hair above.
    assert [count_tokens(3 * n, TOKEN_RULES["en"]).tokens for n in range(200)] == [4 * n for n in range(200)]


def test_no_words_are_no_tokens_and_one_word_is_two():
    assert count_tokens(0, TOKEN_RULES["en"]).tokens == 0
    assert count_tokens(1, TOKEN_RULES["en"]).tokens == 2


def test_fewer_than_no_words_are_refused():
    with pytest.raises(InvalidInputError):
        count_tokens(-1, TOKEN_RULES["en"])


@given(st.integers(0, 10**6), st.sampled_from(sorted(TOKEN_RULES)))
def test_the_rule_lies_within_its_span(units, language):
    count = count_tokens(units, TOKEN_RULES[language])
    assert count.tokens_low <= count.tokens <= count.tokens_high


def test_spanish_follows_from_the_measured_counts():
    # median of 1.549 1.282 1.369 1.807 1.537 1.366 = 1.453; of English 1.172; 4/3 · 1.453 / 1.172 = 1.653
    rule = TOKEN_RULES["es"]
    assert rule.per_unit == pytest.approx(1.65)
    assert rule.per_unit_low == pytest.approx(1.28)
    assert rule.per_unit_high == pytest.approx(2.06)


def test_a_regional_tag_takes_the_rule_of_its_language():
    assert rule_for("es-MX", TOKEN_RULES) is TOKEN_RULES["es"]
    assert rule_for("pt_BR", TOKEN_RULES) is TOKEN_RULES["pt"]
    assert rule_for("tlh", TOKEN_RULES) is None


def test_words_are_runs_between_spaces_and_chinese_is_counted_by_character():
    assert count_units("  dos\npalabras\t", TOKEN_RULES["es"]) == 2
    assert count_units("你好 世界", TOKEN_RULES["zh"]) == 4
    assert count_units("", TOKEN_RULES["en"]) == 0
