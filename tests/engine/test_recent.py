"""Values kept beside what they were made of."""

import pytest

from estimator.engine.recent import Recent


def test_a_value_is_made_once_and_the_oldest_goes_first():
    made = []
    recent = Recent(most=2)
    for key in ("a", "b", "a", "c", "a", "b"):
        assert recent.of(key, lambda key=key: made.append(key) or key.upper()) == key.upper()
    # "b" was asked for longest ago when "c" came.
    assert made == ["a", "b", "c", "b"]
    assert len(recent) == 2


def test_what_raises_is_not_kept_and_none_is_a_value():
    recent = Recent()
    with pytest.raises(ZeroDivisionError):
        recent.of("a", lambda: 1 / 0)
    assert recent.of("a", lambda: None) is None
    assert recent.of("a", lambda: 1 / 0) is None
