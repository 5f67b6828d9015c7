"""The admin's catalog pages: each opens, saves with history, exports, imports with checks, and pastes configs."""

import json

import pytest
from django.contrib.admin import site as admin_site
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from tablib import Dataset

from catalog import usage
from catalog.admin.base import CatalogAdmin
from catalog.admin.resources import ApiPriceResource, CachePolicyResource, CatalogResource
from catalog.models import ApiPrice, CachePolicy, EngineProfile, Gpu, LanguageModel, Preset, Withdrawal
from catalog.revisions import current_revision
from catalog.services.model_import import MAX_CONFIG_BYTES
from tests.catalog.factories import EngineProfileFactory, GpuFactory, LanguageModelFactory, PresetFactory
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db

MODELS = ["gpu", "languagemodel", "engineprofile", "preset"]
FACTORIES = {
    "gpu": GpuFactory,
    "languagemodel": LanguageModelFactory,
    "engineprofile": EngineProfileFactory,
    "preset": PresetFactory,
}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}


@pytest.fixture
def admin(client, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("ada", password="x" * 12))
    return client


@pytest.fixture
def used_rows(monkeypatch):
    """Pretend that reports used every row."""
    monkeypatch.setattr(usage, "_counters", {})
    usage.register_usage("test", lambda kind, slug: usage.Usage(label="report versions", count=3, url="/reports/"))


def form_of(client, url: str) -> dict[str, object]:
    """The values a page's form would send back unchanged."""
    page = client.get(url)
    values: dict[str, object] = {}
    for form in [
        page.context["adminform"].form,
        *(f for s in page.context["inline_admin_formsets"] for f in s.formset),
    ]:
        for bound in form:
            value = bound.value()
            if value is not None and value is not False:
                values[bound.html_name] = value.isoformat() if hasattr(value, "isoformat") else value
    for inline in page.context["inline_admin_formsets"]:
        for bound in inline.formset.management_form:
            values[bound.html_name] = bound.value()
    return values


@pytest.mark.parametrize("model", MODELS)
def test_the_list_shows_rows_and_searches(admin, model):
    row = FACTORIES[model](name="Needle of the test")
    FACTORIES[model](name="Other")
    url = reverse(f"admin:catalog_{model}_changelist")
    page = admin.get(url, {"q": "needle"})
    assert page.status_code == 200
    assert list(page.context["cl"].queryset) == [row]


@pytest.mark.parametrize("model", MODELS)
def test_the_list_of_the_shipped_catalog_opens_with_every_filter_offered(admin, model):
    load_shipped_catalog()
    assert admin.get(reverse(f"admin:catalog_{model}_changelist")).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_the_page_of_every_shipped_kind_of_row_opens(admin, model):
    load_shipped_catalog()
    row = {"gpu": Gpu, "languagemodel": LanguageModel, "engineprofile": EngineProfile, "preset": Preset}[model]
    page = admin.get(reverse(f"admin:catalog_{model}_change", args=[row.objects.first().pk]))
    assert page.status_code == 200


@pytest.mark.parametrize("model", ["gpu", "engineprofile", "preset"])
def test_the_add_page_opens(admin, model):
    assert admin.get(reverse(f"admin:catalog_{model}_add")).status_code == 200


def test_adding_a_model_goes_to_the_import_page(admin):
    page = admin.get(reverse("admin:catalog_languagemodel_add"))
    assert page.url == reverse("admin:catalog_languagemodel_import_config")


@pytest.mark.parametrize("model", MODELS)
def test_saving_a_page_marks_the_row_raises_the_revision_and_keeps_the_reason(admin, model):
    row = FACTORIES[model]()
    before = current_revision().number
    url = reverse(f"admin:catalog_{model}_change", args=[row.pk])
    values = form_of(admin, url) | {"notes": "checked", "change_reason": "seen in the maker's sheet"}
    answer = admin.post(url, values)
    assert answer.status_code == 302, answer.context and answer.context["adminform"].form.errors
    row.refresh_from_db()
    assert row.notes == "checked"
    assert row.edited_by_person
    assert current_revision().number == before + 1
    newest = row.history.first()
    assert newest.history_change_reason == "seen in the maker's sheet"
    assert newest.history_user.username == "ada"


@pytest.mark.parametrize("model", MODELS)
def test_the_history_page_names_the_reason(admin, model):
    row = FACTORIES[model]()
    row._change_reason = "because of the sheet"
    row.save()
    page = admin.get(reverse(f"admin:catalog_{model}_history", args=[row.pk]))
    assert page.status_code == 200
    assert "because of the sheet" in page.content.decode()
    version = row.history.first().pk
    old = admin.get(reverse(f"admin:catalog_{model}_simple_history", args=[row.pk, version]))
    assert old.status_code == 200


def test_a_wrong_figure_is_refused_in_words(admin):
    gpu = GpuFactory()
    url = reverse("admin:catalog_gpu_change", args=[gpu.pk])
    answer = admin.post(url, form_of(admin, url) | {"memory_visible_bytes": str(gpu.memory_driver_bytes + 1)})
    assert answer.status_code == 200
    assert "More than the driver shows" in answer.content.decode()


def test_deleting_in_the_list_leaves_history_and_raises_the_revision(admin):
    gpu = GpuFactory()
    before = current_revision().number
    url = reverse("admin:catalog_gpu_changelist")
    admin.post(url, {"action": "delete_selected", "_selected_action": [gpu.pk], "post": "yes"})
    assert not Gpu.objects.exists()
    assert Gpu.history.filter(history_type="-").count() == 1
    assert current_revision().number == before + 1


def test_the_list_of_gpus_says_confidence_in_one_word(admin):
    GpuFactory(confidence="medium")
    page = admin.get(reverse("admin:catalog_gpu_changelist")).content.decode()
    table = page.split('id="result_list"')[1].split("</table>")[0]
    assert ">Medium<" in "".join(table.split())
    assert "agreeing secondary sources" not in table


def test_a_page_says_what_uses_the_row(admin, used_rows):
    page = admin.get(reverse("admin:catalog_gpu_change", args=[GpuFactory().pk])).content.decode()
    assert 'href="/reports/">3 report versions' in page


def test_constants_that_reports_used_are_kept_and_a_new_version_takes_the_change(admin, used_rows):
    profile = EngineProfileFactory(slug="vllm-0.19", speed_constants={"step_s": 0.001}, aliases=["vllm"])
    url = reverse("admin:catalog_engineprofile_change", args=[profile.pk])
    answer = admin.post(url, form_of(admin, url) | {"speed_constants": '{"step_s": 0.002}'})
    assert "save them as a new version" in answer.content.decode()
    make = reverse("admin:catalog_engineprofile_make_new_version", args=[profile.pk])
    assert "next free slug" in admin.get(make).content.decode()
    assert EngineProfile.objects.count() == 1
    assert admin.post(make, {"_form_submitted": "True"}, headers={"HX-Request": "true"})["HX-Redirect"]
    copy = EngineProfile.objects.get(slug="vllm-0.19-v2")
    assert copy.parent == profile
    assert copy.speed_constants == {"step_s": 0.001}
    assert copy.aliases == []


def test_who_may_only_look_puts_no_old_version_back(admin, client, django_user_model):
    profile = EngineProfileFactory(name="New")
    url = reverse("admin:catalog_engineprofile_simple_history", args=[profile.pk, profile.history.first().history_id])
    old = {
        bound.html_name: bound.value()
        for bound in admin.get(url).context["adminform"].form
        if bound.value() not in (None, False)
    }
    viewer = django_user_model.objects.create_user("viewer", password="x" * 12, is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_engineprofile"))
    client.force_login(viewer)
    assert client.post(url, old | {"name": "Old"}).status_code == 403
    profile.refresh_from_db()
    assert profile.name == "New"
    assert client.get(url).status_code == 200


def test_the_slug_of_a_used_row_stays(admin, used_rows):
    gpu = GpuFactory(slug="h100")
    url = reverse("admin:catalog_gpu_change", args=[gpu.pk])
    answer = admin.post(url, form_of(admin, url) | {"slug": "h100-new"})
    assert "name this row by its slug" in answer.content.decode()


def test_unknown_constants_of_an_engine_are_refused_in_words(admin):
    profile = EngineProfileFactory()
    url = reverse("admin:catalog_engineprofile_change", args=[profile.pk])
    answer = admin.post(url, form_of(admin, url) | {"speed_constants": '{"step_seconds": 0.002}'})
    assert "step_seconds is no constant" in answer.content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_the_list_exports_as_csv_and_as_a_spreadsheet(admin, model):
    row = FACTORIES[model]()
    url = reverse(f"admin:catalog_{model}_export")
    assert admin.get(url).status_code == 200
    page = admin.get(url).context["form"]
    choices = {label: value for value, label in page.fields["format"].choices}
    answer = admin.post(url, {"format": choices["csv"], "resource": "0"})
    assert row.slug in answer.content.decode()
    answer = admin.post(url, {"format": choices["xlsx"], "resource": "0"})
    assert answer.content[:2] == b"PK"


def imported(admin, model: str, csv: str, *, confirm: bool = True):
    """Upload a CSV, then confirm what the preview shows."""
    url = reverse(f"admin:catalog_{model}_import")
    choices = {label: value for value, label in admin.get(url).context["form"].fields["format"].choices}
    upload = SimpleUploadedFile("rows.csv", csv.encode(), content_type="text/csv")
    page = admin.post(url, {"format": choices["csv"], "import_file": upload, "resource": ""})
    assert page.status_code == 200
    if not confirm:
        return page
    confirmation = page.context["confirm_form"].initial
    return admin.post(reverse(f"admin:catalog_{model}_process_import"), {**confirmation, "resource": ""})


def test_a_spreadsheet_changes_rows_by_slug_and_counts_as_a_person_s_edit(admin):
    gpu = GpuFactory(slug="h100", tdp_w=700)
    before = current_revision().number
    assert imported(admin, "gpu", "slug,tdp_w\nh100,650\n").status_code == 302
    gpu.refresh_from_db()
    assert gpu.tdp_w == 650
    assert gpu.edited_by_person
    assert current_revision().number == before + 1
    assert gpu.history.first().history_change_reason == "Imported from a spreadsheet"


def test_the_preview_of_a_spreadsheet_writes_nothing_and_leaves_the_revision(admin):
    gpu = GpuFactory(slug="h100", tdp_w=700)
    before = current_revision().number
    page = imported(admin, "gpu", "slug,tdp_w\nh100,650\n", confirm=False)
    assert page.context["result"].totals["update"] == 1
    gpu.refresh_from_db()
    assert gpu.tdp_w == 700
    assert current_revision().number == before


def test_a_spreadsheet_row_that_breaks_a_rule_is_shown_in_words_and_not_imported(admin):
    gpu = GpuFactory(slug="h100")
    csv = f"slug,memory_visible_bytes\nh100,{gpu.memory_driver_bytes + 1}\n"
    page = imported(admin, "gpu", csv, confirm=False)
    assert "More than the driver shows" in page.content.decode()
    assert "confirm_form" not in page.context or page.context["confirm_form"] is None


def test_a_spreadsheet_cannot_bring_infinities(admin):
    GpuFactory(slug="h100")
    page = imported(admin, "gpu", "slug,memory_bandwidth_bytes_per_s\nh100,inf\n", confirm=False)
    assert "Must be a finite number" in page.content.decode()


def test_a_spreadsheet_cannot_invent_a_language_model(admin):
    page = imported(admin, "languagemodel", "slug,name\nnew-model,New\n", confirm=False)
    assert "import new ones from their config" in page.content.decode()


def paste(admin, config, **values):
    text = config if isinstance(config, str) else json.dumps(config)
    url = reverse("admin:catalog_languagemodel_import_config")
    return admin.post(url, {"name": "meta-llama/Llama-3.1-8B", "config": text, **values})


def test_a_pasted_config_is_shown_before_anything_is_saved(admin):
    page = paste(admin, LLAMA, preview="1")
    text = page.content.decode()
    assert "8,030,261,248" in text
    assert "llama-3.1-8b" in text
    assert "full attention 32/8 heads" in text
    assert not LanguageModel.objects.exists()


def test_a_pasted_config_is_saved_from_its_preview(admin):
    answer = paste(admin, LLAMA, save="1", source="the publisher's page")
    model = LanguageModel.objects.get()
    assert answer.url == reverse("admin:catalog_languagemodel_change", args=[model.pk])
    assert model.slug == "llama-3.1-8b"
    assert model.total_parameters == 8_030_261_248
    assert model.edited_by_person
    assert model.source == "the publisher's page"
    assert model.history.first().history_user.username == "ada"
    assert admin.get(answer.url).status_code == 200


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("{'model_type': 'llama'}", "Not valid JSON at line 1, column 2"),
        ('{"hidden_size": Infinit}', "Not valid JSON"),
        ('{"model_type": "llama", "hidden_size": NaN}', "hidden_size"),
        ("[1, 2]", "is an object in braces"),
        ({"model_type": "lama"}, "Nearest known: "),
        ({**LLAMA, "num_hidden_layers": -3}, "num_hidden_layers"),
        ("[" * 100_000, "Not valid JSON"),
        ('{"a": "' + "x" * MAX_CONFIG_BYTES + '"}', "at most 1000000 are read"),
    ],
    ids=["quotes", "half a word", "nan", "list", "unknown type", "negative layers", "deep nesting", "too large"],
)
def test_a_config_that_cannot_be_read_is_refused_in_words(admin, config, words):
    page = paste(admin, config, preview="1")
    assert page.status_code == 200
    assert words in page.content.decode()
    assert not LanguageModel.objects.exists()


def test_a_slug_that_is_taken_is_replaced_only_when_asked(admin):
    paste(admin, LLAMA, save="1")
    assert "already" in paste(admin, {**LLAMA, "num_hidden_layers": 16}, save="1").content.decode()
    paste(admin, {**LLAMA, "num_hidden_layers": 16}, save="1", replace="on")
    model = LanguageModel.objects.get()
    assert model.history.count() == 2
    assert model.total_parameters < 8_030_261_248


def test_what_is_pasted_is_never_taken_for_markup(admin):
    page = paste(admin, {**LLAMA, "model_type": "<script>alert(1)</script>"}, preview="1").content.decode()
    assert "<script>alert(1)</script>" not in page


def test_staff_without_the_permission_can_neither_import_nor_paste(client):
    user = get_user_model().objects.create_user("bo", password="x" * 12, is_staff=True)
    client.force_login(user)
    assert client.get(reverse("admin:catalog_languagemodel_import_config")).status_code == 403
    assert client.get(reverse("admin:catalog_gpu_import")).status_code == 403
    assert client.get(reverse("admin:catalog_gpu_export")).status_code == 403


RESOURCES = [
    resource
    for page in admin_site._registry.values()
    if isinstance(page, CatalogAdmin)
    for resource in page.resource_classes
]


def test_every_kind_of_row_has_a_spreadsheet_of_its_own():
    pages = [page for page in admin_site._registry.values() if isinstance(page, CatalogAdmin)]
    assert len(RESOURCES) == len(pages)
    assert all(issubclass(resource, CatalogResource) for resource in RESOURCES)


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.__name__)
def test_what_was_exported_comes_back_unchanged(resource):
    load_shipped_catalog(with_genai_prices=False)
    before = current_revision()
    rows = Dataset().load(resource().export().export("csv"), format="csv")
    result = resource().import_data(rows, raise_errors=True)
    assert result.totals["skip"] == len(rows)
    assert current_revision() == before


def test_a_spreadsheet_marks_what_it_changes_with_who_and_ends_a_price_for_the_loaders_too(django_user_model):
    load_shipped_catalog(with_genai_prices=False)
    ada = django_user_model.objects.create_user("ada")
    policy, price = CachePolicy.objects.first(), ApiPrice.objects.filter(effective_to=None).first()
    CachePolicyResource().import_data(
        Dataset([policy.slug, 7], headers=["slug", "min_tokens"]), raise_errors=True, user=ada
    )
    ApiPriceResource().import_data(
        Dataset([price.pk, "2026-12-01"], headers=["id", "effective_to"]), raise_errors=True, user=ada
    )
    policy.refresh_from_db()
    assert (policy.min_tokens, policy.edited_by_person) == (7, True)
    assert policy.history.first().history_user == ada
    assert Withdrawal.objects.get().by == "ada"


def test_a_spreadsheet_cannot_change_what_was_priced():
    load_shipped_catalog(with_genai_prices=False)
    price = ApiPrice.objects.first()
    result = ApiPriceResource().import_data(Dataset([price.pk, "99"], headers=["id", "amount"]))
    assert result.has_validation_errors()
    assert ApiPrice.objects.get(pk=price.pk).amount == price.amount
