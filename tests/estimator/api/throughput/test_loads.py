"""`estimates/throughput/` over REST: modes, targets, gaps and faults."""

import pytest

from tests.estimator.api.pencil import work_out
from tests.estimator.api.throughput.bodies import CLOSED, REAL

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]


def test_targets_that_are_missed_leave_no_goodput(ask):
    answer = ask(**REAL, workload=CLOSED, slo={"tpot_s": 0.001}).json()
    assert answer["meets_slo"]["all"] is False
    assert answer["expected"]["goodput_requests_per_s"]["mid"] == 0
    assert answer["expected"]["max_requests_per_s_within_slo"]["mid"] == 0


@pytest.mark.parametrize(
    "workload",
    [
        CLOSED,
        CLOSED | {"mode": "static_batch"},
        {"mode": "single_stream", "input_tokens": 1000, "output_tokens": 500},
        {"mode": "offline", "input_tokens": 1000, "output_tokens": 500},
        {"mode": "decode_step", "context_tokens": 4000, "concurrency": 16},
        {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 500, "requests_per_s": 2.0},
    ],
)
def test_every_mode_answers_and_no_figure_beats_its_ceiling(ask, workload):
    answer = ask("?explain=true", **REAL, workload=workload).json()
    for name in ("ttft_s", "tpot_s", "e2e_s"):
        if answer["expected"][name] is not None:
            assert answer["expected"][name]["low"] >= answer["ceiling"][name] * (1 - 1e-12)
    for name in ("tokens_per_s_per_user", "tokens_per_s_total", "requests_per_s"):
        if answer["expected"][name] is not None:
            assert answer["expected"][name]["high"] <= answer["ceiling"][name] * (1 + 1e-12)
    assert answer["explanation"]


def test_the_parts_of_the_time_add_up_to_the_whole(ask):
    answer = ask(**REAL, workload=CLOSED).json()
    assert sum(answer["time_breakdown_s"].values()) == pytest.approx(answer["expected"]["e2e_s"]["mid"], rel=1e-9)


def test_arrivals_beyond_what_is_served_have_no_first_token_time(ask):
    answer = ask(
        **REAL, workload={"mode": "open_loop", "input_tokens": 1000, "output_tokens": 500, "requests_per_s": 900.0}
    )
    answer = answer.json()
    assert answer["expected"]["ttft_s"] is None
    assert answer["expected"]["e2e_s"] is None
    assert answer["expected"]["reason"] == "queue_grows"
    assert 0 < answer["open_load"]["max_stable_requests_per_s"] < 900


def test_bursts_lengthen_the_tail_and_not_the_throughput(ask):
    def at(variation):
        load = {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 200, "requests_per_s": 10.0}
        return ask(**REAL, workload=load | {"burstiness_cv": variation}).json()

    poisson, bursty = at(1.0), at(3.0)
    assert bursty["open_load"]["ttft_s_p99"] > 1.5 * poisson["open_load"]["ttft_s_p99"]
    assert bursty["expected"]["tokens_per_s_total"]["mid"] == poisson["expected"]["tokens_per_s_total"]["mid"]


def test_a_saturated_loop_with_assumed_settings_says_no_first_token_time(ask):
    stated = ask(**REAL, workload=CLOSED | {"concurrency": 900}).json()
    assumed = ask(**{k: v for k, v in REAL.items() if k != "memory"}, workload=CLOSED | {"concurrency": 900}).json()
    assert stated["concurrency"]["saturated"]
    assert stated["expected"]["ttft_s"]["mid"] > 1
    assert assumed["expected"]["ttft_s"] is None
    assert assumed["expected"]["reason"] == "kv_settings_assumed"
    assert assumed["expected"]["tpot_s"]["mid"] > 0


def test_what_does_not_fit_is_an_answer(ask):
    answer = ask(model="llama-3-70b", gpu="l4", workload=CLOSED).json()
    assert answer["feasible"] is False
    assert answer["expected"]["tpot_s"] is None
    assert answer["expected"]["reason"] == "does_not_fit"


def test_an_accelerator_without_measured_kernels_has_only_a_ceiling(ask):
    answer = ask(model="llama-3.1-8b", gpu="gaudi3", workload=CLOSED).json()
    assert answer["ceiling"]["tpot_s"] > 0
    assert answer["expected"]["tpot_s"] is None
    assert answer["expected"]["reason"] == "missing-figure"


def test_speculation_gains_at_batch_1_and_reverses_with_the_batch(ask):
    def at(concurrency):
        return ask(
            **REAL,
            workload=CLOSED | {"concurrency": concurrency},
            speculative={"acceptance_rate": 0.6, "draft_tokens": 5, "draft_cost_ratio": 0.1},
        ).json()["speculative"]

    one, many = at(1), at(256)
    assert one["speedup"] > 1 > many["speedup"]
    assert 1 < many["reversal_batch_size"] <= 256
    assert one["tokens_per_pass"] == pytest.approx((1 - 0.6**6) / 0.4)


def test_a_cached_prefix_shortens_the_first_token_in_whole_blocks(ask):
    cold = ask(**REAL, workload=CLOSED).json()
    warm = ask(**REAL, workload=CLOSED | {"prefix_cache_hit_rate": 0.9}).json()
    assert warm["expected"]["ttft_s"]["mid"] < cold["expected"]["ttft_s"]["mid"]
    assert warm["prefill"]["flops"] < 0.2 * cold["prefill"]["flops"]


def test_a_workload_is_needed(ask):
    response = ask(**REAL)
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "#/workload"


def test_the_cache_a_server_printed_beats_the_model(ask):
    # Blocks of 16: each of ten sequences of 1,250 tokens takes 1,264.
    answer = ask(**REAL | {"memory": {"kv_cache_tokens_observed": 12_640}}, workload=CLOSED).json()
    assert answer["concurrency"]["basis"] == "observed"
    assert answer["concurrency"]["max_sequences"] == 10
    assert answer["concurrency"]["saturated"]
    assert answer["expected"]["ttft_s"]["mid"] > 1


def test_the_answer_names_the_flags_of_the_engine(ask):
    assert "--gpu-memory-utilization 0.9" in ask(**REAL, workload=CLOSED).json()["launch_hint"]


def test_a_target_that_every_request_meets_leaves_the_whole_rate_as_goodput(ask):
    load = {"mode": "open_loop", "input_tokens": 100, "output_tokens": 100, "requests_per_s": 3.0, "burstiness_cv": 0.0}
    expected = ask(**REAL, workload=load, slo={"e2e_s": 60.0}).json()["expected"]
    assert expected["goodput_requests_per_s"]["mid"] == pytest.approx(3.0, rel=1e-6)
    half = ask(**REAL, workload=load | {"burstiness_cv": 3.0, "requests_per_s": 100.0}, slo={"ttft_s": 0.07}).json()
    assert half["expected"]["goodput_requests_per_s"]["mid"] < 100.0


def test_one_stream_of_llama_cpp_spends_its_time_in_parts_that_add_up(ask):
    load = {"mode": "single_stream", "input_tokens": 500, "output_tokens": 200}
    answer = ask(model="llama-3-8b", gpu="rtx-4090", engine="llama.cpp", precision={"weights": "q4_k_m"}, workload=load)
    parts = answer.json()["time_breakdown_s"]
    assert parts["decode_overhead"] > 0
    assert sum(parts.values()) == pytest.approx(answer.json()["expected"]["e2e_s"]["mid"], rel=1e-9)


def test_mean_lengths_need_not_be_whole_and_a_prompt_or_an_answer_may_be_missing(ask):
    assert ask(**REAL, workload=CLOSED | {"input_tokens": 921.6, "output_tokens": 921.6}).status_code == 200
    bare = {"model": "llama-3-8b", "gpu": "rtx-4090", "engine": "llama.cpp", "precision": {"weights": "q4_k_m"}}
    decode = ask(**bare, workload={"mode": "single_stream", "input_tokens": 0, "output_tokens": 512}).json()
    prefill = ask(**bare, workload={"mode": "single_stream", "input_tokens": 512, "output_tokens": 0}).json()
    assert decode["expected"]["tokens_per_s_per_user"]["mid"] > 100
    assert prefill["prefill"]["tokens_per_s"] > 3000


def test_the_figures_run_as_many_sequences_as_the_launch_hint_starts(ask):
    # vLLM runs 256 at once on an A100 by default: of a load of 500 that fits the others wait, unless more are stated.
    body = REAL | {"gpu": "a100-sxm4-80gb", "model": "llama-3.2-1b"}
    load = {"mode": "closed_loop", "input_tokens": 100, "output_tokens": 100, "concurrency": 500}
    answer = ask(**body, workload=load).json()
    concurrency = answer["concurrency"]
    assert (concurrency["effective"], concurrency["max_sequences"], concurrency["saturated"]) == (256, 256, True)
    assert concurrency["engine_max_sequences"] == 256 < 500 < concurrency["full_length_sequences"]
    assert "--max-num-seqs 256" in answer["launch_hint"]
    assert any("256" in text and "memory.max_num_seqs" in text for text in answer["warnings"])
    stated = ask(**body | {"memory": {"utilization": 0.9, "max_num_seqs": 512}}, workload=load).json()
    assert (stated["concurrency"]["effective"], stated["concurrency"]["saturated"]) == (500, False)
    assert "--max-num-seqs 512" in stated["launch_hint"]


def test_weights_that_do_not_fit_give_no_speed_on_any_engine(ask):
    # The files of this packed checkpoint are larger than the formula: 78.4 GB against the 76.5 GB an H100 may use.
    for engine in ("vllm-2023", "vllm-0.19"):
        body = REAL | {"model": "qwen3.5-122b-a10b-nvfp4", "engine": engine, "precision": {"weights": "nvfp4"}}
        answer = ask(**body, workload={"mode": "single_stream", "input_tokens": 10, "output_tokens": 10}).json()
        assert (answer["feasible"], answer["expected"]["reason"]) == (False, "does_not_fit")


def test_no_time_per_token_is_below_the_ceiling_with_pipeline_stages(ask):
    answer = ask(
        model="qwen3.6-27b-nvfp4", gpu="a100-sxm4-80gb", engine="tensorrt-llm-1", parallelism={"tp": 2, "pp": 4},
        precision={"weights": "fp32", "kv_cache": "int8"},
        workload={"mode": "offline", "input_tokens": 1, "output_tokens": 500},
    ).json()  # fmt: skip
    assert answer["expected"]["tpot_s"]["low"] >= answer["ceiling"]["tpot_s"]


def test_no_rate_of_an_overloaded_open_loop_is_above_the_ceiling(ask):
    answer = ask(
        model="qwen3-vl-32b-thinking", gpu="a40", engine="ideal", precision={"weights": "q4_k_m"},
        workload={
            "mode": "open_loop", "input_tokens": 1000, "output_tokens": 4000, "requests_per_s": 5,
            "prefix_cache_hit_rate": 0.999,
        },
    ).json()  # fmt: skip
    assert answer["expected"]["tokens_per_s_total"]["high"] <= answer["ceiling"]["tokens_per_s_total"] * (1 + 1e-9)


@pytest.mark.parametrize(
    "plan",
    [
        {"model": "llama-3-70b", "precision": {"weights": "fp32"}},  # nothing fits: the budget is negative
        {"model": "mistral-7b-v0.1", "engine": "ideal", "precision": {"weights": "nvfp4"}},  # held by the ceiling
    ],
)
def test_every_step_can_be_worked_out_with_a_pencil(ask, plan):
    answer = ask("?explain=true", **REAL | plan, workload=CLOSED).json()
    for step in answer["explanation"]:
        assert work_out(step["substituted"]) == pytest.approx(step["value"], rel=1e-6), step


@pytest.mark.parametrize("output", [1, 2, 500])
@pytest.mark.parametrize("concurrency", [1, 32])
def test_the_first_token_of_a_static_batch_comes_before_its_last(ask, output, concurrency):
    load = {"mode": "static_batch", "input_tokens": 1000, "output_tokens": output, "concurrency": concurrency}
    expected = ask(**REAL, workload=load).json()["expected"]
    ttft, e2e = (expected[name]["mid"] for name in ("ttft_s", "e2e_s"))
    later = (output - 1) * expected["tpot_s"]["mid"] if output > 1 else 0.0
    assert ttft + later <= e2e * (1 + 1e-9)
    assert expected["ttft_s"]["high"] <= expected["e2e_s"]["high"] * (1 + 1e-9)


def test_waits_beyond_the_simulated_burstiness_are_called_a_lower_bound(ask):
    load = {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 200, "requests_per_s": 15}
    within = ask(**REAL, workload=load | {"burstiness_cv": 4}).json()
    beyond = ask(**REAL, workload=load | {"burstiness_cv": 10}).json()
    assert not any("lower bound" in text for text in within["warnings"])
    assert any("lower bound" in text for text in beyond["warnings"])


def test_a_row_has_the_figures_of_the_estimate_at_its_batch_size(ask):
    lengths = {"input_tokens": 1000, "output_tokens": 300}
    plan = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "precision": {"kv_cache": "bf16"}}
    row = ask(**plan, workload={**lengths, "concurrency": 1, "batch_sizes": [16]}).json()["rows"][0]
    alone = ask(**plan, workload={**lengths, "concurrency": 16}).json()
    names = [name.removeprefix("ceiling_") for name in row if name.startswith("ceiling_")]
    assert len(names) == 7
    for name in names:
        assert row[name] == alone["expected"][name], name
        assert row[f"ceiling_{name}"] == alone["ceiling"][name], name


LOADS = {
    "closed_loop": {"concurrency": 8},
    "open_loop": {"requests_per_s": 5},
    "offline": {},
    "static_batch": {"concurrency": 8},
    "single_stream": {},
}


@pytest.mark.parametrize("mode", LOADS)
@pytest.mark.parametrize("engine", ["vllm-0.19", "ideal"])
@pytest.mark.parametrize("output", [0, 1])
def test_an_answer_of_one_token_has_no_time_per_token_and_such_a_target_does_not_bind(ask, mode, engine, output):
    load = {"mode": mode, "input_tokens": 1000, "output_tokens": output, **LOADS[mode]}
    answer = ask("?explain=true", **REAL | {"engine": engine}, workload=load, slo={"tpot_s": 1e-9, "ttft_s": 60}).json()
    expected = answer["expected"]
    assert expected["tpot_s"] is expected["tokens_per_s_per_user"] is answer["ceiling"]["tpot_s"] is None
    assert expected["tokens_per_s_total"]["mid"] > 0
    assert expected["reason"] in ("no_second_token", "no_queue")
    assert any("does not bind" in text for text in answer["warnings"])
    assert answer["meets_slo"]["tpot_s"] is None
    if mode != "offline":
        assert answer["meets_slo"]["all"] is True
        assert expected["e2e_s"]["mid"] == pytest.approx(expected["ttft_s"]["mid"]) or mode == "static_batch"
        assert expected["goodput_requests_per_s"]["mid"] > 0
    for step in answer["explanation"]:
        assert work_out(step["substituted"]) == pytest.approx(step["value"], rel=1e-6), step


def test_two_tokens_have_one_gap_and_a_single_decode_step_is_a_time_per_token(ask):
    two = ask(**REAL, workload={"input_tokens": 1000, "output_tokens": 2, "concurrency": 8}).json()["expected"]
    assert two["tpot_s"]["mid"] == pytest.approx(two["e2e_s"]["mid"] - two["ttft_s"]["mid"])
    step = ask(**REAL, workload={"mode": "decode_step", "context_tokens": 500, "concurrency": 4}).json()
    assert step["expected"]["tpot_s"]["mid"] == pytest.approx(step["decode"]["step_s"])


def test_a_percentile_of_a_load_in_which_nothing_waits_at_random_is_said_not_to_count(ask):
    slo = {"ttft_s": 1, "percentile": 99}
    closed = ask(**REAL, workload=CLOSED, slo=slo).json()
    assert any("Not used: slo.percentile" in text for text in closed["warnings"])
    load = {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 200, "requests_per_s": 5}
    assert not any("percentile" in text for text in ask(**REAL, workload=load, slo=slo).json()["warnings"])
