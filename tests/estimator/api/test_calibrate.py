"""Calibrating a profile over REST: a new version with its error, refusals by pointer, and no text kept."""

import json

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from catalog.models import EngineProfile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

RESULT = {
    "max_concurrency": 16, "num_prompts": 160, "completed": 160, "failed": 0,
    "total_input_tokens": 160 * 1024, "total_output_tokens": 160 * 256,
    "request_throughput": 6.0, "output_throughput": 6.0 * 256,
    "mean_ttft_ms": 80.0, "median_ttft_ms": 70.0, "mean_tpot_ms": 10.2, "median_tpot_ms": 10.0,
    "generated_texts": ["a private answer"], "errors": ["a private error"],
}  # fmt: skip
BODY = {
    "new_slug": "vllm-ours",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm5-80gb",
    "runs": [{"result": RESULT, "input_tokens": 1024, "output_tokens": 256}],
}


def post(client, body, slug="vllm-0.19"):
    return client.post(f"/api/v1/engine-profiles/{slug}/calibrate/", json.dumps(body), content_type="application/json")


@pytest.fixture
def staff():
    user = get_user_model().objects.create_superuser("keeper", "keeper@example.org", "x")
    client = Client()
    client.force_login(user)
    return client


def test_a_run_gives_a_new_profile_with_its_error_and_its_parent(staff):
    response = post(staff, BODY)
    assert response.status_code == 201, response.content
    answer = response.json()
    row = EngineProfile.objects.get(slug="vllm-ours")
    assert row.parent.slug == answer["parent"] == "vllm-0.19"
    assert row.aliases == []
    tpot = next(error for error in answer["fit_error"] if error["metric"] == "tpot_s")
    assert tpot["median"] < tpot["before_median"]
    assert row.fit_error["tpot_s"]["median"] == pytest.approx(tpot["median"])
    assert row.speed_constants["kernel_time_scale"] == pytest.approx(answer["constants"]["kernel_time_scale"])


def test_no_text_of_a_run_is_kept_or_answered(staff):
    response = post(staff, BODY)
    row = EngineProfile.objects.get(slug="vllm-ours")
    kept = json.dumps([row.evidence, row.notes, row.fit_error, row.speed_constants])
    assert "private" not in kept
    assert "private" not in response.content.decode()


def test_answers_that_stopped_early_are_refused_by_pointer(staff):
    short = {"result": {**RESULT, "total_output_tokens": 160 * 75}, "output_tokens": 256}
    response = post(staff, {**BODY, "runs": [short]})
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "#/runs/0/result/total_output_tokens"
    assert not EngineProfile.objects.filter(slug="vllm-ours").exists()


def test_a_slug_that_is_taken_is_refused(staff):
    response = post(staff, {**BODY, "new_slug": "vllm-0.19"})
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "#/new_slug"


def test_a_profile_that_is_not_there_is_not_found(staff):
    assert post(staff, BODY, slug="no-such-profile").status_code == 404


def test_an_ideal_profile_cannot_be_calibrated(staff):
    assert post(staff, BODY, slug="ideal").status_code == 400


def test_people_without_the_permission_may_not():
    assert post(Client(), BODY).status_code in (401, 403)
    user = get_user_model().objects.create_user("reader", "reader@example.org", "x")
    client = Client()
    client.force_login(user)
    assert post(client, BODY).status_code == 403
    assert not EngineProfile.objects.filter(slug="vllm-ours").exists()


def test_the_command_does_the_same_from_files(tmp_path, capsys):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(RESULT), encoding="utf-8")
    call_command("calibrate_profile", "vllm-0.19", "vllm-file", str(path), model="llama-3.1-8b", gpu="h100-sxm5-80gb")
    row = EngineProfile.objects.get(slug="vllm-file")
    assert row.parent.slug == "vllm-0.19"
    assert row.evidence in capsys.readouterr().out
    path.write_text(json.dumps({**RESULT, "failed": 40}), encoding="utf-8")
    with pytest.raises(CommandError, match="requests failed"):
        call_command("calibrate_profile", "vllm-0.19", "b", str(path), model="llama-3.1-8b", gpu="h100-sxm5-80gb")
