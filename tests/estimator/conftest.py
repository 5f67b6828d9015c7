"""The product's own catalog, loaded once a module and rolled back after it."""

from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import transaction


@pytest.fixture(scope="module")
def loaded_catalog(django_db_setup, django_db_blocker) -> Iterator[None]:
    """Rows of catalog/data for every test of the module; each test's own writes are undone as usual."""
    with django_db_blocker.unblock(), transaction.atomic():
        call_command("load_catalog", without_genai_prices=True, verbosity=0, stdout=StringIO())
        yield
        transaction.set_rollback(True)
