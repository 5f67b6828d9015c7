"""Changing the catalog over REST: who may, what is refused in words, and never over somebody else's change."""

import pytest
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from rest_framework.test import APIClient

from catalog import usage
from catalog.models import CachePolicy, EngineProfile, Gpu, LanguageModel, Preset
from catalog.revisions import current_revision
from tests.catalog.factories import EngineProfileFactory, GpuFactory, LanguageModelFactory, PresetFactory

pytestmark = pytest.mark.django_db

GPU = {
    "slug": "h300",
    "name": "H300",
    "vendor": "NVIDIA",
    "architecture": "Hopper",
    "memory_vendor_bytes": 80_000_000_000,
    "memory_bandwidth_bytes_per_s": 3.35e12,
    "peak_flops_per_s": {"bf16": 989.4e12, "fp8": 1978.9e12},
    "confidence": "low",
    "sources": {"*": {"source": "a test"}},
}
FACTORIES = {
    "gpus": GpuFactory,
    "models": LanguageModelFactory,
    "engine-profiles": EngineProfileFactory,
    "presets": PresetFactory,
}


def test_a_new_row_is_made_marked_and_found_at_its_location(editor):
    before = current_revision().number
    answer = editor.post("/api/v1/gpus/", {**GPU, "change_reason": "announced today"})
    assert answer.status_code == 201, answer.content
    gpu = Gpu.objects.get()
    assert gpu.edited_by_person
    assert gpu.peak_bf16_flops_per_s == 989.4e12
    assert gpu.peak_int8_flops_per_s is None
    assert gpu.history.get().history_change_reason == "announced today"
    assert gpu.history.get().history_user.username == "ada"
    assert current_revision().number == before + 1
    assert answer["Location"] == "http://testserver/api/v1/gpus/h300/"
    again = editor.get(answer["Location"])
    assert again["ETag"] == answer["ETag"]
    assert again.json()["peak_flops_per_s"] == GPU["peak_flops_per_s"]


@pytest.mark.parametrize("resource", FACTORIES)
def test_what_was_read_can_be_sent_back_and_changes_nothing_but_the_mark(editor, resource):
    row = FACTORIES[resource]()
    url = f"/api/v1/{resource}/{row.slug}/"
    read = editor.get(url)
    answer = editor.put(url, read.json(), headers={"If-Match": read["ETag"]})
    assert answer.status_code == 200, answer.content
    ours = {"edited_by_person", "updated_at"}
    assert {k: v for k, v in answer.json().items() if k not in ours} == {
        k: v for k, v in read.json().items() if k not in ours
    }


@pytest.mark.parametrize("resource", FACTORIES)
def test_a_change_over_somebody_else_s_change_is_refused(editor, resource):
    row = FACTORIES[resource]()
    url = f"/api/v1/{resource}/{row.slug}/"
    tag = editor.get(url)["ETag"]
    first = editor.patch(url, {"notes": "first"}, headers={"If-Match": tag})
    assert first.status_code == 200
    second = editor.patch(url, {"notes": "second"}, headers={"If-Match": tag})
    assert second.status_code == 412
    assert second.json()["type"] == "urn:aforo:problem:precondition-failed"
    assert editor.delete(url, headers={"If-Match": tag}).status_code == 412
    row.refresh_from_db()
    assert row.notes == "first"
    assert editor.delete(url, headers={"If-Match": first["ETag"]}).status_code == 204
    assert editor.get(url).status_code == 404


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"colour": "red"}, "#/colour", "unknown_field"),
        ({"memory_vendor_bytes": -1}, "#/memory_vendor_bytes", "out_of_range"),
        ({"memory_vendor_bytes": "much"}, "#/memory_vendor_bytes", "invalid_type"),
        ({"memory_vendor_bytes": None}, "#/memory_vendor_bytes", "required"),
        ({"memory_vendor_bytes": "80000000000"}, "#/memory_vendor_bytes", "invalid_type"),
        ({"memory_vendor_bytes": 80.5}, "#/memory_vendor_bytes", "invalid_type"),
        ({"memory_vendor_bytes": 1e30}, "#/memory_vendor_bytes", "out_of_range"),
        ({"memory_bandwidth_bytes_per_s": True}, "#/memory_bandwidth_bytes_per_s", "invalid_type"),
        ({"peak_flops_per_s": {"bf16": True}}, "#/peak_flops_per_s/bf16", "invalid_type"),
        ({"peak_flops_per_s": []}, "#/peak_flops_per_s", "invalid_type"),
        ({"name": 5}, "#/name", "invalid_type"),
        ({"launch_date": 2020}, "#/launch_date", "invalid_type"),
        ({"edited_by_person": False}, "#/edited_by_person", "not_supported"),
        ({"vendor": "Acme"}, "#/vendor", "invalid"),
        ({"slug": "Has Spaces"}, "#/slug", "invalid"),
        ({"peak_flops_per_s": {"fp99": 1e15}}, "#/peak_flops_per_s/fp99", "unknown_field"),
        ({"peak_flops_per_s": {"bf16": 989}}, "#/peak_flops_per_s/bf16", "out_of_range"),
        ({"peak_flops_per_s": {"bf16": 1e14, "fp8": 1e15}}, "#/peak_flops_per_s/fp8", "invalid"),
        ({"link": "nvlink4"}, "#/link_bytes_per_s_per_direction", "invalid"),
        ({"sources": {"*": {"colour": "red"}}}, "#/sources", "invalid"),
        ({"sources": {"*": {"source": "a\x00b"}}}, "#/sources/*/source", "invalid"),
        ({"notes": "a\x00b"}, "#/notes", "invalid"),
        ({"memory_bandwidth_bytes_per_s": "inf"}, "#/memory_bandwidth_bytes_per_s", "invalid_type"),
        ({"memory_bandwidth_bytes_per_s": "nan"}, "#/memory_bandwidth_bytes_per_s", "invalid_type"),
        ({"peak_flops_per_s": {"bf16": "inf"}}, "#/peak_flops_per_s/bf16", "invalid_type"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_and_nothing_is_stored(editor, change, pointer, code):
    answer = editor.post("/api/v1/gpus/", GPU | change)
    assert answer.status_code == 400, answer.content
    assert (pointer, code) in {(error["pointer"], error["code"]) for error in answer.json()["errors"]}
    assert not Gpu.objects.exists()


def test_a_slug_that_is_taken_is_refused(editor):
    GpuFactory(slug="h300")
    answer = editor.post("/api/v1/gpus/", GPU)
    assert answer.json()["errors"][0]["pointer"] == "#/slug"


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("rights", ["nobody", "user", "staff without the permission", "permission without staff"])
def test_only_staff_with_the_permission_write(method, rights, django_user_model, settings):
    settings.AFORO_ALLOW_ANONYMOUS = True
    gpu, client = GpuFactory(), APIClient()
    if rights != "nobody":
        user = django_user_model.objects.create_user("bo", is_staff=rights == "staff without the permission")
        if rights == "permission without staff":
            user.user_permissions.set(Permission.objects.filter(content_type__app_label="catalog"))
        client.force_authenticate(user)
    url = "/api/v1/gpus/" if method == "post" else f"/api/v1/gpus/{gpu.slug}/"
    answer = getattr(client, method)(url, {"notes": "x"})
    assert answer.status_code == (401 if rights == "nobody" else 403)
    gpu.refresh_from_db()
    assert gpu.notes == ""


def test_staff_with_the_permission_of_one_model_write_that_model_only(django_user_model):
    user = django_user_model.objects.create_user("bo", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="change_preset"))
    client = APIClient()
    client.force_authenticate(user)
    assert client.patch(f"/api/v1/presets/{PresetFactory().slug}/", {"notes": "x"}).status_code == 200
    assert client.patch(f"/api/v1/gpus/{GpuFactory().slug}/", {"notes": "x"}).status_code == 403


def test_models_are_not_posted_but_imported(editor):
    assert editor.post("/api/v1/models/", {"name": "x"}).status_code == 405
    assert not LanguageModel.objects.exists()


def test_the_architecture_of_a_model_does_not_change_by_an_edit(editor):
    model = LanguageModelFactory()
    url = f"/api/v1/models/{model.slug}/"
    answer = editor.patch(url, {"total_parameters": 1, "architecture": {}, "publisher": "Meta"})
    assert {(error["pointer"], error["code"]) for error in answer.json()["errors"]} == {
        ("#/total_parameters", "not_supported"),
        ("#/architecture", "not_supported"),
    }
    model.refresh_from_db()
    assert model.publisher == ""
    assert model.total_parameters == 8_030_261_248
    assert model.architecture == {"family": "llama"}


def test_the_slug_of_a_row_does_not_change(editor):
    gpu = GpuFactory()
    answer = editor.patch(f"/api/v1/gpus/{gpu.slug}/", {"slug": "another", "notes": "x"})
    assert [(error["pointer"], error["code"]) for error in answer.json()["errors"]] == [("#/slug", "not_supported")]
    gpu.refresh_from_db()
    assert gpu.notes == ""


def test_every_fault_of_a_row_comes_in_one_answer(editor):
    answer = editor.post("/api/v1/gpus/", {"slug": "a b", "vendor": "Acme", "name": 5, "colour": "red"})
    faults = {error["pointer"]: error["code"] for error in answer.json()["errors"]}
    assert faults["#/slug"] == faults["#/vendor"] == "invalid"
    assert faults["#/name"] == "invalid_type"
    assert faults["#/colour"] == "unknown_field"
    assert faults["#/memory_vendor_bytes"] == "required"


@pytest.mark.parametrize("body", ["[]", "null", "5", '"x"'])
def test_a_row_is_an_object(editor, body):
    answer = editor.generic("POST", "/api/v1/gpus/", body, content_type="application/json")
    assert [(e["pointer"], e["code"]) for e in answer.json()["errors"]] == [("#", "invalid_type")]


def test_a_key_twice_is_refused_in_a_row_too(editor):
    body = '{"slug": "a", "sources": {"*": {"source": "x", "source": "y"}}}'
    answer = editor.generic("POST", "/api/v1/gpus/", body, content_type="application/json")
    assert [(e["pointer"], e["code"]) for e in answer.json()["errors"]] == [("#/sources/*/source", "ambiguous")]


def test_money_is_never_a_number(editor):
    answer = editor.post("/api/v1/api-prices/", {"amount": 2.5})
    assert ("#/amount", "invalid_type") in {(e["pointer"], e["code"]) for e in answer.json()["errors"]}


@pytest.mark.parametrize(("method", "path"), [("post", ""), ("put", "l4/"), ("patch", "l4/"), ("delete", "l4/")])
def test_writes_take_no_parameters(editor, method, path):
    GpuFactory(slug="l4")
    answer = getattr(editor, method)(f"/api/v1/gpus/{path}?dry_run=true", {"notes": "x"})
    assert [(e["parameter"], e["code"]) for e in answer.json()["errors"]] == [("dry_run", "unknown_field")]
    assert Gpu.objects.get(slug="l4").notes == ""


def test_checkpoints_given_replace_those_stored_and_keep_the_equal_ones(editor):
    model = LanguageModelFactory()
    kept = model.checkpoints.create(precision="bf16", stored_weight_bytes=16_060_522_496, source="index")
    model.checkpoints.create(precision="fp8", stored_weight_bytes=9_000_000_000, source="index")
    given = [
        {"precision": "bf16", "stored_weight_bytes": 16_060_522_496, "source": "index"},
        {"precision": "int4", "stored_weight_bytes": 5_700_000_000, "source": "index", "source_date": "2026-01-01"},
    ]
    answer = editor.patch(f"/api/v1/models/{model.slug}/", {"checkpoints": given})
    assert answer.status_code == 200, answer.content
    assert {c["precision"] for c in answer.json()["checkpoints"]} == {"bf16", "int4"}
    assert model.checkpoints.get(precision="bf16").pk == kept.pk


def test_a_checkpoint_that_cannot_hold_the_weights_is_refused_and_nothing_changes(editor):
    model = LanguageModelFactory()
    bad = [{"precision": "bf16", "stored_weight_bytes": 16, "source": "index"}]
    answer = editor.patch(f"/api/v1/models/{model.slug}/", {"checkpoints": bad, "notes": "x"})
    assert answer.status_code == 400
    model.refresh_from_db()
    assert model.notes == ""


def test_constants_an_engine_would_refuse_are_refused_with_the_nearest_name(editor):
    profile = EngineProfileFactory()
    answer = editor.patch(f"/api/v1/engine-profiles/{profile.slug}/", {"speed_constants": {"step_seconds": 1}})
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "#/speed_constants"
    assert "step_s" in error["detail"]


def test_constants_that_reports_used_are_kept(editor, monkeypatch):
    monkeypatch.setattr(usage, "_counters", {})
    usage.register_usage("test", lambda kind, slug: usage.Usage(label="reports", count=2))
    profile = EngineProfileFactory()
    answer = editor.patch(f"/api/v1/engine-profiles/{profile.slug}/", {"speed_constants": {"step_s": 0.001}})
    assert answer.status_code == 400
    assert "new version" in answer.json()["errors"][0]["detail"]


def test_a_profile_others_were_calibrated_from_stays(editor):
    parent = EngineProfileFactory()
    EngineProfileFactory(parent=parent)
    answer = editor.delete(f"/api/v1/engine-profiles/{parent.slug}/")
    assert answer.status_code == 409
    assert EngineProfile.objects.count() == 2


def test_a_preset_s_prefix_cannot_be_longer_than_its_input(editor):
    preset = PresetFactory(input_tokens=1000)
    answer = editor.patch(f"/api/v1/presets/{preset.slug}/", {"shared_prefix_tokens": 1001})
    assert answer.json()["errors"][0]["pointer"] == "#/shared_prefix_tokens"
    assert Preset.objects.get().shared_prefix_tokens == 0


@pytest.mark.parametrize("field", ["memory_visible_bytes", "memory_vendor_bytes", "tdp_w"])
def test_zero_is_no_way_to_say_unknown(editor, field):
    gpu = GpuFactory()
    answer = editor.patch(f"/api/v1/gpus/{gpu.slug}/", {field: 0})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == f"#/{field}"


def test_a_price_of_storage_is_not_negative():
    policy = CachePolicy(slug="p", name="p", models_matching=["x"], ttls_s=[300], storage_price_per_mtok_hour=-1)
    with pytest.raises(ValidationError) as refused:
        policy.clean()
    assert set(refused.value.message_dict) == {"storage_price_per_mtok_hour"}


def test_a_window_of_no_tokens_is_refused(editor):
    model = LanguageModelFactory()
    answer = editor.patch(f"/api/v1/models/{model.slug}/", {"context_window_tokens": 0})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/context_window_tokens"
