"""The command against the engine in this process: what it sends, shows and exits with, held against the API."""

import json
import re

import orjson
import pytest
from click.testing import CliRunner

from aforo.main import EPILOG, cli
from estimator.figures import written
from tests.live import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
PLAN = ("llama-3.3-70b", "h100-sxm5-80gb", "-n", "2", "-e", "vllm-0.19", "-i", "8000", "-o", "500", "-u", "16")
CONFIG = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_server(monkeypatch):
    monkeypatch.delenv("AFORO_SERVER", raising=False)
    monkeypatch.delenv("AFORO_TOKEN", raising=False)


def run(*words, code=0, **more):
    result = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False, **more)
    assert result.exit_code == code, result.output
    return result


def api(client, path, body):
    response = client.post(f"/api/v1/{path}", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


BODY = {
    "model": "llama-3.3-70b", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.19", "parallelism": {"tp": 2},
    "workload": {"input_tokens": 8000, "output_tokens": 500, "concurrency": 16},
}  # fmt: skip


def test_fit_is_memory_fit(client):
    result = run("fit", *PLAN, "-w", "bf16", "--json", code=1)
    expected = api(client, "estimates/memory-fit/", BODY | {"precision": {"weights": "bf16"}})
    assert json.loads(result.stdout) == expected
    shown = run("fit", *PLAN, "-w", "bf16", code=1).stdout
    assert shown.startswith("Does not fit. Llama-3.3-70B-Instruct on 2 × H100 SXM5 80GB")
    assert re.search(r"^weights +fp8 ", shown, re.M)
    assert "aforo fit" in run("fit", code=2).output  # without anything: an example
    assert run("fit", *PLAN, "-w", "fp8").stdout.startswith("Fits.")


def test_speed_is_throughput_and_says_whether_the_targets_are_met(client):
    words = ("speed", *PLAN, "-w", "fp8", "--ttft", "2", "--tpot", "0.05", "--batch", "1", "--batch", "8")
    body = BODY | {"precision": {"weights": "fp8"}, "slo": {"ttft_s": 2.0, "tpot_s": 0.05}}
    body["workload"] = body["workload"] | {"batch_sizes": [1, 8]}
    expected = api(client, "estimates/throughput/", body)
    assert json.loads(run(*words, "--json", code=1).stdout) == expected
    shown = run(*words, code=1).stdout
    assert "targets missed at the conservative side" in shown
    band = expected["expected"]["tpot_s"]
    figures = [re.escape(written.milliseconds(band[side])) for side in ("mid", "low", "high")]
    assert re.search("each further token +" + " +".join(figures), shown)
    assert len(re.findall(r"^ +[18]  ", shown, re.M)) == 2
    assert "targets met" in run("speed", *PLAN, "-w", "fp8", "--tpot", "0.5").stdout


def test_verdict_cost_and_the_price_that_was_given(client):
    words = (*PLAN, "-w", "fp8", "--price", "2.58")
    shown = run("verdict", *words, "--ttft", "2", "--tpot", "0.05").stdout
    assert "16 users likely stay within your targets, but only 4 are safe." in shown
    assert re.search(r"2 × B200 SXM +safe +\d+–\d+", shown)
    bill = json.loads(run("cost", *words, "--json").stdout)["self_hosted"]
    assert bill["cost_per_hour"] == "5.16"
    both = run("cost", *words, "--api", "openai-gpt-5-mini", "--requests", "1000").stdout
    assert re.search(r"per hour +5\.16", both)
    assert re.search(r"total +3\n", both)  # 8 M tokens at 0.25 and 0.5 M at 2 USD
    assert "does not fit" in run("cost", *PLAN, "-w", "bf16", code=1).stdout


def test_cache_size_and_inspect(tmp_path):
    shown = run("cache", "anthropic-claude-opus-5-5", "--prefix", "20000", "--suffix", "1000", "-o", "500",
                "--per-hour", "30").stdout  # fmt: skip
    assert re.search(r"lifetime +3,600 s +0\.018 +cheapest", shown)
    sized = run("size", "llama-3.1-8b", "-g", "l40s", "-g", "h100-sxm5-80gb", "-i", "1500", "-o", "300", "-u", "200",
                "--tp", "1", "--ttft", "1", "--tpot", "0.05", "--cheapest").stdout  # fmt: skip
    rows = [line.split() for line in sized.splitlines() if line.startswith(("l40s", "h100"))]
    assert [row[0] for row in rows] == ["h100-sxm5-80gb", "l40s"]
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    assert "8,030,261,248" in run("inspect", config).stdout
    by_config = run("fit", "l40s", "--config", config, "-i", "1000", "-o", "200").stdout
    assert by_config.startswith("Fits.")


def test_the_working_is_shown_where_it_is_asked_for():
    shown = run("fit", *PLAN, "-w", "fp8", "--explain").stdout
    assert len(re.findall(r"^    = ", shown, re.M)) >= 16


def test_a_body_is_sent_as_it_is_and_options_change_it(client, tmp_path):
    file = tmp_path / "body.json"
    file.write_text(json.dumps(BODY | {"precision": {"weights": "fp8"}}))
    assert json.loads(run("fit", "--body", file, "--json").stdout)["inputs"]["precision"]["weights"] == "fp8"
    more = json.loads(run("fit", "--body", file, "-u", "400", "--json", code=1).stdout)
    assert more["inputs"]["workload"]["concurrency"] == 400
    piped = run("fit", "--body", "-", "--json", input=file.read_text())
    assert json.loads(piped.stdout)["feasible"] is True


def test_what_is_wrong_is_told_field_by_field_with_code_2():
    result = run("fit", "llama-9b", "l40s", "-i", "-5", "-o", "1", code=2)
    assert result.stdout == ""
    assert "#/model: There is no model “llama-9b”" in result.stderr
    assert "#/workload/input_tokens: Must be at least 0." in result.stderr
    run("fit", "--no-such-option", code=2)
    assert "not JSON" in run("fit", "--body", "-", code=2, input="{").stderr
    assert "give --server" in run("report", "list", code=2).stderr


def test_every_command_has_its_page_of_help_and_its_place_in_the_documentation():
    page = (ROOT / "docs" / "command.md").read_text()
    for name, command in cli.commands.items():
        assert command.help, name
        assert f"aforo {name}" in page
    for code in ("0", "1", "2", "3", "4"):
        assert f"| {code} |" in page
        assert re.search(rf"\b{code} \w", EPILOG)


def test_the_commands_of_the_documentation_answer():
    page = (ROOT / "docs" / "command.md").read_text()
    block = re.search(r"```sh\n(.*?)```", page, re.S).group(1)
    lines = [line for line in block.replace("\\\n", " ").splitlines() if line.startswith("aforo ")]
    assert len(lines) >= 6
    for line in lines:
        words = line.partition("  #")[0].split()[1:]
        result = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert result.exit_code in (0, 1), (line, result.output)
        assert len(result.stdout.splitlines()) > 3, line
