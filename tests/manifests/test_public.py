"""Public manifests: at least 36 of 40 are read whole; which are not, and why, is printed."""

from pathlib import Path

import pytest
import yaml

from estimator.resolvers.live import current_facts
from manifests.asking import question_of
from manifests.reading.recognise import read_manifest
from manifests.reading.words import ManifestError

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
PUBLIC = yaml.safe_load((Path(__file__).parents[1] / "fixtures/manifests/public.yaml").read_text())
# The catalog holds not every model; a model's name must be read whether it does or not.
NOT_IN_CATALOG = "The catalog has no model"


def faults(entry):
    """Why a manifest is not read whole; empty where it is."""
    try:
        starts = read_manifest(entry["text"])
    except ManifestError as error:
        return [error.reason]
    reading = question_of(starts[0], current_facts())
    found = [f"{field}: {reading.at(field)!r}, a person reads {value!r}" for field, value in entry["expect"].items()
             if reading.at(field) != value]  # fmt: skip
    found += [f"{one.flag} (line {one.line}) is unknown" for one in reading.unknown]
    found += [note for note in reading.notes if "could not be read" in note]
    named = [one.detail for one in reading.missing if one.field == "model"]
    return found + [detail for detail in named if not detail.startswith(NOT_IN_CATALOG)]


def test_at_least_36_of_40_public_manifests_are_read_whole():
    found = {entry["source"]: faults(entry) for entry in PUBLIC}
    for source, reasons in found.items():
        if reasons:
            print(f"not whole: {source}: {'; '.join(reasons)}")  # noqa: T201  the test says which and why
    whole = sum(not reasons for reasons in found.values())
    print(f"{whole} of {len(found)} read whole")  # noqa: T201
    assert len(found) >= 40
    assert whole >= 0.9 * len(found)


def test_they_are_of_every_format_and_engine_and_each_names_its_source_and_date():
    starts = [read_manifest(entry["text"])[0] for entry in PUBLIC]
    assert {one.kind for one in starts} == {"command", "compose", "kubernetes", "kserve", "llm-d"}
    assert {one.engine for one in starts} == {"vllm", "sglang", "tensorrt-llm", "llama.cpp"}
    for entry in PUBLIC:
        assert "/" in entry["source"]
        assert " at " in entry["source"]
        assert entry["date"]
        assert "expect" in entry


def test_every_line_named_holds_what_was_read_there():
    for entry in PUBLIC:
        lines = entry["text"].split("\n")
        for start in read_manifest(entry["text"]):
            for flag in [word for word in start.words if word.text.startswith("--")]:
                around = "\n".join(lines[max(flag.line - 2, 0) : flag.line + 3])
                assert flag.text.split("=")[0] in around, (entry["source"], flag)
