"""Figures with units, imports with every fault at once, a row as the start of another, and many rows together."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission
from tablib import Dataset

from catalog.admin.resources import GpuResource
from catalog.admin.units import exact_figure, read_figure
from catalog.models import EngineProfile, Gpu, GpuOffer
from catalog.services.people import save_by_person
from tests.catalog.admin_pages import address, errors_on, sent_by
from tests.catalog.factories import EngineProfileFactory, GpuFactory, LanguageModelFactory
from tests.catalog.test_admin import imported

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("ada", password="x" * 12))
    return client


@pytest.mark.parametrize(
    ("text", "kind", "figure"),
    [
        ("80 GB", "bytes", 80 * 10**9),
        ("79.2GiB", "bytes", Decimal("79.2") * 2**30), ("1,500 GB", "bytes", 15 * 10**11),
        ("85029615043", "bytes", 85_029_615_043), ("85,029,615,043 B", "bytes", 85_029_615_043),
        ("3.35 TB/s", "rate", Decimal("3.35e12")), ("900gb/s".upper(), "rate", 900 * 10**9),
        ("989.4 TFLOP/s", "flops", Decimal("989.4e12")), ("1 PFLOPS", "flops", 10**15),
        ("3.35e12", "rate", 3_350_000_000_000),
    ],
)  # fmt: skip
def test_figures_are_read_as_people_write_them(text, kind, figure):
    assert read_figure(text, kind) == figure


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("80", "bytes", "Say the unit"), ("80 Gb", "bytes", "small b is a bit"), ("80 GB/s", "bytes", "no unit GB/s"),
        ("80 GB", "rate", "no unit GB"), ("-80 GB", "bytes", "number and its unit"), ("NaN", "bytes", "number and its"),
        ("", "flops", "989 TFLOP/s"), ("1e999 GB", "bytes", "number and its unit"),
        ("1,5 GB", "bytes", "number and its unit"),
    ],
)  # fmt: skip
def test_what_is_no_figure_is_refused_in_words(text, kind, words):
    with pytest.raises(ValueError, match=words):
        read_figure(text, kind)


@pytest.mark.parametrize(
    ("figure", "kind", "text"),
    [
        (80 * 10**9, "bytes", "80 GB"), (81559 * 2**20, "bytes", "81559 MiB"),
        (85_029_615_043, "bytes", "85029615043 B"),
        (3.35e12, "rate", "3.35 TB/s"), (989.4e12, "flops", "989.4 TFLOP/s"), (96 * 2**30, "bytes", "96 GiB"),
        (0, "bytes", "0 B"),
    ],
)  # fmt: skip
def test_a_stored_figure_is_written_so_that_no_digit_is_lost(figure, kind, text):
    assert exact_figure(figure, kind) == text
    assert read_figure(text, kind) == Decimal(str(figure))


def test_a_form_shows_and_takes_units_and_the_source_beside_each_figure(admin):
    gpu = GpuFactory(sources={"memory_vendor_bytes": {"source": "the sheet", "date": "2026-01-02"}})
    page = admin.get(address(gpu))
    form = sent_by(page)
    assert (form["memory_vendor_bytes"], form["memory_bandwidth_bytes_per_s"]) == ("80 GB", "3.35 TB/s")
    assert "Source: the sheet, 2026-01-02." in page.content.decode()
    assert admin.post(address(gpu), form).status_code == 302
    gpu.refresh_from_db()
    assert (gpu.edits, gpu.memory_visible_bytes) == ({}, 85_029_615_043)
    form = sent_by(admin.get(address(gpu))) | {
        "memory_bandwidth_bytes_per_s": "4.8 TB/s", "source_of_change": "https://example.com/h200",
    }  # fmt: skip
    assert admin.post(address(gpu), form).status_code == 302
    gpu.refresh_from_db()
    assert gpu.memory_bandwidth_bytes_per_s == 4.8e12
    assert gpu.sources["memory_bandwidth_bytes_per_s"]["source"] == "https://example.com/h200"
    assert gpu.edits["memory_bandwidth_bytes_per_s"]["source"] == "https://example.com/h200"
    wrong = admin.post(address(gpu), sent_by(admin.get(address(gpu))) | {"memory_vendor_bytes": "80"})
    assert "Say the unit, such as 80 GB." in errors_on(wrong)


def test_every_fault_of_a_file_is_named_by_line_and_column_and_nothing_is_saved(admin):
    GpuFactory(slug="h100", tdp_w=700)
    GpuFactory(slug="h200", tdp_w=700)
    csv = (
        "slug,tdp_w,memory_vendor_bytes,confidence,memory_bandwidth\n"
        "h100,many,80 Gb,sure,1\nh200,650,141 GB,high,1\nh200,600,141 GB,high,1\n"
    )
    page = imported(admin, "gpu", csv, confirm=False)
    found = {(fault.line, fault.column): fault for fault in page.context["faults"]}
    assert set(found) == {
        (1, "memory_bandwidth"), (2, "tdp_w"), (2, "memory_vendor_bytes"), (2, "confidence"), (4, "slug"),
    }  # fmt: skip
    assert "memory_bandwidth_bytes_per_s" in found[1, "memory_bandwidth"].text
    assert found[2, "memory_vendor_bytes"].text == "A small b is a bit; write B for bytes, such as 80 GB."
    assert found[2, "confidence"].value == "sure"
    assert "Line 3 has this row already" in found[4, "slug"].text
    assert "confirm_form" not in page.context
    assert set(Gpu.objects.values_list("tdp_w", flat=True)) == {700}
    good = csv.replace("many,80 Gb,sure", "650,80 GB,high").replace("memory_bandwidth", "notes").split("h200,600")[0]
    assert imported(admin, "gpu", good).status_code == 302
    assert set(Gpu.objects.values_list("tdp_w", flat=True)) == {650}
    assert (
        "empties figures that are there"
        in imported(admin, "gpu", "slug,tdp_w\nh100,\n", confirm=False).content.decode()
    )
    missing = GpuResource().import_data(Dataset([1], headers=["tdp_w"]), dry_run=True)
    assert next((fault.line, fault.column) for fault in missing.faults) == (1, "slug")
    offer = imported(admin, "gpuoffer", "slug,name,provider,gpu,gpu_as_listed\no,o,s,h999,H\n", confirm=False)
    assert "There is no gpu h999." in {fault.text for fault in offer.context["faults"]}


def test_a_row_is_the_start_of_another_under_a_free_slug(admin, client, django_user_model):
    gpu = GpuFactory(slug="h100", name="H100", tdp_w=700, sources={"*": {"source": "sheet"}})
    GpuFactory(slug="h100-2")
    to_form = admin.get(address(gpu, "start_another"))
    assert to_form.status_code == 302
    form = sent_by(admin.get(to_form.url))
    assert (form["slug"], form["name"], form["tdp_w"], form["memory_vendor_bytes"]) == (
        "h100-3", "H100 (copy)", 700, "80 GB",
    )  # fmt: skip
    assert admin.post(to_form.url, form).status_code == 302
    assert Gpu.objects.get(slug="h100-3").sources == {"*": {"source": "sheet"}}
    offer = GpuOffer.objects.create(
        slug="o", name="o", provider="x", gpu=gpu, gpu_as_listed="H100", gpu_count=8, source="s", market="spot",
        price_per_hour=16, price_per_gpu_hour=2, date_seen="2026-01-01",
    )  # fmt: skip
    assert "1 GPU offer" in admin.get(address(gpu, "delete")).content.decode()
    form = sent_by(admin.get(f"/admin/catalog/gpuoffer/add/?from_row={offer.pk}"))
    assert form["gpu"] == gpu.pk
    assert "date_seen" not in form
    model = LanguageModelFactory(name="M", config={"model_type": "llama"})
    assert "M (copy)" in admin.get(f"/admin/catalog/languagemodel/import-config/?from_row={model.pk}").content.decode()
    adder = django_user_model.objects.create_user("adder", is_staff=True)
    adder.user_permissions.set(Permission.objects.filter(codename="add_gpu"))
    client.force_login(adder)
    assert "H100 (copy)" not in client.get(f"/admin/catalog/gpu/add/?from_row={gpu.pk}").content.decode()


def test_many_rows_are_changed_together_after_each_was_shown(admin):
    one, two = GpuFactory(tdp_w=300), GpuFactory(tdp_w=700, memory_driver_bytes=None, memory_visible_bytes=None)
    chosen = admin.post("/admin/catalog/gpu/", {"action": "edit_together", "_selected_action": [one.pk, two.pk]})
    assert chosen.url == f"/admin/catalog/gpu/together/?rows={one.pk},{two.pk}" or str(one.pk) in chosen.url
    page = admin.get(chosen.url)
    names = {box.html_name for box, _value in page.context["form"].pairs}
    assert "change_tdp_w" in names
    assert not {"change_slug", "change_name", "change_sources"} & names

    def sent(shown, **typed):
        return {"rows": f"{one.pk},{two.pk}", "rows_seen": shown.context["rows_seen"], "change_reason": "sheet",
                "shown": shown.context.get("seal") or "", **typed}  # fmt: skip

    assert "Tick at least one field" in admin.post(chosen.url, sent(page)).content.decode()
    refused = admin.post(chosen.url, sent(page, change_memory_vendor_bytes="on", memory_vendor_bytes="10 GB"))
    assert [bool(line.faults) for line in refused.context["lines"]] == [True, False]
    assert not refused.context["seal"]
    typed = {"change_tdp_w": "on", "tdp_w": "700"}
    preview = admin.post(chosen.url, sent(page, **typed))
    assert [line.changes for line in preview.context["lines"]] == [(("TDP", "300", "700"),), ()]
    one.refresh_from_db()
    assert one.tdp_w == 300
    assert admin.post(chosen.url, sent(preview, **typed, save="1")).status_code == 302
    one.refresh_from_db()
    assert (one.tdp_w, one.history.first().history_change_reason) == (700, "sheet")
    two.refresh_from_db()
    assert two.edited_by_person is False
    two.tdp_w = 650
    save_by_person(two, user=None)
    late = admin.post(chosen.url, sent(preview, **typed, save="1"))
    assert "TDP: 700 → 650" in " ".join(late.context["conflict"])


def test_a_page_of_a_row_says_before_a_delete_what_uses_it(admin, monkeypatch):
    from catalog import usage

    monkeypatch.setattr(usage, "_counters", {})
    usage.register_usage("test", lambda kind, slug: usage.Usage(label="report versions", count=3, url="/reports/"))
    profile = EngineProfileFactory()
    assert 'href="/reports/">3 report versions' in admin.get(address(profile, "delete")).content.decode()
    admin.post(address(profile, "delete"), {"post": "yes"})
    assert not EngineProfile.objects.exists()
