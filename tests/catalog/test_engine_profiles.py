"""Constants of an engine profile are checked by building what the engine builds."""

import pytest
from django.core.exceptions import ValidationError

from catalog.engine_constants import engine_profile
from tests.catalog.factories import EngineProfileFactory

pytestmark = pytest.mark.django_db


def test_an_unknown_constant_is_refused_with_the_nearest_known_one():
    profile = EngineProfileFactory.build(speed_constants={"step_seconds": 0.001})
    with pytest.raises(ValidationError, match="step_s") as refused:
        profile.clean()
    assert "speed_constants" in refused.value.message_dict


@pytest.mark.parametrize("value", [0.0, 1.5, float("nan"), float("inf"), "fast"])
def test_a_constant_out_of_range_is_refused(value):
    with pytest.raises(ValidationError) as refused:
        EngineProfileFactory.build(speed_constants={"bandwidth_factor": value}).clean()
    assert "speed_constants" in refused.value.message_dict


def test_an_alias_of_another_profile_is_refused_by_name():
    EngineProfileFactory(slug="vllm-0.19", aliases=["vllm"])
    with pytest.raises(ValidationError, match=r"vllm already means vllm-0\.19"):
        EngineProfileFactory.build(slug="vllm-0.20", aliases=["vllm"]).clean()


def test_a_slug_that_is_an_alias_of_another_profile_is_refused():
    EngineProfileFactory(slug="vllm-0.19", aliases=["vllm"])
    with pytest.raises(ValidationError, match="already means"):
        EngineProfileFactory.build(slug="vllm").clean()


@pytest.mark.parametrize(
    ("field", "name", "value", "said"),
    [
        ("speed_constants", "step_s", -1.0, "step_s must be at least 0 and at most 1e+15"),
        ("speed_constants", "unshared_kv_reads", 1.5, "unshared_kv_reads must be at least 0 and at most 1"),
        ("speed_constants", "kernel_time_scale", "fast", "kernel_time_scale must be a number"),
        ("speed_constants", "step_s", True, "step_s must be a number"),
        ("speed_constants", "fp8_prefill_attention", 1, "fp8_prefill_attention must be true or false"),
        ("memory_policy", "max_num_seqs", 1024.5, "max_num_seqs must be a whole number"),
        ("memory_policy", "runtime_overhead_pp_bytes", "0", "runtime_overhead_pp_bytes must be a whole number or null"),
        ("memory_policy", "small_families", "ampere", "small_families must be a list"),
        ("memory_policy", "basis", "measured", "basis must be one of calibrated, assumption"),
    ],
)
def test_a_constant_of_another_type_or_sign_is_refused_in_words(field, name, value, said):
    with pytest.raises(ValidationError) as refused:
        EngineProfileFactory.build(**{field: {name: value}}).clean()
    assert refused.value.message_dict == {field: [said]}


def test_a_step_of_no_time_and_no_pipeline_overhead_are_constants():
    EngineProfileFactory.build(speed_constants={"step_s": 0}, memory_policy={"runtime_overhead_pp_bytes": None}).clean()


def test_constants_that_a_release_took_away_are_passed_over_in_stored_profiles():
    stored = EngineProfileFactory.build(slug="vllm-0.19")
    facts = {"slug": "x", "engine": "vllm", "kind": "serving", "memory_policy": stored.memory_policy}
    now = dict(stored.speed_constants)
    before = engine_profile(facts | {"speed_constants": now | {"ttft0_s": 0.02, "first_token_steps": 4.5}})
    assert before.serving == engine_profile(facts | {"speed_constants": now}).serving
