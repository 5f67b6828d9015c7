"""Every shipped model is read to its exact parameter counts and cache figures; the oracle's files too."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from estimator.engine.reading.reader import read_config
from estimator.validation.architectures import ON_PURPOSE, Answer, compare, document, figures_of, read_answers
from tests.shared_data import shared_dir

ROOT = Path(__file__).parents[3]


def shipped_models() -> dict[str, dict[str, Any]]:
    with (ROOT / "catalog/data/models.yaml").open(encoding="utf-8") as stream:
        content = yaml.load(stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return {entry["slug"]: entry for entry in content["models"]}


MODELS = shipped_models()


@pytest.mark.parametrize("answer", read_answers(), ids=lambda answer: answer.slug)
def test_shipped_model_is_read_exactly(answer: Answer) -> None:
    assert not compare(answer, read_config(MODELS[answer.slug]["config"])).wrong


def test_nothing_of_trust_a_or_b_differs_on_purpose() -> None:
    assert not [answer.slug for answer in read_answers() if answer.trust in "AB" and answer.slug in ON_PURPOSE]


def test_at_least_eighty_models_with_hash_and_source() -> None:
    assert len(MODELS) >= 80
    assert all(len(entry["config_sha256"]) == 64 and entry["source"] for entry in MODELS.values())


def test_every_oracle_row_is_read_exactly() -> None:
    folder = shared_dir()
    by_source = {entry["source"].split()[2]: slug for slug, entry in MODELS.items()}
    with (folder / "data/model_oracle.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["total_params"]]
    wrong = {}
    for row in rows:
        name = row["model"].replace("/", "__", 1)
        config = json.loads((folder / f"data/configs/{name}.json").read_text(encoding="utf-8"))
        purposely = ON_PURPOSE.get(by_source.get(row["model"], ""), ((), ""))[0]
        read = figures_of(read_config(config))
        differs = {
            key: (value, row[key])
            for key, value in read.items()
            if int(row[key] or 0) != value and key not in purposely
        }
        if differs:
            wrong[row["model"]] = differs
    assert len(rows) > 150
    assert not wrong


def test_the_document_of_differences_is_current() -> None:
    assert (ROOT / "docs/architectures.md").read_text(encoding="utf-8") == document()
