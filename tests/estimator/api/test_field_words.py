"""Words of the field: an unknown one is answered with the field that it means."""

import csv
from pathlib import Path

import orjson
import pytest

from estimator.api import field_words
from estimator.api.parsing import parse_body
from estimator.engine.faults import ResolutionError
from estimator.estimates.sizing.answer import SizingRequest
from estimator.estimates.verdict.answer import VerdictRequest

ROWS = list(csv.DictReader((Path(field_words.__file__).parent / "field_words.csv").open(encoding="utf-8")))
PLAN = {"model": "llama-3.1-8b", "gpu": "l4", "workload": {"input_tokens": 1, "output_tokens": 1}}


def near(word, model=VerdictRequest, body=PLAN):
    """What an unknown word at the root is answered with; None where the word is a field there."""
    with pytest.raises(ResolutionError) as refused:
        parse_body(model, orjson.dumps(body | {word: 1}))
    (issue,) = [one for one in refused.value.faults if one.path == (word,)]
    assert issue.code == "unknown_field"
    assert not issue.near or issue.near[0] in issue.detail
    return issue.near


def test_at_least_95_of_100_words_get_the_right_field():
    assert len(ROWS) >= 100
    found = {row["word"]: near(row["word"]) for row in ROWS}
    first = {row["word"]: tuple(row["fields"].split()[:1]) for row in ROWS}
    wrong = {word: given for word, given in found.items() if given[:1] != first[word]}
    for word, given in wrong.items():
        print(f"{word}: {given}")  # noqa: T201  the test says which
    assert len(ROWS) - len(wrong) >= 0.95 * len(ROWS)


def test_every_field_of_the_list_is_one_of_a_request():
    known = {*field_words._fields(VerdictRequest), *field_words._fields(SizingRequest)}
    assert {field for row in ROWS for field in row["fields"].split()} <= known
    assert all(row["source"] for row in ROWS)


def test_a_word_that_no_field_holds_gets_no_guess():
    assert near("--n-gpu-layers") == near("n_gpu_layers") == ()


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("--tensor-parallel-size", "parallelism.tp"),
        ("tensorParallelSize", "parallelism.tp"),
        ("ISL", "workload.input_tokens"),
        ("input_token", "workload.input_tokens"),
        ("kv_cache", "precision.kv_cache"),
        ("price_per_gpu_hours", "price_per_gpu_hour"),
    ],
)
def test_spellings_and_fields_at_another_place(word, field):
    assert near(word)[0] == field


def test_a_word_means_the_field_of_the_request_it_is_sent_to():
    body = {"model": "llama-3.1-8b", "demand": {"concurrency": 1}, "workload": {"input_tokens": 1, "output_tokens": 1}}
    assert near("tensor_parallel_size", SizingRequest, body)[0] == "candidates.tp"


def test_a_word_that_means_nothing_has_no_hint():
    assert near("zzzzqqqq") == ()
    assert near("☃") == ()
