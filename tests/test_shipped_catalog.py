"""The shortcut of tests gives what the command gives."""

import pytest
from django.apps import apps
from django.core.management import call_command

from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db


def test_after_the_shortcut_the_command_has_nothing_to_do(capsys):
    load_shipped_catalog(with_genai_prices=False)
    call_command("load_catalog", "--without-genai-prices")
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) >= 4
    assert [line for line in printed if " 0 to add" not in line] == []


def test_every_row_is_there():
    load_shipped_catalog()
    assert apps.get_model("catalog", "Gpu").objects.count() >= 81
    assert apps.get_model("catalog", "LanguageModel").objects.count() >= 30
