"""Models, GPUs and engines of a sweep that are no plain rows of the catalog: inline, overridden, set otherwise."""

import orjson
import pytest

from catalog.models import Gpu
from estimator.engine.faults import ResolutionError
from reports.api import schemas
from reports.models import ReportVersion
from reports.services.preparing import prepare
from reports.work import worker
from tests.reports.test_sweep_rows import sweep_of, values

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072,
}  # fmt: skip
OURS = {"config": CONFIG, "name": "our 8B"}
SHAPE = {"parameters": 8.03e9, "layers": 32, "heads": 32, "kv_heads": 8, "hidden_size": 4096, "name": "=8B by shape"}
CARD = {
    "memory_bytes": 96e9, "memory_bandwidth_bytes_per_s": 4e12, "peak_flops_per_s": {"bf16": 9e14, "fp8": 1.8e15},
    "kernel_family": "hopper", "name": "our card",
}  # fmt: skip
SWEEP = {
    "models": ["llama-3.1-8b", OURS, SHAPE, {"slug": "llama-3.1-8b", "override": {"kv_heads": 32}}],
    "gpus": ["h100-sxm5-80gb", CARD],
    "engines": ["vllm", {"slug": "vllm", "memory": {"max_num_seqs": 8, "utilization": 0.5}}, "ideal"],
    "workloads": [{"input_tokens": 1000, "output_tokens": 300}],
    "batch_sizes": [1, 32],
}


def faults(**changes):
    body = schemas.Sweep.model_validate_json(orjson.dumps(SWEEP | changes))
    with pytest.raises(ResolutionError) as caught:
        prepare(sweep=schemas.plain(body), slo=None, pricing=None)
    return {("/".join(map(str, issue.path)), issue.code) for issue in caught.value.faults}


def test_every_row_equals_the_answer_to_its_request(api, ana):
    sweep = sweep_of(**SWEEP)
    rows = sweep.rows(0, sweep.total_rows)
    models = dict(
        zip(["llama-3.1-8b", "our 8B", "=8B by shape", "llama-3.1-8b (kv_heads=32)"], SWEEP["models"], strict=True)
    )
    gpus = dict(zip(["h100-sxm5-80gb", "our card"], SWEEP["gpus"], strict=True))
    engines = {
        "vllm-0.33": ("vllm-0.33", {}),
        "vllm-0.33 (utilization=0.5, max_num_seqs=8)": ("vllm-0.33", {"max_num_seqs": 8, "utilization": 0.5}),
        "ideal": ("ideal", {}),
    }
    seen = set()
    columns = {name: values(rows, name) for name in rows}
    for number in range(sweep.total_rows):
        row = {name: column[number] for name, column in columns.items()}
        engine, memory = engines[row["engine"]]
        body = {
            "model": models[row["model"]], "gpu": gpus[row["gpu"]], "engine": engine, "memory": memory,
            "workload": SWEEP["workloads"][0] | {"concurrency": int(row["batch_size"])},
        }  # fmt: skip
        speed = api(ana).post("/api/v1/estimates/throughput/", body).json()
        for name in ("tpot_s", "ttft_s", "tokens_per_s_total"):
            band = speed["expected"][name]
            assert row[f"{name}_mid"] == (band and pytest.approx(band["mid"], rel=1e-12)), (name, body)
        fit = api(ana).post("/api/v1/estimates/memory-fit/", body).json()
        assert row["weights_bytes"] == pytest.approx(fit["per_gpu"]["weights_bytes"], abs=2), body
        seen.add((row["model"], row["gpu"], row["engine"]))
    assert seen == {(model, gpu, engine) for model in models for gpu in gpus for engine in engines}


def test_settings_are_told_with_all_their_digits():
    engines = [{"slug": "vllm", "memory": {"runtime_overhead_bytes": size}} for size in (5_000_000_000, 5_000_000_001)]
    engines.append({"slug": "vllm", "memory": {"utilization": 0.9000001, "max_num_seqs": 1e6}})
    assert sweep_of(**SWEEP | {"engines": engines}).axes.labels["engine"] == (
        "vllm-0.33 (runtime_overhead_bytes=5000000000)",
        "vllm-0.33 (runtime_overhead_bytes=5000000001)",
        "vllm-0.33 (utilization=0.9000001, max_num_seqs=1000000)",
    )


def test_settings_of_all_engines_and_of_one():
    sweep = sweep_of(**SWEEP | {"memory": {"runtime_overhead_bytes": 5_000_000_000, "max_num_seqs": 4}})
    first, second, _ideal = sweep.axes.engines
    assert (first.memory.max_num_seqs, first.memory.utilization) == (4, None)
    assert (second.memory.max_num_seqs, second.memory.utilization) == (8, 0.5)
    assert first.memory.runtime_overhead_bytes == second.memory.runtime_overhead_bytes == 5_000_000_000
    assert values(sweep.rows(0, 1), "runtime_overhead_bytes") == [5_000_000_000]


def test_adapters_take_memory_in_every_row():
    plain, loaded = sweep_of(**SWEEP), sweep_of(**SWEEP | {"lora": {"max_loras": 8, "max_rank": 64}})
    before, after = (values(sweep.rows(0, 1), "slack_bytes")[0] for sweep in (plain, loaded))
    assert before - after > 1e8


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"models": [OURS | {"name": None}]}, {("sweep/models/0/name", "required")}),
        ({"gpus": [CARD | {"name": "l4"}]}, {("sweep/gpus/0/name", "ambiguous")}),
        ({"models": [OURS, SHAPE | {"name": "our 8B"}]}, {("sweep/models/1", "ambiguous")}),
        ({"engines": ["vllm", {"slug": "vllm"}]}, {("sweep/engines/1", "ambiguous")}),
        (
            {"models": [{"slug": "lama"}, "lama"]},
            {("sweep/models/0", "unknown_slug"), ("sweep/models/1", "unknown_slug")},
        ),
        ({"engines": [{"slug": "vlm"}]}, {("sweep/engines/0", "unknown_slug")}),
        ({"precisions": [{"kv_cache": "q8_0"}], "engines": ["vllm"]}, {("sweep/precisions/0", "not_supported")}),
    ],
)  # fmt: skip
def test_entries_that_cannot_be_are_named(changes, expected):
    assert faults(**changes) == expected


def test_a_config_without_a_rule_is_422_at_its_place(api, ana):
    sweep = SWEEP | {"models": ["llama-3.1-8b", {"config": CONFIG | {"model_type": "lamma"}, "name": "x"}]}
    answer = api(ana).post("/api/v1/reports/", {"name": "x", "sweep": sweep})
    assert answer.status_code == 422
    assert answer.json()["type"].endswith("unknown-architecture")
    assert answer.json()["errors"][0]["pointer"] == "#/sweep/models/1/config/model_type"
    assert not ReportVersion.objects.exists()


def test_a_report_of_inline_entries_is_priced_by_name_found_read_and_compared(api, ana):
    client = api(ana)
    pricing = {"currency": "USD", "price_per_gpu_hour": {"our card": "1.5", "h100-sxm5-80gb": "2"}}
    made = client.post("/api/v1/reports/", {"name": "ours", "sweep": SWEEP, "pricing": pricing}).json()
    worker.run()
    url = f"/api/v1/reports/{made['report']}/"
    version = client.get(f"{url}versions/1/").json()
    assert version["state"] == "complete", version["error"]
    assert version["inputs"]["sweep"]["models"][1]["config"] == CONFIG
    assert set(version["snapshot"]["facts"]["gpu"]) == {"h100-sxm5-80gb"}
    assert any("our card" in text and "1.5" in text for text in version["snapshot"]["assumptions"])
    rows = client.get(f"{url}versions/1/rows/", {"gpu": "our card", "model": "our 8B", "status": "ok"}).json()
    assert rows["count"] > 0
    assert all(row["cost_per_mtok_output_mid"] for row in rows["results"])
    # The bandwidth of a catalog GPU moves its rows, overridden models and engines included, and no inline card.
    card = Gpu.objects.get(slug="h100-sxm5-80gb")
    card.memory_bandwidth_bytes_per_s *= 1.1
    card.save()
    assert client.post(f"{url}versions/").status_code == 202
    worker.run()
    diff = client.get(f"{url}diff/", {"from": 1, "to": 2}).json()
    assert diff["rows"]["only_in_old"] == diff["rows"]["only_in_new"] == 0
    assert diff["moved"]
    for entry in diff["moved"]:
        assert entry["setting"]["gpu"] == "h100-sxm5-80gb"
        assert {cause["cause"] for cause in entry["causes"]} == {"gpu:h100-sxm5-80gb"}


def test_labels_lead_back_to_the_rows_of_the_catalog():
    sweep = sweep_of(**SWEEP)
    assert sweep.slug_of("model", "llama-3.1-8b (kv_heads=32)") == "llama-3.1-8b"
    assert sweep.slug_of("engine", "vllm-0.33 (utilization=0.5, max_num_seqs=8)") == "vllm-0.33"
    assert sweep.slug_of("gpu", "our card") is None


def test_warnings_of_the_estimates_stand_in_the_report():
    body = schemas.Sweep.model_validate_json(
        orjson.dumps(SWEEP | {"gpus": ["a100-sxm4-80gb"], "precisions": [{"weights": "fp8"}]})
    )
    prepared = prepare(sweep=schemas.plain(body), slo=None, pricing=None)
    assert any("unpacked to 16 bits" in text for text in prepared.snapshot["warnings"])
