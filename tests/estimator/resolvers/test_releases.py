"""Releases of engines: each has the constants of its version, whatever was asked for before."""

import pytest

from estimator.resolvers import ResolutionError
from estimator.resolvers.engines import resolve_engine
from estimator.resolvers.facts import StoredFacts
from estimator.validation import shipped


def fresh() -> StoredFacts:
    return StoredFacts({"engine": {row["slug"]: row for row in _rows()}}, catalog_revision=1)


def _rows() -> list[dict]:
    known = shipped.facts()
    return [dict(known.row("engine", slug)) for slug in known.slugs("engine")]


@pytest.mark.parametrize("order", [("vllm-0.20.0", "vllm-0.25"), ("vllm-0.25", "vllm-0.20.0")])
def test_a_release_leaves_its_profile_as_it_is(order: tuple[str, str]) -> None:
    facts = fresh()
    printed = {name: resolve_engine(name, facts).memory.printed_tokens for name in order}
    assert printed == {"vllm-0.20.0": "blocks", "vllm-0.25": "concurrency"}


def test_a_patched_engine_holds_no_release() -> None:
    facts = fresh()
    assert resolve_engine("vllm-0.9.2", facts).slug == "vllm-0.11"
    with pytest.raises(ResolutionError):
        resolve_engine("vllm-0.8.5", facts)
