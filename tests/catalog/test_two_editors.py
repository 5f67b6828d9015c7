"""Two people at one row: nothing of either is lost, on every page of the registry that people edit."""

import threading
from types import SimpleNamespace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, models, transaction
from django.test import Client, RequestFactory
from tablib import Dataset

from catalog.admin.two_editors import SEEN, TwoEditors, TwoEditorsInline
from catalog.models import Checkpoint, Gpu, LanguageModel, Preset
from catalog.services.people import save_by_person
from reports.models import Report
from tests.catalog.admin_pages import PAGES, address, errors_on, first_of, sent_by
from tests.catalog.factories import GpuFactory, LanguageModelFactory, PresetFactory
from tests.shipped_catalog import load_shipped_catalog


def may_change(page, request) -> bool:
    return page.has_change_permission(request)


@pytest.fixture
def root_request(db, django_user_model):
    request = RequestFactory().get("/")
    request.user = django_user_model.objects.create_superuser("root", password="x" * 12)
    return request


@pytest.fixture
def root(client, root_request):
    client.force_login(root_request.user)
    return client


def test_every_page_and_inline_that_people_edit_compares_versions_and_no_list_is_edited(root_request):
    for page in PAGES.values():
        assert not page.list_editable, page
        if may_change(page, root_request):
            assert isinstance(page, TwoEditors), page
        for inline in page.get_inline_instances(root_request):
            if inline.has_change_permission(root_request):
                assert isinstance(inline, TwoEditorsInline), inline


EDITED = sorted(label for label, page in PAGES.items() if isinstance(page, TwoEditors))


def a_row(label, user):
    model = PAGES[label].model
    if model is Report:
        return Report.objects.create(name="a report", owner=user)
    load_shipped_catalog(with_genai_prices=False)
    return first_of(model)


def two_texts(row, form) -> tuple[str, str]:
    """Two free texts of the form, to be changed by one editor each."""
    free = [
        field.name
        for field in row._meta.concrete_fields
        if type(field) in (models.CharField, models.TextField) and not field.choices and field.name in form.fields
        and field.name not in ("slug", "currency", "endpoint_class")
    ]  # fmt: skip
    if isinstance(row, Report):
        return "name", "visibility"
    return free[0], free[-1]


@pytest.mark.parametrize("label", EDITED)
def test_the_second_of_two_editors_sees_what_the_first_changed_and_loses_nothing(root, root_request, label):
    row = a_row(label, root_request.user)
    page = root.get(address(row))
    form = sent_by(page)
    assert f'name="{SEEN}"' in page.content.decode()
    first, second = two_texts(row, page.context["adminform"].form)
    yours = "all" if second == "visibility" else "of the second editor"
    type(row)._base_manager.filter(pk=row.pk).update(**{first: "of the first editor"})
    before = getattr(row, second)

    again = root.post(address(row), form | {second: yours})
    assert again.status_code == 200, "saved over the other's change"
    said = errors_on(again)
    assert "nothing was saved" in said
    assert "theirs of the first editor" in said
    row.refresh_from_db()
    assert (getattr(row, first), getattr(row, second)) == ("of the first editor", before)

    saved = root.post(address(row), sent_by(again))
    assert saved.status_code == 302, errors_on(saved)
    row.refresh_from_db()
    assert (getattr(row, first), getattr(row, second)) == ("of the first editor", yours)


def test_both_values_and_the_first_editor_are_shown_where_two_change_one_field(root, root_request, django_user_model):
    gpu = GpuFactory(tdp_w=300)
    form = sent_by(root.get(address(gpu)))
    gpu.tdp_w = 350
    save_by_person(gpu, user=django_user_model.objects.create_user("ada"), reason="new sheet")
    again = root.post(address(gpu), form | {"tdp_w": 400})
    assert "ada (new sheet) changed this row" in errors_on(again)
    assert "TDP: was 300, theirs 350, yours 400 (kept in the form)." in errors_on(again)
    assert sent_by(again)["tdp_w"] == "400"
    assert root.post(address(gpu), sent_by(again)).status_code == 302
    assert Gpu.objects.get(pk=gpu.pk).tdp_w == 400


def test_a_form_without_the_row_it_showed_saves_nothing(root):
    gpu = GpuFactory(tdp_w=300)
    form = sent_by(root.get(address(gpu))) | {"tdp_w": 400, SEEN: "forged"}
    assert "open the page again" in errors_on(root.post(address(gpu), form))
    assert Gpu.objects.get(pk=gpu.pk).tdp_w == 300


def test_a_field_that_is_not_on_the_form_counts_too(root):
    model = LanguageModelFactory()
    form = sent_by(root.get(address(model)))
    LanguageModel.objects.filter(pk=model.pk).update(architecture={"family": "other"})
    assert "architecture: was" in errors_on(root.post(address(model), form))


@pytest.fixture
def checkpoint(db):
    return Checkpoint.objects.create(
        model=LanguageModelFactory(), precision="bf16", stored_weight_bytes=16_060_522_496, source="a listing"
    )


def test_a_line_of_an_inline_is_compared(root, checkpoint):
    form = sent_by(root.get(address(checkpoint.model)))
    Checkpoint.objects.filter(pk=checkpoint.pk).update(source="as read by ada")
    again = root.post(address(checkpoint.model), form | {"checkpoints-0-source": "as read by bo"})
    assert "theirs as read by ada, yours as read by bo" in errors_on(again)
    assert Checkpoint.objects.get(pk=checkpoint.pk).source == "as read by ada"


def test_a_line_that_somebody_changed_is_not_deleted_unseen(root, checkpoint):
    form = sent_by(root.get(address(checkpoint.model)))
    Checkpoint.objects.filter(pk=checkpoint.pk).update(source="as read by ada")
    again = root.post(address(checkpoint.model), form | {"checkpoints-0-DELETE": "on"})
    assert "theirs as read by ada" in errors_on(again)
    assert Checkpoint.objects.filter(pk=checkpoint.pk).exists()


def test_a_line_that_somebody_deleted_is_named(root, checkpoint):
    form = sent_by(root.get(address(checkpoint.model)))
    checkpoint.delete()
    assert "Somebody deleted this line" in errors_on(root.post(address(checkpoint.model), form))


def shown_rows(page) -> str:
    return str(page.context["action_form"]["rows_seen"].value())


def test_an_action_leaves_a_row_that_changed_since_the_list_was_shown(root):
    preset = PresetFactory(name="as listed")
    url = address(preset).split(f"{preset.pk}/")[0]
    seen = shown_rows(root.get(url))
    Preset.objects.filter(pk=preset.pk).update(name="as ada has it")
    chosen = {"action": "delete_selected", "_selected_action": [preset.pk], "rows_seen": seen}
    page = root.post(url, chosen, follow=True)
    assert "name: as listed → as ada has it" in page.content.decode()
    assert Preset.objects.filter(pk=preset.pk).exists()


@pytest.mark.parametrize("kind", ["page", "list"])
def test_neither_kind_of_deletion_takes_a_row_that_changed_since_the_question(root, kind):
    preset = PresetFactory(name="as listed")
    url = address(preset).split(f"{preset.pk}/")[0]
    chosen = {"action": "delete_selected", "_selected_action": [preset.pk]}

    def ask():
        if kind == "page":
            return root.get(address(preset, "delete"))
        return root.post(url, chosen | {"rows_seen": shown_rows(root.get(url))})

    def answer():
        target, body = (address(preset, "delete"), {}) if kind == "page" else (url, chosen)
        return root.post(target, body | {"post": "yes"}, follow=True)

    ask()
    Preset.objects.filter(pk=preset.pk).update(name="as ada has it")
    assert "as listed → as ada has it" in answer().content.decode()
    assert Preset.objects.filter(pk=preset.pk).exists()
    ask()
    answer()
    assert not Preset.objects.filter(pk=preset.pk).exists()


def test_a_spreadsheet_is_not_imported_over_a_change_since_its_preview(root):
    preset = PresetFactory(name="as listed")
    sheet = Dataset([preset.slug, "from the sheet"], headers=["slug", "name"]).export("csv")

    def preview():
        page = root.post(
            "/admin/catalog/preset/import/",
            {"import_file": SimpleUploadedFile("p.csv", sheet.encode(), "text/csv"), "format": "0", "resource": "0"},
        )
        form = page.context["confirm_form"]
        return {bound.html_name: bound.value() for bound in form if bound.value() is not None}

    confirmed = preview()
    preset.name = "as ada has it"
    save_by_person(preset, user=None)
    page = root.post("/admin/catalog/preset/process_import/", confirmed, follow=True)
    assert "changed since the preview" in page.content.decode()
    preset.refresh_from_db()
    assert preset.name == "as ada has it"
    root.post("/admin/catalog/preset/process_import/", preview())
    preset.refresh_from_db()
    assert preset.name == "from the sheet"


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_on_postgresql_the_second_save_waits_for_the_first_and_then_sees_it(django_user_model):
    """One connection holds the row, changed and not committed; the form of the other is sent meanwhile."""
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL")
    user = django_user_model.objects.create_superuser("root", password="x" * 12)
    gpu = GpuFactory(tdp_w=300)
    client = Client()
    client.force_login(user)
    form = sent_by(client.get(address(gpu)))
    answer = SimpleNamespace(page=None)

    def second():
        try:
            answer.page = client.post(address(gpu), form | {"tdp_w": 400})
        finally:
            connection.close()

    thread = threading.Thread(target=second)
    with transaction.atomic():
        Gpu.objects.filter(pk=gpu.pk).update(memory_bandwidth_bytes_per_s=4.8e12)
        thread.start()
        wait_for_a_lock(thread)
    thread.join()
    assert answer.page.status_code == 200
    assert "memory bandwidth: was 3.35 TB/s, theirs 4.8 TB/s" in answer.page.content.decode()
    gpu.refresh_from_db()
    assert (gpu.memory_bandwidth_bytes_per_s, gpu.tdp_w) == (4.8e12, 300)


def wait_for_a_lock(thread) -> None:
    """Until the other session waits for a lock of ours, or has ended without."""
    while thread.is_alive():
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
        thread.join(0.05)
