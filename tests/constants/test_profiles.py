"""Constants of engine profiles: rows with evidence, every one read, none called calibrated without a measured row."""

import dataclasses

import pytest
import yaml

from catalog import data_files
from estimator.constants.profiles import is_judged, profile_constants, profile_slugs, unstated
from estimator.constants.rows import Basis as RowBasis
from estimator.engine.specs import LlamaCppConstants, Parallelism, Precision, ServingConstants
from estimator.engine.speed.prepared import Basis, Key, prepare
from estimator.validation import shipped
from estimator.validation.rows import read_measurements, used

ENTRIES = yaml.safe_load((data_files.DATA_DIR / "engines.yaml").read_text(encoding="utf-8"))["engines"]
RECORDS = {record.slug: record.values for record in data_files.engines().records}


def key(slug, gpu="h100-sxm5-80gb", weights="bf16"):
    return Key(
        architecture=shipped.architecture("llama-3.1-8b"),
        gpu=shipped.gpu(gpu),
        engine=shipped.profile(slug),
        precision=Precision(weights=weights),
        parallelism=Parallelism(),
    )


def owner(slug):
    """The profile whose rows a profile takes its constants from."""
    return next(entry for entry in ENTRIES if entry["slug"] == slug).get("speed_constants_of", slug)


def test_the_rows_are_those_of_the_shipped_profiles():
    assert set(profile_slugs()) == {owner(slug) for slug in RECORDS}


@pytest.mark.parametrize("slug", sorted(RECORDS))
def test_a_shipped_profile_states_every_constant_of_its_kind(slug):
    stored = RECORDS[slug]["speed_constants"]
    profile = shipped.profile(slug)
    constants = profile.serving or profile.llama_cpp or profile.ideal
    assert dataclasses.asdict(constants) == stored
    for name, row in profile_constants(owner(slug)).items():
        assert stored[name] == row.value


@pytest.mark.parametrize("slug", sorted(slug for slug in RECORDS if RECORDS[slug]["kind"] != "ideal"))
def test_constants_of_an_engine_without_a_measured_row_are_judgement(slug):
    measured = {RECORDS[row.engine]["engine"] for row in used(read_measurements())}
    is_judgement = RECORDS[slug]["speed_constants"]["basis"] == "judgement"
    assert is_judgement == (RECORDS[slug]["engine"] not in measured or is_judged(owner(slug)))


@pytest.mark.parametrize("slug", sorted(profile_slugs()))
def test_a_fitted_constant_counts_no_more_rows_than_there_are(slug):
    rows = [row for row in used(read_measurements()) if row.engine == slug]
    fitted = [row for row in profile_constants(slug).values() if row.basis is RowBasis.FITTED]
    assert rows or not fitted
    assert all((row.n or 0) <= len(rows) for row in fitted)


@pytest.mark.parametrize("slug", sorted(slug for slug in RECORDS if RECORDS[slug]["kind"] != "ideal"))
def test_a_judged_profile_is_never_said_to_be_calibrated(slug):
    found = prepare(key(slug))
    judged = RECORDS[slug]["speed_constants"]["basis"] == "judgement"
    assert ("constants of the engine" in found.doubts) == judged
    assert not (judged and found.basis is Basis.CALIBRATED)


def test_a_profile_that_states_nothing_has_what_the_rows_say():
    assert ServingConstants().step_s == unstated("step_s") == 0.0005
    assert LlamaCppConstants() == shipped.profile("llama.cpp-b2800").llama_cpp


def test_every_constant_of_a_profile_is_read_by_some_formula(monkeypatch):
    read = set()

    def recording(self, name):
        read.add((id(self), name))
        return object.__getattribute__(self, name)

    keys = [key(slug) for slug in RECORDS]
    keys += [
        key(slug, gpu, weights)
        for slug in ("llama.cpp-b2800", "llama.cpp")
        for gpu in ("apple-m2-ultra", "rtx-4090")
        for weights in ("bf16", "q4_k_m")
    ]
    keys += [key("vllm-v0", "mi300x"), key("trtllm-bench")]
    keys += [dataclasses.replace(key("mlc"), parallelism=Parallelism(tp=2))]
    keys += [key(slug, "mi300x") for slug in ("vllm-0.19", "sglang-0.5")]
    keys += [key(slug, "a100-sxm4-80gb", "int4") for slug in ("vllm-v0", "vllm-v0-eager")]
    for cls in (ServingConstants, LlamaCppConstants):
        monkeypatch.setattr(cls, "__getattribute__", recording)
    for each in keys:
        prepare(each)
    for slug in profile_slugs():
        profile = shipped.profile(slug)
        if profile.ideal is None:
            constants = profile.serving or profile.llama_cpp
            unread = [name for name in profile_constants(slug) if (id(constants), name) not in read]
            assert unread == [], slug
