"""Steps are written from the numbers they were computed with."""

from decimal import Decimal

import numpy as np
import pytest

from estimator.engine.errors import InvalidInputError
from estimator.engine.explain import Step, format_number, substitute


def test_a_worked_step_shows_each_number_in_the_place_of_its_name():
    step = Step.worked(
        name="kv_cache_bytes_per_token",
        formula="2 · layers · kv_heads · head_dim · kv_bytes",
        values={"layers": 32, "kv_heads": 8, "head_dim": 128, "kv_bytes": 2},
        value=131072,
        unit="bytes",
        source="config.json",
    )
    assert step.substituted == "2 · 32 · 8 · 128 · 2"
    assert step.value == 131072


def test_names_that_begin_with_another_name_keep_their_own_value():
    assert substitute(
        "ttft_s + (output_tokens − 1) · tpot_s", {"ttft_s": 0.8, "output_tokens": 400, "tpot_s": 0.05}
    ) == ("0.8 + (400 − 1) · 0.05")


def test_a_value_that_the_formula_does_not_use_is_refused():
    with pytest.raises(InvalidInputError, match="layers"):
        substitute("2 · heads", {"heads": 8, "layers": 32})


def test_a_name_without_a_value_is_refused():
    with pytest.raises(InvalidInputError, match="head_dim"):
        substitute("heads · head_dim", {"heads": 8})


def test_functions_stay_as_they_are():
    assert substitute("max(a, ceil(b))", {"a": 1, "b": 2.5}) == "max(1, ceil(2.5))"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (131072, "131072"),
        (3.35e12, "3350000000000"),
        (0.0005, "0.0005"),
        (1 / 3, "0.333333333333"),
        (989.4e15, "9.894e+17"),
        (Decimal("2.50"), "2.50"),
        (-3, "(−3)"),
        (np.float64(0.25), "0.25"),
        (np.int64(7), "7"),
    ],
)
def test_numbers_are_written_exactly_or_to_twelve_digits(value, text):
    assert format_number(value) == text


def test_an_infinite_value_is_refused():
    with pytest.raises(InvalidInputError):
        Step(name="x", formula="", substituted="", value=float("inf"), unit="1", source="")
