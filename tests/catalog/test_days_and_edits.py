"""No day of a source is that of an installation, and a figure edited by hand cites the person who edited it."""

import datetime
import re
from dataclasses import replace
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.urls import reverse

from catalog.models import ApiPrice, CachePolicy, Gpu, LanguageModel, PriceList, Provider
from catalog.peak_hours import peak_hours
from catalog.price_facts import policy_facts, price_facts
from catalog.price_rows import StatedPrice
from catalog.services import price_sources
from catalog.services.model_import import import_model
from catalog.services.people import save_by_person
from catalog.services.price_import import Source, apply_import, plan_import
from catalog.services.prices import change_price, close_price
from catalog.snapshot import gpu_facts, model_facts
from tests.catalog.factories import GpuFactory
from tests.shipped_catalog import load_shipped_catalog

ROOT = Path(__file__).parents[2]
RELEASED = datetime.date(2026, 11, 10)


def test_the_locked_version_of_the_price_package_has_its_day_of_release():
    version = re.search(r"^genai-prices==(\S+)", (ROOT / "requirements/base.txt").read_text(), re.M)[1]
    assert price_sources.published_on("genai-prices", version) is not None


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada")


@pytest.mark.django_db
def test_no_row_of_the_shipped_catalog_says_it_was_seen_on_the_day_of_the_load():
    load_shipped_catalog()
    package = ApiPrice.objects.filter(price_list__source="genai-prices")
    assert package.count() > 7000
    # Rows that a dated rule of ours makes of the package's bear the day that the rule was read.
    ruled = {rule.source_date for rule in peak_hours()}
    assert RELEASED in set(package.values_list("date_seen", flat=True)) <= {RELEASED} | ruled
    assert set(PriceList.objects.filter(source="genai-prices").values_list("retrieved_on", flat=True)) == {RELEASED}
    sellers = Provider.objects.filter(source__startswith="genai-prices")
    assert set(sellers.values_list("source_date", flat=True)) == {RELEASED}


@pytest.mark.django_db
def test_a_version_of_no_known_day_is_loaded_without_one_and_says_so(monkeypatch):
    monkeypatch.setattr(price_sources, "published_on", lambda package, version: None)
    plan = price_sources.plan_genai_prices()
    apply_import(replace(plan, add=plan.add[:3]))
    assert set(ApiPrice.objects.values_list("date_seen", flat=True)) == {None}
    assert "not known when this version was published" in PriceList.objects.get().notes


INPUT = StatedPrice(provider="acme", model="m", meter="input", unit="mtok", amount=Decimal(3))


@pytest.mark.django_db
def test_a_source_of_no_known_day_ends_no_price():
    dated = Source(slug="s-1", name="s", source="s", version="1", sha256="a" * 64, retrieved_on=RELEASED)
    apply_import(plan_import(dated, [INPUT]))
    plan = plan_import(replace(dated, slug="s-2", retrieved_on=None), [replace(INPUT, amount=Decimal(2))])
    assert not plan.writes
    assert "nobody knows since when" in plan.left[0].reason


@pytest.mark.django_db
def test_a_figure_edited_by_hand_cites_who_when_and_why_in_facts_admin_api_and_answers(client, ada, settings):
    settings.AFORO_ALLOW_ANONYMOUS = True
    load_shipped_catalog(with_genai_prices=False)
    gpu = Gpu.objects.get(slug="h100-sxm5-80gb")
    old = gpu.sources.get("memory_bandwidth_bytes_per_s", gpu.sources.get("*"))["source"]
    gpu.memory_bandwidth_bytes_per_s = 3.0e12
    save_by_person(gpu, user=ada, reason="measured on our nodes")
    day = Gpu.objects.get(pk=gpu.pk).updated_at.date().isoformat()
    words = f"edited by ada, {day}: measured on our nodes"
    facts = gpu_facts("h100-sxm5-80gb")
    assert facts["sources"]["memory_bandwidth_bytes_per_s"]["source"] == words
    shown = client.get("/api/v1/gpus/h100-sxm5-80gb/").json()
    assert shown["edits"] == {
        "memory_bandwidth_bytes_per_s": {"by": "ada", "date": day, "reason": "measured on our nodes"}
    }
    answer = client.post(
        "/api/v1/estimates/throughput/",
        {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "workload": {"input_tokens": 1000, "output_tokens": 100}},
        "application/json",
    ).json()
    cited = {each["what"]: each for each in answer["provenance"]}["gpu.memory_bandwidth_bytes_per_s"]
    assert (cited["source"], cited["date"]) == (words, day)
    assert old not in cited["source"]
    ada.is_staff = ada.is_superuser = True
    ada.save()
    client.force_login(ada)
    page = client.get(reverse("admin:catalog_gpu_change", args=[gpu.pk])).content.decode()
    assert words in page


@pytest.mark.django_db
def test_a_peak_that_was_edited_leaves_the_sources_of_other_formats(ada):
    gpu = GpuFactory(peak_fp8_flops_per_s=2e15, sources={"peak_flops_per_s": {"source": "the sheet"}})
    gpu.peak_fp8_flops_per_s = 1.9e15
    save_by_person(gpu, user=ada)
    sources = gpu_facts(gpu.slug)["sources"]
    assert sources["peak_flops_per_s.fp8"]["source"].startswith("edited by ada")
    assert sources["peak_flops_per_s"] == {"source": "the sheet"}


@pytest.mark.django_db
def test_a_source_given_with_the_figure_is_cited_beside_the_person(ada):
    gpu = GpuFactory(tdp_w=300)
    gpu.tdp_w, gpu.sources = 350, {"*": {"source": "made for a test"}, "tdp_w": {"source": "the sheet of 2027"}}
    save_by_person(gpu, user=ada)
    assert gpu_facts(gpu.slug)["sources"]["tdp_w"]["source"].endswith("; source: the sheet of 2027")


@pytest.mark.django_db
def test_a_policy_edited_by_hand_no_longer_cites_its_page(ada):
    load_shipped_catalog(with_genai_prices=False)
    policy = CachePolicy.objects.exclude(source="").first()
    old = policy.source
    policy.min_tokens += 1
    save_by_person(policy, user=ada, reason="as our contract says")
    facts = policy_facts(CachePolicy.objects.get(pk=policy.pk))
    assert facts["source"].startswith("edited by ada")
    assert "(min_tokens): as our contract says" in facts["source"]
    assert facts["source_url"] == ""
    assert facts["source_of_the_rest"] == old
    policy.notes = "only words"
    assert CachePolicy.objects.get(pk=policy.pk).edits.keys() == {"min_tokens"}


@pytest.mark.django_db
def test_a_price_changed_by_hand_cites_the_person_and_an_ended_one_keeps_its_source(ada):
    load_shipped_catalog(with_genai_prices=False)
    row = ApiPrice.objects.filter(effective_to=None, effective_from=None).first()
    changed = change_price(
        row, amount=Decimal(1), effective_from=datetime.date(2027, 1, 1), user=ada, reason="contract"
    )
    facts = {each["id"]: each for each in price_facts(row.slug)["rows"]}
    assert facts[changed.pk]["source"].startswith("edited by ada")
    assert facts[changed.pk]["source"].endswith(": contract")
    assert facts[changed.pk]["source_url"] == ""
    assert facts[row.pk]["source"] == row.source
    close_price(changed, on=datetime.date(2028, 1, 1), user=ada, reason="contract ends")
    assert ApiPrice.objects.get(pk=changed.pk).edits["effective_to"]["reason"] == "contract ends"


@pytest.mark.django_db
def test_a_config_pasted_over_a_model_does_not_keep_the_old_source(ada):
    load_shipped_catalog(with_genai_prices=False)
    model = LanguageModel.objects.get(slug="llama-3.1-8b")
    import_model(model.config, name=model.name, slug=model.slug, user=ada, replace=True)
    assert "pasted by a person" in model_facts(model.slug)["source"]


@pytest.mark.django_db
def test_the_migration_dates_old_rows_by_the_release_and_notes_old_edits(ada):
    load_shipped_catalog()
    listed = PriceList.objects.get(source="genai-prices")
    clock = datetime.date(2026, 11, 29)
    PriceList.objects.filter(pk=listed.pk).update(retrieved_on=clock)
    mine = ApiPrice.objects.filter(price_list=listed).first()
    ApiPrice.objects.filter(price_list=listed).update(date_seen=clock)
    gpu = Gpu.objects.get(slug="t4")
    gpu.tdp_w = 71
    save_by_person(gpu, user=ada, reason="read off the card")
    Gpu.objects.filter(pk=gpu.pk).update(edits={})
    import_module("catalog.migrations.0009_old_edits_and_days").forwards(apps, None)
    assert ApiPrice.objects.get(pk=mine.pk).date_seen == RELEASED
    assert not ApiPrice.objects.filter(date_seen=clock, price_list=listed).exists()
    edit = Gpu.objects.get(pk=gpu.pk).edits["tdp_w"]
    assert (edit["by"], edit["reason"]) == ("ada", "read off the card")


def test_no_importer_or_loader_looks_at_the_clock_for_a_day():
    """`timezone.now` may stamp what is written; a calendar day that a row keeps comes from data."""
    folders = ("catalog/importers", "catalog/services", "catalog/management/commands", "catalog")
    files = [path for folder in folders for path in (ROOT / folder).glob("*.py")]
    clock = re.compile(r"localdate|localtime|date\.today|now\(\)\.date|utcnow")
    found = {path.name for path in files if clock.search(path.read_text())}
    # The day of an edit; the day whose prices are compared with public lists, and the day by which figures are old:
    # these no row keeps.
    assert found == {"edits.py", "cross_check.py", "review.py"}
