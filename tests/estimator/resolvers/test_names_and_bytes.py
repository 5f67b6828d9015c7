"""No model of the catalog has a name that says one format and bytes of another."""

import re

import pytest

from estimator.engine.memory.weight_parts import fold
from estimator.engine.memory.weights import rank_weights
from estimator.engine.specs import Parallelism
from estimator.question.plan import PlanRequest
from estimator.resolvers.resolve import resolve_plan
from estimator.validation import shipped

# Most bytes a parameter takes where the name says the format: values, scales, and what stays in 16 bits (attention and
# embedding of a Gemma 4 31B in NVFP4, whose file of 31 GiB has 1.04).
SAID = {"fp8": 1.2, "int8": 1.2, "nvfp4": 1.1, "fp4": 1.1, "mxfp4": 1.1, "awq": 1.1, "int4": 1.1, "gptq": 1.1}
WORD = re.compile(r"(?:^|[-_. ])(fp8|int8|nvfp4|mxfp4|fp4|awq|int4|gptq|bf16)(?:$|[-_. ])", re.IGNORECASE)
SLUGS = sorted(shipped.facts().slugs("model"))


def bytes_a_parameter(slug: str) -> tuple[str, float]:
    plan = resolve_plan(PlanRequest(model=slug, gpu="h100-sxm5-80gb"), shipped.facts())
    weights = rank_weights(fold(plan.model.architecture), plan.precision, Parallelism())
    tables = plan.model.architecture.lookup_parameters
    return plan.precision.weights, (weights.total_bytes - 2 * tables) / (plan.model.parameters.total - tables)


@pytest.mark.parametrize("slug", SLUGS)
def test_the_name_of_a_model_and_its_bytes_say_the_same(slug: str) -> None:
    row = shipped.facts().row("model", slug)
    words = {word.lower() for word in WORD.findall(f"{row['name']} {slug}")}
    name, each = bytes_a_parameter(slug)
    for word in words & set(SAID):
        assert each <= SAID[word], (word, name)
    if "bf16" in words:
        assert each == pytest.approx(2.0, rel=0.01)
    if not words and name in ("bf16", "fp16"):
        assert each == pytest.approx(2.0, rel=0.01)


def test_names_that_say_a_format_are_in_the_catalog() -> None:
    assert sum(bool(WORD.search(slug)) for slug in SLUGS) >= 20
