"""CPU of filling an empty catalog, against parsing its YAML files in the same run."""

from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.db import transaction

from catalog.data_files import DATA_DIR
from tests.bench.cpu_time import least_cpu_s

pytestmark = [pytest.mark.bench, pytest.mark.django_db]
# About a third above what was measured on 2026-11-30, when loading began to compare prices with public lists.
LIMIT = {False: 2.1, True: 7.5}


@pytest.mark.parametrize("with_package", [False, True], ids=["own files", "with genai-prices"])
def test_filling_an_empty_catalog(with_package: bool) -> None:
    texts = [path.read_text() for path in sorted(Path(DATA_DIR).glob("*.yaml"))]

    def load() -> None:
        with transaction.atomic():
            call_command("load_catalog", without_genai_prices=not with_package, verbosity=0)
            transaction.set_rollback(True)

    load_s, parse_s = least_cpu_s(load, lambda: [yaml.safe_load(text) for text in texts], times=2, loops=1)
    print(f"\nload_catalog: {load_s:.1f} s of CPU, {load_s / parse_s:.2f} x parsing its YAML")  # noqa: T201
    assert load_s <= LIMIT[with_package] * parse_s
