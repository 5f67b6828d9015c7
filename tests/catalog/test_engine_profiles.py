"""Constants of an engine profile are checked by building what the engine builds."""

import pytest
from django.core.exceptions import ValidationError

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
