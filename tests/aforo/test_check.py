"""`aforo check` and `aforo words`: exit codes and what is shown."""

import json

import pytest

from tests.aforo.test_commands import run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
DEPLOY = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 2
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.19.0
          args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=8192, --shiny]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
LOAD = ("-i", "1000", "-o", "200", "-u", "8")


@pytest.fixture
def deploy(tmp_path, monkeypatch):
    monkeypatch.delenv("AFORO_SERVER", raising=False)
    path = tmp_path / "deploy.yaml"
    path.write_text(DEPLOY)
    return path


def test_0_where_every_check_holds_and_what_was_read_is_shown_with_its_line(deploy):
    shown = run("check", deploy, *LOAD, "--ttft", "2", "--tpot", "0.1", "--max-cost", "100").output
    assert "h100-sxm5-80gb" in shown
    assert "cost_per_mtok_output  yes" in shown
    assert "unknown flag, line 13: --shiny" in shown
    assert "assumed: precision.kv_cache" in shown


def test_1_where_one_does_not_and_the_difference_beside_the_last_version(deploy, tmp_path):
    old = tmp_path / "old.yaml"
    old.write_text(DEPLOY.replace("8192", "4096"))
    shown = run("check", deploy, *LOAD, "--max-cost", "0.0001", "--previous", old, code=1).output
    assert "cost_per_mtok_output  NO" in shown
    assert "memory.max_model_len" in shown
    assert "4096" in shown


def test_2_where_it_cannot_be_read_or_judged(deploy, tmp_path):
    nothing = tmp_path / "nothing.yaml"
    nothing.write_text("a: 1")
    run("check", nothing, code=2)
    deploy.write_text(DEPLOY.replace("nvidia-h100-80gb", "quantum-1"))
    assert "missing: gpu" in run("check", deploy, *LOAD, code=2).output


def test_json_is_the_answer_of_the_api_and_a_command_comes_by_standard_input():
    command = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 4k"
    found = json.loads(run("check", "-", *LOAD, "--gpu", "l40s", "--json", input=command).stdout)
    assert found["question"]["memory"]["max_model_len"] == 4000
    assert found["meets"] is True


def test_words_name_the_field_and_the_option():
    shown = run("words", "isl", "--", "gpu_memory_utilization").output
    assert "workload.input_tokens" in shown
    assert "--input" in shown
    assert "--utilization" in shown
