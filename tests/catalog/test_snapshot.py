"""Facts: one small query per request, kept per revision, fresh after a write, and safe from their users."""

import copy
import json

import orjson
import pytest

from catalog import snapshot
from tests.catalog.factories import EngineProfileFactory, GpuFactory, LanguageModelFactory

pytestmark = pytest.mark.django_db


def test_reading_known_facts_again_costs_the_read_of_the_revision_and_nothing_else(django_assert_num_queries):
    GpuFactory(slug="h100")
    snapshot.gpu_facts("h100")
    with django_assert_num_queries(1):
        facts = snapshot.current()
        facts.gpu("h100")
        facts.gpu("h100")
        assert "h100" in facts.names("gpu")


def test_an_edit_is_seen_by_the_next_request():
    gpu = GpuFactory(slug="h100")
    assert snapshot.gpu_facts("h100")["memory_bandwidth_bytes_per_s"] == 3.35e12
    gpu.memory_bandwidth_bytes_per_s = 4.8e12
    gpu.save()
    assert snapshot.gpu_facts("h100")["memory_bandwidth_bytes_per_s"] == 4.8e12


def test_an_unknown_slug_is_an_error_with_its_kind():
    with pytest.raises(snapshot.UnknownSlugError) as refused:
        snapshot.gpu_facts("h1000")
    assert (refused.value.kind, refused.value.slug) == ("gpu", "h1000")


def test_an_alias_means_its_profile():
    EngineProfileFactory(slug="vllm-0.19", aliases=["vllm"])
    assert snapshot.engine_facts("vllm")["slug"] == "vllm-0.19"
    assert snapshot.engine_facts("vllm") is snapshot.engine_facts("vllm-0.19")


def test_facts_cannot_be_changed_by_those_who_share_them():
    GpuFactory(slug="h100")
    facts = snapshot.gpu_facts("h100")
    with pytest.raises(TypeError):
        facts["memory_bandwidth_bytes_per_s"] = 1
    with pytest.raises(TypeError):
        facts["peak_flops_per_s"]["bf16"] = 1
    copied = copy.deepcopy(facts)
    copied["peak_flops_per_s"]["bf16"] = 1
    assert facts["peak_flops_per_s"]["bf16"] == 989.4e12


def test_facts_are_json_and_their_hash_depends_on_content_alone():
    GpuFactory(slug="h100")
    facts = snapshot.gpu_facts("h100")
    stored = json.loads(json.dumps(facts))
    assert orjson.loads(orjson.dumps(facts)) == stored
    assert snapshot.sha256_of(facts) == snapshot.sha256_of(dict(reversed(stored.items())))
    assert snapshot.sha256_of(facts) != snapshot.sha256_of(stored | {"notes": "another"})


def test_facts_of_a_model_name_its_checkpoints_with_their_source():
    model = LanguageModelFactory(slug="llama")
    model.checkpoints.create(precision="fp8", stored_weight_bytes=9_081_000_000, source="index file")
    (checkpoint,) = snapshot.model_facts("llama")["checkpoints"]
    assert checkpoint["precision"] == "fp8"
    assert checkpoint["stored_weight_bytes"] == 9_081_000_000
    assert checkpoint["source"] == "index file"


def test_a_value_derived_from_facts_is_built_once_per_revision():
    gpu = GpuFactory(slug="h100")
    built = []

    def build():
        built.append(1)
        return "spec"

    assert snapshot.current().derived(("gpu", "h100"), build) == "spec"
    assert snapshot.current().derived(("gpu", "h100"), build) == "spec"
    assert len(built) == 1
    gpu.save()
    snapshot.current().derived(("gpu", "h100"), build)
    assert len(built) == 2


def test_another_module_can_add_a_kind_of_facts():
    snapshot.register("colour", lambda slug: {"slug": slug}, lambda: {"red": "red"})
    assert snapshot.current().get("colour", "red") == {"slug": "red"}
