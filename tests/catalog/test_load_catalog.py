"""Loading the shipped data: a plan first, nothing twice, and nothing that a person edited."""

from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog import data_files
from catalog.data_files import DataFile, DataFileError, Record
from catalog.engine_constants import engine_profile
from catalog.models import EngineProfile, Gpu, Preset
from catalog.revisions import current_revision
from catalog.services import loading
from catalog.snapshot import engine_facts
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db


def load(*options: str) -> str:
    out = StringIO()
    call_command("load_catalog", "--without-genai-prices", *options, stdout=out)
    return out.getvalue()


def test_an_empty_catalog_is_filled_in_one_revision():
    with CaptureQueriesContext(connection) as statements:
        load()
    records = sum(model.objects.count() for model in apps.get_app_config("catalog").get_models())
    assert len(statements) < records / 2
    assert Gpu.objects.count() >= 81
    assert Preset.objects.count() == 5
    assert current_revision().number == 1


def test_a_second_load_changes_nothing():
    load_shipped_catalog(with_genai_prices=False)
    histories = Gpu.history.count()
    printed = load()
    assert "0 to add, 0 to change" in printed
    assert Gpu.history.count() == histories
    assert current_revision().number == 1


def test_a_dry_run_prints_the_difference_and_writes_nothing():
    load_shipped_catalog(with_genai_prices=False)
    Gpu.objects.filter(slug="t4").update(tdp_w=71, loaded_sha256="")
    printed = load("--dry-run")
    assert "~ t4" in printed
    assert "tdp_w: 71 -> 70" in printed
    assert Gpu.objects.get(slug="t4").tdp_w == 71


def test_a_row_edited_by_a_person_is_left_alone_and_named():
    load_shipped_catalog(with_genai_prices=False)
    Gpu.objects.filter(slug="t4").update(tdp_w=71, loaded_sha256="", edited_by_person=True)
    assert "= t4: edited by a person" in load()
    assert Gpu.objects.get(slug="t4").tdp_w == 71


def test_a_changed_file_updates_the_row_with_history_and_provenance():
    load_shipped_catalog(with_genai_prices=False)
    row = Gpu.objects.get(slug="t4")
    Gpu.objects.filter(pk=row.pk).update(tdp_w=71, loaded_sha256="")
    load()
    row.refresh_from_db()
    assert row.tdp_w == 70
    assert row.loaded_from == "gpus.yaml"
    assert len(row.loaded_sha256) == 64
    assert row.history.count() == 2
    assert "gpus.yaml" in row.history.first().history_change_reason


def test_a_record_that_breaks_a_rule_of_its_model_stops_the_load_by_name():
    good = data_files.gpus().records[0]
    bad = Record(slug=good.slug, values={**good.values, "memory_visible_bytes": good.values["memory_driver_bytes"] * 2})
    with pytest.raises(DataFileError, match=r"t4.*More than the driver shows"):
        loading.plan(Gpu, DataFile(name="gpus.yaml", version="1", records=(bad,)))


def test_a_field_that_does_not_exist_stops_the_load_by_name():
    record = Record(slug="x", values={"slug": "x", "colour": "red"})
    with pytest.raises(DataFileError, match="no such field: colour"):
        loading.plan(Gpu, DataFile(name="gpus.yaml", version="1", records=(record,)))


def test_every_engine_profile_builds_the_engine_s_own_dataclass():
    load_shipped_catalog(with_genai_prices=False)
    slugs = set(EngineProfile.objects.values_list("slug", flat=True))
    assert {"ideal", "vllm-0.19", "vllm-0.11", "vllm-v0", "sglang-0.5", "tensorrt-llm-1", "llama.cpp"} <= slugs
    for slug in slugs:
        assert engine_profile(engine_facts(slug)).slug == slug
    assert engine_facts("vllm")["slug"] == "vllm-0.33"
    assert engine_facts("tensorrt-llm")["slug"] == "tensorrt-llm-1"


def move_alias() -> str:
    """A catalog as an older release left it: the alias of the newest vLLM at an older profile. Returns the newest."""
    load_shipped_catalog(with_genai_prices=False)
    newest = EngineProfile.objects.get(slug=engine_facts("vllm")["slug"])
    EngineProfile.objects.filter(pk=newest.pk).delete()
    older = EngineProfile.objects.filter(slug__startswith="vllm").order_by("slug").first()
    assert older is not None
    EngineProfile.objects.filter(pk=older.pk).update(aliases=["vllm"], loaded_sha256="")
    return newest.slug


def test_an_alias_that_a_release_gives_to_a_newer_profile_moves_in_one_load():
    newest = move_alias()
    load()
    assert engine_facts("vllm")["slug"] == newest


def test_an_alias_of_a_profile_that_a_person_edited_stays_there_and_the_load_goes_on():
    newest = move_alias()
    EngineProfile.objects.filter(aliases=["vllm"]).update(edited_by_person=True)
    load()
    assert engine_facts("vllm")["slug"] != newest
    assert "vllm" not in EngineProfile.objects.get(slug=newest).aliases
    assert "engines.yaml (" in load()
