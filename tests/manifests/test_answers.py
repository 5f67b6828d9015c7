"""The endpoint: the question with its lines, the verdict, checks, and what differs from the last version."""

import random

from estimator.resolvers.live import current_facts
from manifests.asking import question_of
from manifests.defaults import take_defaults
from manifests.reading.recognise import read_manifest
from manifests.reading.words import ManifestError
from tests.manifests.test_public import PUBLIC

COMMAND = (
    "vllm serve meta-llama/Llama-3.3-70B-Instruct \\\n  --tensor-parallel-size 4 \\\n  --quantization fp8 \\\n"
    "  --max-model-len 16384 --max-num-seqs 64 \\\n  --port 8000 --block-size 16 --shiny\n"
)
BESIDE = {
    "gpu": "h100-sxm5-80gb", "slo": {"ttft_s": 2, "tpot_s": 0.05}, "price_per_gpu_hour": "2.5", "currency": "USD",
    "workload": {"input_tokens": 2000, "output_tokens": 400, "concurrency": 16},
}  # fmt: skip


def test_a_command_is_answered_with_its_question_where_each_part_is_from_and_the_verdict(read):
    found = read(COMMAND, question=dict(BESIDE))
    parts = {one["field"]: one for one in found["read"]}
    assert parts["parallelism.tp"] | {"value": 4, "line": 2, "origin": "flag"} == parts["parallelism.tp"]
    assert (parts["precision.weights"]["value"], parts["precision.weights"]["line"]) == ("fp8", 3)
    assert (parts["memory.max_model_len"]["value"], parts["memory.max_num_seqs"]["line"]) == (16384, 4)
    assert parts["gpu"]["origin"] == "given"
    assert [one["flag"] for one in found["unknown"]] == ["--shiny"]
    why = {one["flag"]: one["why"] for one in found["not_used"]}
    assert why["--port 8000"] is None
    assert why["--block-size 16"]
    assert {one["field"] for one in found["not_stated"]} >= {"engine", "memory.utilization", "precision.kv_cache"}
    verdict = found["verdict"]
    assert verdict["inputs"]["parallelism"]["tp"] == 4
    assert verdict["inputs"]["model"]["slug"] == "llama-3.3-70b-instruct"
    assert found["question"]["memory"] == {"max_model_len": 16384, "max_num_seqs": 64}
    # The launch command of the verdict is the same start.
    assert "--max-model-len 16384" in verdict["launch"]["command"]
    assert [one["name"] for one in found["checks"]] == ["fits", "starts", "targets"]
    assert found["meets"] is True


def test_limits_of_cost_are_checked_against_the_bill_of_the_verdict(read):
    found = read(COMMAND, question=dict(BESIDE), limits={"cost_per_mtok_output": "1000", "cost_per_month": "1"})
    met = {one["name"]: one["met"] for one in found["checks"]}
    assert met["cost_per_mtok_output"] is True
    assert met["cost_per_month"] is False  # 4 GPUs x 2.5 x 730 h = 7,300
    assert found["meets"] is False
    assert "7300" in next(one["detail"] for one in found["checks"] if one["name"] == "cost_per_month")


def test_a_length_that_has_no_room_does_not_start(read):
    text = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 131072 --gpu-memory-utilization 0.9"
    found = read(text, question={"gpu": "l4", "workload": {"input_tokens": 500, "output_tokens": 100}})
    starts = next(one for one in found["checks"] if one["name"] == "starts")
    assert starts["met"] is False
    assert "131,072" in starts["detail"]
    assert found["meets"] is False


def test_the_last_version_beside_it_says_what_differs(read):
    before = COMMAND.replace("--tensor-parallel-size 4", "--tensor-parallel-size 8")
    found = read(COMMAND, question=dict(BESIDE), previous=before)
    fields = {one["field"]: (one["before"], one["after"]) for one in found["difference"]["fields"]}
    assert fields == {"parallelism.tp": (8, 4)}
    figures = {one["figure"] for one in found["difference"]["figures"]}
    assert {"speed.tpot_s", "cost.cost_per_month"} <= figures


def test_what_is_missing_is_said_with_what_is_near_and_the_rest_is_still_read(read):
    found = read("vllm serve meta-llama/Llama-3.9-70B-Instruct -tp 2")
    assert found["verdict"] is None
    assert found["meets"] is None
    missing = {one["field"]: one for one in found["missing"]}
    assert set(missing) == {"model", "gpu"}
    assert any("llama" in one for one in missing["model"]["near"])
    assert found["question"]["parallelism"] == {"tp": 2}


def test_a_degree_that_no_model_allows_is_missing_with_its_field(read):
    found = read("vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 3", question={"gpu": "l4"})
    assert found["verdict"] is None
    assert any("tp" in one["field"] for one in found["missing"])


def test_gpus_that_stand_idle_are_said(read):
    text = next(one["text"] for one in PUBLIC if "vllm-3-27b-it" in one["source"])
    idle = text.replace("nvidia.com/gpu: '1'", "nvidia.com/gpu: '4'")
    assert idle != text
    found = read(idle)
    assert any("4 GPUs and the start uses 1" in one for one in found["notes"])


def test_faults_name_their_place(read):
    assert read("hello", status=400)["errors"][0]["pointer"] == "#/text"
    wrong = read(COMMAND, status=400, previous="hello")
    assert wrong["errors"][0]["pointer"] == "#/previous"
    assert read(COMMAND, status=400, server="nobody")["errors"][0]["pointer"] == "#/server"
    assert read(COMMAND, status=400, question={"gpu": 3})["errors"][0]["pointer"].startswith("#/question/gpu")


def test_mutated_manifests_are_read_or_refused_and_never_fail(loaded_catalog, db):
    rng, facts = random.Random(5), current_facts()
    marks = [
        "\x00",
        "{{",
        "&a ",
        "*a",
        "'",
        '"',
        "--",
        "\n",
        "- ",
        "9" * 40,
        "$(",
        "${",
        "-1",
        "1e999",
        "☃",
        ":",
        "[" * 50,
    ]
    read = 0
    for _ in range(300):
        text = rng.choice(PUBLIC)["text"]
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(marks) + text[at + rng.choice((0, 0, 1, 30)) :]
        try:
            starts = read_manifest(text)
        except ManifestError:
            continue
        for start in starts:
            reading = question_of(start, facts)
            take_defaults(reading, start.engine, facts)
            read += 1
    assert read > 50
