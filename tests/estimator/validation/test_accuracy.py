"""Errors by hand, and the bar that the product promises on its shipped rows."""

import dataclasses
import json
from functools import cache

import pytest
from django.core.management import call_command

from estimator.validation.accuracy import accuracy
from estimator.validation.predictions import Prediction, predict
from estimator.validation.rows import read_measurements, used
from estimator.validation.table import as_csv, as_json, build_table
from estimator.validation.text import as_text


@cache
def table():
    return build_table()


def core(group):
    section = next(section for section in table().sections if section.key == "core")
    return next(row for row in section.rows if row.group == group)


def prediction(expected, measured, roofline=1.0):
    row = dataclasses.replace(read_measurements()[0], value=measured)
    return Prediction(
        row=row,
        expected=expected,
        roofline=roofline,
        saturated=False,
        beats_ceiling=False,
        model_class="dense",
        doubts=(),
    )


def test_errors_are_relative_to_what_was_measured():
    figures = accuracy("x", [prediction(108, 100), prediction(60, 100), prediction(100, 100), prediction(132, 100)])
    assert figures.rows == 4
    assert figures.median == pytest.approx(0.2)
    assert figures.mean == pytest.approx(0.2)
    assert figures.bias == pytest.approx(0.04)
    assert figures.within == (0.5, 0.5, 1.0)
    assert figures.roofline_median == pytest.approx(0.99)


def test_no_rows_give_no_figures():
    with pytest.raises(ValueError, match="no rows"):
        accuracy("x", [])


BAR = [
    ("max throughput", 0.08),
    ("TPOT", 0.11),
    ("TTFT", 0.22),
    ("static batch", 0.12),
    ("single stream (llama.cpp)", 0.085),
]


@pytest.mark.parametrize(("group", "most"), BAR)
def test_the_median_error_on_core_rows_keeps_the_bar(group, most):
    assert core(group).median <= most


@pytest.mark.parametrize("group", ["max throughput", "TPOT", "TTFT", "static batch"])
def test_the_calibrated_figure_beats_the_plain_roofline_threefold(group):
    assert core(group).median * 3 < core(group).roofline_median


def test_no_row_is_expected_to_be_faster_than_its_ceiling():
    predictions, _ = predict(used(read_measurements()))
    assert len(predictions) == 4127
    assert [p.row.id for p in predictions if p.beats_ceiling] == []


def test_every_form_holds_the_same_figures():
    row = core("TPOT")
    loaded = json.loads(as_json(table()))
    section = next(s for s in loaded["sections"] if s["key"] == "core")
    assert next(r for r in section["rows"] if r["group"] == "TPOT")["median"] == row.median
    assert f"core,TPOT,{row.rows},{row.median:.4f}" in as_csv(table())
    assert f"{100 * row.median:.1f}" in next(line for line in as_text(table()).splitlines() if line.startswith("TPOT "))


def test_the_command_prints_json(capsys):
    call_command("validate", format="json")
    assert json.loads(capsys.readouterr().out)["core_rows"] == 1221
