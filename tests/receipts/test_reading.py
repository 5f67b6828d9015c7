"""Public files of each format are recognised and read: their figures in base units, as their pages print them."""

import json
from collections import Counter

import pytest

from receipts.reading import recognise
from receipts.reading.receipt import ReadError, Receipt
from receipts.reading.recognise import read_receipt
from tests.receipts.files import FOLDER, sources, text_of

# File: format version, engine, its version, model, GPU, tp; load and figures of the first run, by hand from the file.
READ = {
    "vllm-0.25-opt-125m.json": (
        ("0.11", None, None, "facebook/opt-125m", None, None),
        {"input_tokens": 32, "output_tokens": 16, "concurrency_asked": 2, "requests": 8,
         "duration_s": 1.3653671270003542},
        {("ttft_s", "mean"): 0.21727289, ("tpot_s", "median"): 0.00832349, ("e2e_s", "p99"): 0.87680097,
         ("output_tokens_per_s", "mean"): 93.7476796},
    ),
    "vllm-0.25-opt-125m-8.json": (
        ("0.11", None, None, "facebook/opt-125m", None, None),
        {"requests": 8, "failed": 0, "total_output_tokens": 128},
        {("requests_per_s", "mean"): 11.655204, ("ttft_s", "median"): 0.036011, ("tpot_s", "p99"): 0.012104},
    ),
    "vllm-0.6-llama-3.1-8b-fp8.json": (
        ("0.6", None, None, "neuralmagic/Meta-Llama-3.1-8B-FP8", None, None),
        {"input_tokens": 136.9, "output_tokens": 44.2, "concurrency_asked": None, "requests_per_s_asked": None},
        {("ttft_s", "median"): 0.062476988, ("tpot_s", "mean"): 0.0060185316, ("e2e_s", "mean"): 0.2903534},
    ),
    "sglang-llama-3.3-70b-online.jsonl": (
        ("retokenized", "sglang", None, None, None, None),
        {"input_tokens": 152612 / 300, "requests_per_s_asked": 1, "requests": 300, "input_tokens_asked": None},
        {("e2e_s", "mean"): 7.8406162, ("itl_s", "median"): 0.013638956, ("output_tokens_per_s", "mean"): 537.414285},
    ),
    "sglang-deepseek-offline.jsonl": (
        ("retokenized", "sglang", None, None, None, None),
        {"output_tokens": 512, "output_tokens_asked": 512, "requests_per_s_asked": None, "concurrency_asked": None},
        {("ttft_s", "median"): 10.0141045, ("output_tokens_per_s", "mean"): 12412.39467},
    ),
    "guidellm-0.8-mock.json": (
        ("0.8.0.dev18", None, None, "e2e-mock-model", None, None),
        {"input_tokens": 71.5, "output_tokens": 8, "requests": 2, "requests_per_s_asked": 2,
         "duration_s": 5.01964807},
        {("ttft_s", "mean"): 0.011481166, ("tpot_s", "mean"): 0.0011508465,
         ("normalized_tpot_s", "mean"): 0.0024421364, ("e2e_s", "mean"): 0.0197891},
    ),
    "guidellm-0.5-qwen3-0.6b.yaml": (
        ("0.5.0", None, None, "Qwen/Qwen3-0.6B", None, None),
        {"input_tokens": 264, "output_tokens": 128, "concurrency_asked": 1, "requests": 22, "duration_s": 60},
        {("ttft_s", "median"): 0.064163208, ("tpot_s", "mean"): 0.020961648, ("e2e_s", "p90"): 3.2946007,
         ("requests_per_s", "mean"): 0.35},
    ),
    "aiperf-0.11-qwen3-4b.json": (
        ("0.11.0", None, None, "qwen3-4b", None, None),
        {"output_tokens": 265.351588, "concurrency_asked": 32, "requests": 3305,
         "duration_s": 299.975831},
        {("ttft_s", "p90"): 0.0419489516, ("tpot_s", "mean"): 0.0107274477,
         ("output_tokens_per_s", "mean"): 2923.525523},
    ),
    "aiperf-qwen3.6-agent.csv": (
        ("csv", None, None, None, None, None),
        {"input_tokens": 3761.31, "output_tokens": 543.61, "requests": 96, "duration_s": 44.52},
        {("ttft_s", "median"): 0.17779, ("tpot_s", "p99"): 0.01327, ("total_tokens_per_s", "mean"): 9282.32},
    ),
    "genai-perf-dynamo.csv": (
        ("csv", None, None, None, None, None),
        {"input_tokens": 3000.05, "output_tokens": 174.45, "requests": 40, "duration_s": None},
        {("ttft_s", "mean"): 1.14631, ("ttft_s", "p90"): 3.21506, ("tpot_s", "mean"): 0.03035,
         ("requests_per_s", "mean"): 1.5},
    ),
    "llm-d-report-0.1.yaml": (
        ("0.1", "vllm", "0.9.0.1", "deepseek-ai/DeepSeek-R1-0528", "H100", None),
        {"input_tokens": 628.606060606061, "output_tokens": 31.7878787878788, "requests": 32, "failed": 0},
        {("ttft_s", "mean"): 0.000800974443, ("tpot_s", "p90"): 0.000152292037, ("requests_per_s", "mean"): 1.02381553},
    ),
    "llm-d-report-0.2.yaml": (
        ("0.2", None, None, "Qwen/Qwen3-0.6B", "NVIDIA-H100-80GB-HBM3", 8),
        {"duration_s": 49.97206788, "requests_per_s_asked": 10, "input_tokens_asked": 2148,
         "output_tokens_asked": None},
        {("ttft_s", "median"): 0.036229, ("ttft_s", "p99"): 0.050295},
    ),
    "trtllm-0.16-llama-3.1-70b.txt": (
        ("text", "tensorrt-llm", "0.16.0", "meta-llama/Llama-3.1-70B-Instruct", None, 8),
        {"input_tokens": 1024, "output_tokens": 1024, "requests": 3000, "duration_s": 281.9933779},
        {("output_tokens_per_s", "mean"): 10893.8728, ("requests_per_s", "mean"): 10.6385},
    ),
    "trtllm-0.17-llama-3.1-8b.txt": (
        ("text", "tensorrt-llm", "0.17.0", "meta-llama/Llama-3.1-8B", None, 1),
        {"input_tokens": 128, "requests": 3000, "duration_s": 13.5256862},
        {("output_tokens_per_s", "mean"): 28390.4265, ("requests_per_s", "mean"): 221.8002},
    ),
    "llama-bench-qwen2.5-7b.json": (
        ("json", "llama.cpp", "b5163", "Qwen2.5-7B-Instruct-Q4_K_M.gguf", "NVIDIA GeForce RTX 4080", None),
        {"input_tokens": 512, "output_tokens": 0, "depth_tokens": 0, "concurrency_asked": 1},
        {("prefill_tokens_per_s", "mean"): 7100.002165},
    ),
    "llama-bench-qwen2.5-7b.csv": (
        ("csv", "llama.cpp", "b5163", "Qwen2.5-7B-Instruct-Q4_K_M.gguf", "NVIDIA GeForce RTX 4080", None),
        {"input_tokens": 512},
        {("prefill_tokens_per_s", "mean"): 7285.676949},
    ),
    "llama-bench-strix-halo.txt": (
        ("md", "llama.cpp", "b9193", "qwen35 27B Q8_0", "AMD Radeon 8060S Graphics", None),
        {"input_tokens": 512, "output_tokens": 0},
        {("prefill_tokens_per_s", "mean"): 274.97},
    ),
    "startup-trtllm-1.1-tinyllama.log": (
        ("tensorrt-llm", "tensorrt-llm", None, "TinyLlama/TinyLlama-1.1B-Chat-v1.0", None, None),
        {"requests": None},
        {("cache_token_bytes", "value"): 22528, ("memory_bytes", "value"): 47.37 * 2**30,
         ("weights_bytes", "value"): 2.23 * 2**30},
    ),
    "startup-vllm-0.19-qwen3.5.log": (
        ("vllm", "vllm", None, None, None, None),
        {"requests": None},
        {("kv_cache_bytes", "value"): 6.9 * 2**30, ("kv_cache_tokens", "value"): 89760, ("concurrency", "value"): 1.36},
    ),
    "metrics-vllm-llama-3-70b.txt": (
        ("v0", "vllm", None, "meta-llama/Meta-Llama-3-70B-Instruct", None, None),
        {"requests": None},
        {("ttft_s", "mean"): 0.5871782302856445 / 8060},
    ),
    "metrics-vllm-bloom-560m.txt": (
        ("v0", "vllm", None, "bigscience/bloom-560m", None, None),
        {"total_input_tokens": 1196, "total_output_tokens": 218152},
        {},
    ),
    "metrics-vllm-llama-3.1-8b.txt": (
        ("v0", "vllm", None, "meta-llama/Llama-3.1-8B", None, None),
        {"requests": 165, "failed": 0},
        {("ttft_s", "mean"): 89.38 / 165},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir() if path.name != "sources.csv"))
def test_a_public_file_is_recognised_and_read_right(name):
    """18 of 18 and more."""
    about, load, figures = READ[name]
    read = read_receipt(text_of(name))
    assert read.format == next(row["format"] for row in sources() if row["file"] == name)
    said = (read.format_version, read.engine, read.engine_version, read.model, read.gpu, read.degrees.tp)
    assert said == about
    first = read.runs[0]
    for field, value in load.items():
        assert getattr(first.load, field) == (None if value is None else pytest.approx(value, rel=1e-6)), field
    for (figure, statistic), value in figures.items():
        found = first.figure(figure, statistic)
        assert found is not None, figure
        assert found.value == pytest.approx(value, rel=1e-4)
        assert found.field


def test_each_of_the_nine_formats_has_two_public_files():
    counts = Counter(row["format"] for row in sources())
    counts["aiperf"] += counts.pop("genai-perf")
    assert set(counts) == set(recognise.FORMATS) - {"genai-perf"}
    assert min(counts.values()) >= 2
    assert {row["file"] for row in sources()} == {path.name for path in FOLDER.iterdir()} - {"sources.csv"}
    assert all(row["source"] and row["date"] and row["changes"] for row in sources())


def read(value: object) -> Receipt:
    return read_receipt(json.dumps(value))


def test_what_was_not_read_is_named():
    result = json.loads(text_of("vllm-0.25-opt-125m.json")) | {"a_new_key": 3, "generated_texts": ["secret"]}
    left = read(result).not_read
    assert {"a_new_key", "generated_texts"} <= set(left)
    assert not any("secret" in place for place in left)


@pytest.mark.parametrize(("unit", "value"), [("ms", 0.25), ("s", 250.0), ("us", 0.00025), ("milliseconds", 0.25)])
def test_a_time_is_read_in_the_unit_that_stands_beside_it(unit, value):
    export = json.loads(text_of("aiperf-0.11-qwen3-4b.json"))
    export["time_to_first_token"] = {"unit": unit, "avg": 250.0}
    assert read(export).runs[0].figure("ttft_s", "mean").value == pytest.approx(value)


def test_a_time_in_an_unknown_unit_is_not_read_and_named():
    export = json.loads(text_of("aiperf-0.11-qwen3-4b.json"))
    export["time_to_first_token"]["unit"] = "fortnights"
    found = read(export)
    assert found.runs[0].figure("ttft_s") is None
    assert "time_to_first_token (unit fortnights)" in found.not_read


def test_newer_sglang_says_model_version_and_degrees_of_its_server():
    line = json.loads(text_of("sglang-deepseek-offline.jsonl")) | {
        "server_info": {"version": "0.5.9", "model_path": "deepseek-ai/DeepSeek-V3", "tp_size": 8, "dp_size": 8,
                        "ep_size": 1, "quantization": "fp8", "mem_fraction_static": 0.85, "api_key": "secret"},
        "mean_tpot_ms": 371.0,
    }  # fmt: skip
    found = read(line)
    assert (found.engine_version, found.model) == ("0.5.9", "deepseek-ai/DeepSeek-V3")
    assert (found.degrees.tp, found.degrees.dp, found.degrees.ep) == (8, 8, 1)
    assert found.settings == {"mem_fraction_static": 0.85}
    assert found.runs[0].figure("tpot_s", "mean").value == pytest.approx(0.371)


def test_older_guidellm_holds_its_requests_under_run_stats():
    report = json.loads(text_of("guidellm-0.8-mock.json"))
    run = report["benchmarks"][0]
    made = run["metrics"].pop("request_totals")
    old = {
        "type_": "generative_benchmark",
        "args": {"strategy": {"type_": "concurrent", "streams": 16}},
        "run_stats": {"requests_made": made, "start_time": 1.7e9},
        "worker": {"backend_model": "org/model"},
        "metrics": run["metrics"],
        "start_time": 100.0,
        "end_time": 105.0,
    }
    found = read({"benchmarks": [old]})
    assert (found.model, found.format_version) == ("org/model", "0.2")
    load = found.runs[0].load
    assert (load.concurrency_asked, load.requests, load.duration_s) == (16.0, 2.0, 5.0)


def test_a_report_of_trtllm_bench_in_json_reads_as_its_text_does():
    value = {
        "engine": {"model": "m", "version": "1.2", "backend": "Pytorch", "quantization": "FP8",
                   "kv_cache_dtype": "FP8"},
        "machine": {"name": "NVIDIA H200", "memory.total": 139.8},
        "world_info": {"tp_size": 2, "pp_size": 1, "ep_size": 1, "world_size": 2, "kv_cache_percentage": 0.9},
        "request_info": {"num_requests": 100, "avg_num_concurrent_requests": 31.5, "avg_input_length": 1000.0,
                         "avg_output_length": 200.0},
        "performance": {"total_latency_ms": 20000.0, "request_throughput_req_s": 5.0,
                        "system_output_throughput_tok_s": 1000.0,
                        "request_latency_percentiles_ms": {"p50": 6000.0, "p99": 7000.0, "average": 6300.0}},
        "streaming_metrics": {"avg_ttft_ms": 300.0, "avg_tpot_ms": 30.0, "ttft_percentiles": {"p50": 280.0}},
    }  # fmt: skip
    found = read(value)
    assert (found.gpu, found.gpus, found.weights) == ("NVIDIA H200", 2, "fp8")
    run = found.runs[0]
    assert run.load.duration_s == 20.0
    assert run.figure("tpot_s", "mean").value == pytest.approx(0.03)
    assert run.figure("ttft_s", "median").value == pytest.approx(0.28)
    assert run.figure("e2e_s", "p99").value == pytest.approx(7.0)


def test_a_percentile_of_a_scrape_lies_in_its_bucket_and_says_so():
    text = "\n".join(
        f'vllm:time_to_first_token_seconds{part}{{{labels}model_name="m",engine="{engine}"}} {value}'
        for engine in (0, 1)
        for part, labels, value in (
            ("_bucket", 'le="0.1",', 40), ("_bucket", 'le="0.5",', 90), ("_bucket", 'le="+Inf",', 100),
            ("_sum", "", 25.0), ("_count", "", 100),
        )
    )  # fmt: skip
    run = read_receipt(text).runs[0]
    assert run.figure("ttft_s", "mean").value == pytest.approx(0.25)
    median = run.figure("ttft_s", "median")
    assert (median.low, median.high) == (0.1, 0.5)
    assert median.value == pytest.approx(0.1 + 0.4 * (100 - 80) / (180 - 80))
    assert run.figure("ttft_s", "p99") is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("hello", "unknown_format"),
        ("{}", "unknown_format"),
        ("[1, 2]", "unknown_format"),
        ('{"model_id": 1, "model_id": 2}', "repeated_key"),
        ("[" * 100_000, "unreadable"),
        ('{"completed": ', "unreadable"),
        ("version: &a 0.2\nscenario: *a\nmetrics: {}\n", "unreadable"),
        ("version: 0.2\nscenario: " + "[" * 60 + "]" * 60 + "\nmetrics: {}\n", "unreadable"),
        ("model,build_commit,avg_ts\n1,2\n", "ragged"),
        ("Metric,avg,min\nTime To First Token (ms),1\n", "ragged"),
        ("| model | test | t/s |\n| --- | --- | --- |\n| x | what | 3 |\n", "not_a_test"),
        ("vllm:num_requests_running -1\n", "negative"),
        ("vllm:num_requests_running{ nothing\n", "not_a_sample"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_a_format_is_refused_with_the_reason(text, code):
    with pytest.raises(ReadError) as refused:
        read_receipt(text)
    assert refused.value.code == code
    assert refused.value.detail


@pytest.mark.parametrize("value", ["abc", [], {}, True, float("nan"), float("inf"), 1e400, "1e99999"])
def test_a_figure_that_is_no_number_is_refused_with_its_place(value):
    result = json.loads(text_of("vllm-0.25-opt-125m.json")) | {"mean_ttft_ms": value}
    with pytest.raises(ReadError) as refused:
        read(result)
    assert refused.value.field == "mean_ttft_ms"
