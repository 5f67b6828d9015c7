"""An architecture survives being stored as JSON."""

import json

import pytest

from estimator.engine.errors import InvalidInputError
from estimator.engine.model.serialise import from_dict, to_dict
from estimator.engine.reading.reader import read_config
from tests.engine.reading.test_exact_answers import MODELS


@pytest.mark.parametrize("slug", sorted(MODELS)[::4])
def test_stored_architecture_reads_back_equal(slug: str) -> None:
    architecture = read_config(MODELS[slug]["config"])
    assert from_dict(json.loads(json.dumps(to_dict(architecture)))) == architecture


@pytest.mark.parametrize("data", [{}, {"family": 3}, {"layer_groups": 5}, {"unknown": 1}])
def test_what_is_no_architecture_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        from_dict(data)
