"""Settings of servers and traffic over REST: what they change, what is echoed, and what is refused."""

import orjson
import pytest

from estimator.constants.engine_settings import all_settings, settings_of
from estimator.estimates.sweep import compute as sweeps
from reports.api.schemas import CreateReportRequest, plain
from reports.services.preparing import prepare

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

MODEL = {"model": "qwen3-30b-a3b", "gpu": "h100-sxm5-80gb", "precision": {"kv_cache": "bf16"}}
LOAD = {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 500, "concurrency": 32}
BENCHMARK = {"kind": "benchmark", "random_range_ratio": 0.8}


@pytest.fixture
def ask(client):
    def post(engine="vllm-0.19", traffic=None, **body):
        load = LOAD | body.pop("workload", {}) | ({"traffic": traffic} if traffic else {})
        body = MODEL | {"engine": engine, "workload": load} | body
        return client.post("/api/v1/estimates/throughput/", orjson.dumps(body), content_type="application/json")

    return post


def ttft(answer, side="mid"):
    return answer.json()["expected"]["ttft_s"][side]


def echoed(answer):
    return {entry["name"]: entry for entry in answer.json()["inputs"]["engine_settings"]}


def test_every_engine_with_settings_takes_each_of_them(ask):
    values = {"flag": True, "tokens": 4096, "count": 64, "steps": 8, "share": 0.5, "ratio": 0.9}
    for engine in ("vllm-0.19", "sglang-0.5", "tensorrt-llm-1"):
        for setting in settings_of(engine.rsplit("-", 1)[0]).values():
            answer = ask(engine, engine_settings={setting.name: values[setting.kind]})
            assert answer.status_code == 200, (setting.name, answer.json())


def test_a_setting_of_another_engine_is_refused_with_what_is_allowed(ask):
    answer = ask("vllm-0.19", engine_settings={"chunked_prefill_size": 4096})
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "#/engine_settings/chunked_prefill_size"
    for name in settings_of("vllm"):
        assert name in error["detail"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stream_interval": 0}, "from 1"),
        ({"stream_interval": 1.5}, "whole number"),
        ({"async_scheduling": 1}, "true or false"),
        ({"max_num_seqs": True}, "number"),
        ({"gpu_memory_utilization": 1.5}, "from 0 to 1"),
    ],
)
def test_a_value_that_the_engine_would_not_take_is_refused(ask, settings, words):
    answer = ask(engine_settings=settings)
    assert answer.status_code == 400
    assert words in answer.json()["errors"][0]["detail"]


def test_a_setting_and_the_same_override_of_memory_have_to_agree(ask):
    same = {"max_num_seqs": 64}
    assert ask(engine_settings=same, memory={"max_num_seqs": 64}).status_code == 200
    refused = ask(engine_settings=same, memory={"max_num_seqs": 32}).json()["errors"]
    assert refused[0]["pointer"] == "#/engine_settings/max_num_seqs"
    by_setting, by_override = ask(engine_settings=same), ask(memory={"max_num_seqs": 64})
    assert by_setting.json()["expected"] == by_override.json()["expected"]


def test_the_answer_says_which_settings_were_stated_and_which_are_defaults(ask):
    found = echoed(ask(engine_settings={"stream_interval": 10}))
    assert found["stream_interval"] == {"name": "stream_interval", "value": 10, "stated": True}
    assert found["async_scheduling"] == {"name": "async_scheduling", "value": True, "stated": False}


def test_a_default_is_that_of_the_release(ask):
    """vLLM plans ahead by default from 0.14; SGLang captures prompts in pieces from 0.5.10."""
    for release, value in (("vllm-0.13.0", False), ("vllm-0.14.0", True), ("vllm-0.19", True)):
        assert echoed(ask(release))["async_scheduling"]["value"] is value, release
    for release, value in (("sglang-0.5.9", True), ("sglang-0.5.10", False)):
        assert echoed(ask(release))["disable_piecewise_cuda_graph"]["value"] is value, release


def test_every_default_has_a_source_and_holds_from_a_version():
    for setting in all_settings():
        assert setting.source, setting.name
        assert setting.meaning.endswith("."), setting.name
        versions = [since for since, _ in setting.defaults]
        assert versions == sorted(set(versions)), setting.name


def test_a_mailbox_that_is_read_seldom_makes_first_tokens_wait(ask):
    often, seldom = ask("sglang-0.5"), ask("sglang-0.5", engine_settings={"scheduler_recv_interval": 30})
    step = seldom.json()["decode"]["step_s"]
    assert ttft(seldom) - ttft(often) > 10 * step


def test_a_plain_start_is_slower(ask):
    tuned, plain = ask("sglang-0.5"), ask("sglang-0.5", launch="default")
    assert plain.json()["expected"]["tpot_s"]["mid"] > 1.03 * tuned.json()["expected"]["tpot_s"]["mid"]
    assert plain.json()["inputs"]["launch"] == "default"


def test_a_benchmark_waits_longer_than_a_service(ask):
    assert ttft(ask(traffic=BENCHMARK)) > 1.05 * ttft(ask())
    assert ask(traffic=BENCHMARK).json()["first_token"]["traffic"] == "benchmark"


def test_requests_of_a_run_are_rounds_times_concurrency(ask):
    by_rounds = ask(traffic=BENCHMARK | {"requests_per_concurrency": 5})
    by_requests = ask(traffic=BENCHMARK | {"requests": 160})
    assert by_rounds.json()["expected"] == by_requests.json()["expected"]
    both = ask(traffic=BENCHMARK | {"requests": 160, "requests_per_concurrency": 5})
    assert both.json()["errors"][0]["pointer"] == "#/workload/traffic/requests"


@pytest.mark.parametrize("field", ["requests", "requests_per_concurrency", "random_range_ratio", "ramp_s"])
def test_a_service_has_no_setting_of_a_benchmark(ask, field):
    answer = ask(traffic={field: 1})
    assert answer.json()["errors"][0]["pointer"] == f"#/workload/traffic/{field}"


def test_only_a_closed_loop_has_a_benchmark_client(ask):
    answer = ask(workload={"mode": "open_loop", "requests_per_s": 1.0}, traffic=BENCHMARK)
    assert answer.json()["errors"][0]["pointer"] == "#/workload/traffic/kind"


def test_the_client_is_charged_only_where_it_is_stated(ask):
    service, measured = ask(), ask(traffic={"client_s": 0.015})
    parts = service.json()["first_token"]
    assert parts["outside_s"] < 0.012
    assert measured.json()["first_token"]["outside_s"] == pytest.approx(parts["outside_s"] + 0.015)


@pytest.mark.parametrize("mode", [{}, {"mode": "open_loop", "concurrency": None, "requests_per_s": 3.0}])
def test_parts_add_up_to_the_mean_and_percentiles_rise(ask, mode):
    answer = ask(workload=mode).json()
    parts = answer["first_token"]
    whole = parts["outside_s"] + parts["waiting_s"] + parts["forward_s"]
    assert whole == pytest.approx(answer["expected"]["ttft_s"]["mid"])
    percentiles = [parts[f"ttft_s_p{p}"] for p in (50, 90, 95, 99)]
    assert percentiles == sorted(percentiles)


@pytest.mark.parametrize("statistic", ["p50", "p90", "p95", "p99"])
def test_a_percentile_that_is_asked_for_is_the_one_of_the_parts(ask, statistic):
    answer = ask(traffic=BENCHMARK | {"statistic": statistic}).json()
    assert answer["expected"]["ttft_s"]["mid"] == pytest.approx(answer["first_token"][f"ttft_s_{statistic}"])
    mean = ask(traffic=BENCHMARK).json()
    # The band moves with the middle, and the whole answer stays that of the mean.
    ratio = answer["expected"]["ttft_s"]["high"] / answer["expected"]["ttft_s"]["mid"]
    assert ratio == pytest.approx(mean["expected"]["ttft_s"]["high"] / mean["expected"]["ttft_s"]["mid"])
    assert answer["expected"]["e2e_s"] == mean["expected"]["e2e_s"]


def test_a_first_token_is_shorter_the_later_its_clock_starts(ask):
    client, admission, forward = (ask(traffic={"ttft_at": place}) for place in ("client", "admission", "forward"))
    parts = client.json()["first_token"]
    assert ttft(client) - ttft(admission) == pytest.approx(parts["outside_s"])
    assert ttft(forward) == pytest.approx(parts["forward_s"])
    refused = ask(traffic={"ttft_at": "forward", "statistic": "p99"}).json()["errors"]
    assert refused[0]["pointer"] == "#/workload/traffic/statistic"


ONE = {"input_tokens": 1000, "output_tokens": 500}
MODES = [
    {"mode": "closed_loop", "concurrency": 8},
    {"mode": "closed_loop", "concurrency": 100_000},
    {"mode": "closed_loop", "concurrency": 8, "output_tokens": 1},
    {"mode": "open_loop", "requests_per_s": 1.0},
    {"mode": "open_loop", "requests_per_s": 1e5},
    {"mode": "offline"},
    {"mode": "static_batch", "concurrency": 8},
    {"mode": "single_stream"},
    {"mode": "decode_step", "concurrency": 8},
]


@pytest.mark.parametrize("load", MODES, ids=lambda load: "-".join(map(str, load.values())))
@pytest.mark.parametrize("engine", ["vllm", "ideal", "llama.cpp"])
def test_a_figure_that_is_not_said_has_its_reason(client, load, engine):
    body = {"model": "qwen3-30b-a3b", "gpu": "h100-sxm5-80gb", "engine": engine, "workload": ONE | load}
    answer = client.post("/api/v1/estimates/throughput/", orjson.dumps(body), content_type="application/json").json()
    expected = answer["expected"]
    figures = {name: expected[name] for name in ("ttft_s", "tpot_s", "e2e_s", "tokens_per_s_total", "requests_per_s")}
    if None in figures.values():
        assert expected["reason"] is not None, figures
        assert expected["reason_detail"]
    else:
        assert expected["reason"] is None


@pytest.fixture
def size(client):
    def post(slo=None, demand=None, workload=None, **body):
        body = {
            "model": "llama-3.1-8b", "engine": "vllm-0.19", "demand": demand or {"concurrency": 20_000},
            "workload": {"input_tokens": 1000, "output_tokens": 200} | (workload or {}),
            "candidates": {"gpus": ["h100-sxm5-80gb"], "tp": [1]}, "slo": slo or {"ttft_s": 0.2, "band_side": "mid"},
        } | body  # fmt: skip
        return client.post("/api/v1/estimates/sizing/", orjson.dumps(body), content_type="application/json").json()

    return post


def test_a_sizing_takes_launch_settings_and_the_first_token_that_its_target_is_held_against(size):
    def replicas(**body):
        return size(**body)["options"][0]["replicas"]

    plain = replicas()
    steady = {"tpot_s": 0.015}
    assert replicas(slo=steady, launch="default") > replicas(slo=steady)
    assert replicas(engine_settings={"max_num_seqs": 2}) == 10_000
    assert replicas(workload={"traffic": {"client_s": 0.02}}) > plain
    assert (
        replicas(workload={"traffic": {"statistic": "p99"}})
        > plain
        > replicas(workload={"traffic": {"ttft_at": "forward"}})
    )
    echoed = size(launch="default", engine_settings={"stream_interval": 10})["inputs"]
    assert echoed["launch"] == "default"
    assert {"name": "stream_interval", "value": 10, "stated": True} in echoed["engine_settings"]


def test_a_sizing_refuses_a_benchmark_and_names_what_no_target_is_held_against(size):
    refused = size(workload={"traffic": {"kind": "benchmark"}})["errors"]
    assert refused[0]["pointer"] == "#/workload/traffic/kind"
    p99 = {"traffic": {"statistic": "p99"}}
    for body in ({"slo": {"tpot_s": 0.05}}, {"demand": {"requests_per_s_peak": 5}, "slo": {"ttft_s": 1}}):
        assert any("workload.traffic.statistic" in text for text in size(workload=p99, **body)["warnings"])


@pytest.mark.parametrize("asked", [{"statistic": "p99"}, {"ttft_at": "forward"}])
def test_a_target_of_the_whole_answer_does_not_depend_on_the_first_token_asked_for(ask, asked):
    load = {"mode": "open_loop", "requests_per_s": 5, "concurrency": None}
    plain, other = (ask(workload=load, traffic=one, slo={"e2e_s": 6}).json() for one in (None, asked))
    assert plain["expected"]["ttft_s"] != other["expected"]["ttft_s"]
    assert plain["expected"]["max_requests_per_s_within_slo"] == other["expected"]["max_requests_per_s_within_slo"]
    assert plain["expected"]["max_requests_per_s_within_slo"]["mid"] > 0
    assert plain["meets_slo"] == other["meets_slo"]


def test_memory_names_the_settings_that_it_does_not_depend_on(client):
    settings = {"stream_interval": 10, "max_num_seqs": 64}
    body = MODEL | {"engine": "vllm-0.19", "launch": "default", "engine_settings": settings}
    answer = client.post("/api/v1/estimates/memory-fit/", orjson.dumps(body), content_type="application/json").json()
    (text,) = [one for one in answer["warnings"] if "memory does not depend" in one]
    assert "launch" in text
    assert "engine_settings.stream_interval" in text
    assert "max_num_seqs" not in text


def test_each_load_of_a_sweep_has_its_own_traffic(ask):
    kinds = [None, {"client_s": 0.1}, BENCHMARK, *({"statistic": "p99", "client_s": n / 100} for n in range(32))]
    order = {"name": "r", "sweep": {
        "models": [MODEL["model"]], "gpus": [MODEL["gpu"]], "engines": ["vllm-0.19"],
        "precisions": [MODEL["precision"]],
        "workloads": [
            LOAD | {"name": str(n)} | ({"traffic": traffic} if traffic else {}) for n, traffic in enumerate(kinds)
        ],
    }}  # fmt: skip
    body = CreateReportRequest.model_validate_json(orjson.dumps(order))
    made = prepare(sweep=plain(body.sweep), slo=None, pricing=None)
    rows = sweeps.load(made.inputs, made.snapshot).rows(0, len(kinds))
    for place in (0, 1, 2, len(kinds) - 1):
        assert rows["ttft_s_mid"][place] == pytest.approx(ttft(ask(traffic=kinds[place])))


@pytest.mark.parametrize("workload", [{}, {"mode": "open_loop", "concurrency": None, "requests_per_s": 4}])
def test_the_client_s_own_time_is_stated_and_no_band_is_around_it(client, workload):
    workload = {name: value for name, value in (LOAD | workload).items() if value is not None}
    served, sent = (_first_token(client, workload, client_s) for client_s in (0.0, 60.0))
    for side in ("low", "mid", "high"):
        assert sent[side] >= 60.0
        if workload["mode"] == "open_loop":
            assert sent[side] - 60.0 == pytest.approx(served[side], rel=1e-6)


def _first_token(client, workload, client_s):
    kind = {"kind": "steady"} if workload["mode"] == "open_loop" else BENCHMARK
    body = MODEL | {"engine": "vllm-0.19", "workload": workload | {"traffic": kind | {"client_s": client_s}}}
    answer = client.post("/api/v1/estimates/throughput/", orjson.dumps(body), content_type="application/json")
    return answer.json()["expected"]["ttft_s"]
