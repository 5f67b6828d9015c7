"""Pasting a config in the admin, in a real browser: preview first, then saved; in light and in dark."""

import json
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

CONFIG = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 32000,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
}


def log_in(page, service) -> None:
    name, password = service.text().split("Login")[1].split("\n")[0].split()[0::2]
    page.goto(f"{service.base}/admin/")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.click("button[type=submit]")
    page.wait_for_selector("text=Language models")


def picture(page, name: str) -> None:
    """A picture for people to look at, where they asked for one."""
    folder = os.environ.get("AFORO_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def test_a_config_is_pasted_previewed_and_saved(page, live_service):
    service = live_service()
    log_in(page, service)
    page.goto(f"{service.base}/admin/catalog/languagemodel/")
    picture(page, "models-list")
    page.get_by_text("Paste a config.json").first.click()
    page.fill("input[name=name]", "My/Mixtral-Copy")
    page.fill("textarea[name=config]", "{'not': 'json'}")
    page.get_by_role("button", name="Read and show").click()
    page.wait_for_selector("text=Not valid JSON at line 1")
    picture(page, "paste-error")

    page.fill("textarea[name=config]", json.dumps(CONFIG, indent=2))
    page.get_by_role("button", name="Read and show").click()
    preview = page.locator("#config-preview")
    preview.wait_for()
    assert "46,702,792,704" in preview.inner_text()
    assert "12,879,925,248" in preview.inner_text()
    assert "8 experts, 2 per token" in preview.inner_text()
    assert "mixtral-copy" in preview.inner_text()
    picture(page, "paste-preview")

    page.get_by_role("button", name="Save this model").click()
    page.wait_for_selector("text=is saved")
    assert page.input_value("input[name=slug]") == "mixtral-copy"
    picture(page, "model-page")
    status, model = service.call("GET", "/api/v1/models/mixtral-copy/")
    assert status == 200
    assert model["total_parameters"] == 46_702_792_704
    assert page.faults == []


def test_the_pages_of_the_catalog_open_without_faults_in_light_and_dark(page, live_service):
    service = live_service()
    log_in(page, service)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for model in ("gpu", "languagemodel", "engineprofile", "preset"):
            page.goto(f"{service.base}/admin/catalog/{model}/")
            page.wait_for_selector("#result_list")
            picture(page, f"{model}-list-{scheme}")
            page.locator("#result_list tbody th a, #result_list tbody td a").first.click()
            page.wait_for_selector("input[name=change_reason]")
            picture(page, f"{model}-page-{scheme}")
    page.goto(f"{service.base}/admin/catalog/gpu/import/")
    page.wait_for_selector("input[type=file]")
    picture(page, "gpu-import")
    assert page.faults == []


def test_a_profile_is_copied_by_a_dialog_that_asks_first(page, live_service):
    service = live_service()
    log_in(page, service)
    page.goto(f"{service.base}/admin/catalog/engineprofile/?q=vllm-0.19")
    page.click("table a:has-text('vllm-0.19')")
    page.click("text=Save as new version")
    page.wait_for_selector("#dialog >> text=next free slug")
    page.click("#dialog button[type=submit]")
    page.wait_for_selector("text=vllm-0.19-v2 is a copy")
    assert page.faults == []
