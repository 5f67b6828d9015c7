"""`estimates/throughput/` over REST: figures of the source documents."""

import pytest

from tests.estimator.api.throughput.bodies import CLOSED, REAL, SEED_MODEL

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]


def test_s01_and_s02_prefill_of_2000_tokens(seed):
    answer = seed(mode="single_stream", input_tokens=2000, output_tokens=1)
    assert answer["prefill"]["flops"] == pytest.approx(33.17e12, rel=1e-3)
    assert answer["prefill"]["prefill_s"] == pytest.approx(0.0838, rel=5e-3)
    assert answer["expected"]["ttft_s"]["mid"] == pytest.approx(0.0838, rel=5e-3)


def test_s03_one_flop_per_byte_against_a_ridge_of_295(seed):
    answer = seed(mode="decode_step", context_tokens=1, concurrency=1)
    assert answer["roofline"]["arithmetic_intensity_flops_per_byte"] == pytest.approx(1.0, rel=5e-3)
    assert answer["roofline"]["ridge_flops_per_byte"] == pytest.approx(295.2, rel=5e-3)


def test_s12_s13_and_s14_conversations_of_8000_tokens(seed):
    one = seed(mode="decode_step", context_tokens=8000, concurrency=1)
    sixty = seed(mode="decode_step", context_tokens=8000, concurrency=60)
    long = seed(mode="decode_step", context_tokens=128_000, concurrency=1)
    assert round(one["expected"]["tokens_per_s_per_user"]["mid"], 1) == 195.8
    assert round(sixty["expected"]["tokens_per_s_per_user"]["mid"], 1) == 42.4
    assert round(sixty["expected"]["tokens_per_s_total"]["mid"]) == 2545
    assert sixty["concurrency"]["max_sequences"] == 60
    assert long["concurrency"]["max_sequences"] == 3


def test_s26_ceiling_and_expected_curves_of_a_7b_model_on_a_4090(ask):
    answer = ask(
        model={"parameters": 7e9, "layers": 32, "heads": 32, "hidden_size": 4096},
        gpu="rtx-4090",
        precision={"kv_cache": "bf16"},
        workload={
            "mode": "decode_step",
            "context_tokens": 1,
            "concurrency": 1,
            "batch_sizes": [1, 4, 16],
        },
    ).json()
    ceilings = [row["ceiling_tokens_per_s_total"] for row in answer["rows"]]
    expected = [row["tokens_per_s_total"]["mid"] for row in answer["rows"]]
    assert ceilings == pytest.approx([72, 288, 1152], rel=0.01)
    assert all(e < c for e, c in zip(expected, ceilings, strict=True))
    assert expected[0] < expected[1] < expected[2]


def test_s42_and_s46_first_token_time_per_token_and_goodput_are_told_apart(ask):
    answer = ask(**REAL, workload=CLOSED, slo={"ttft_s": 1.0, "tpot_s": 0.05}).json()
    expected = answer["expected"]
    assert expected["ttft_s"]["mid"] != expected["tpot_s"]["mid"]
    assert expected["tokens_per_s_per_user"]["mid"] == pytest.approx(1 / expected["tpot_s"]["mid"], rel=1e-12)
    assert expected["goodput_requests_per_s"]["mid"] > 0
    assert expected["max_requests_per_s_within_slo"]["mid"] >= expected["goodput_requests_per_s"]["mid"]
    assert answer["meets_slo"]["all"] is True
    assert answer["speed_word"] == "comfortable"


def test_s24_and_s25_ten_times_the_compute_barely_changes_a_step_bound_by_memory(ask):
    def roofline(peak):
        answer = ask(
            model={"parameters": 7e9, "layers": 32, "heads": 32, "hidden_size": 4096},
            gpu={
                "memory_bytes": 24_000_000_000,
                "memory_bandwidth_bytes_per_s": 1008e9,
                "peak_flops_per_s": {"fp16": peak},
            },
            precision={"weights": "fp16", "kv_cache": "fp16"},
            engine="ideal",
            workload={"mode": "decode_step", "context_tokens": 1, "concurrency": 1},
        ).json()
        assert answer["expected"]["tokens_per_s_per_user"]["mid"] == pytest.approx(72.0, rel=5e-3)
        return answer["roofline"]

    before, after = roofline(82e12), roofline(820e12)
    assert before["memory_s"] == pytest.approx(0.01389, rel=5e-3)
    assert before["compute_s"] == pytest.approx(0.000171, rel=5e-3)
    assert before["memory_s"] / before["added_s"] == pytest.approx(0.988, rel=5e-3)
    assert 1 / before["added_s"] == pytest.approx(71.1, rel=5e-3)
    assert 1 / after["added_s"] == pytest.approx(71.9, rel=5e-3)
    assert after["overlapped_s"] == before["overlapped_s"]


def test_s39_an_8b_model_on_an_l4_in_bf16_and_int8(ask):
    for weights, speed in (("bf16", 18.7), ("int8", 37.4)):
        answer = ask(
            model=SEED_MODEL,
            gpu="l4",
            engine="ideal",
            precision={"weights": weights},
            workload={"mode": "decode_step", "context_tokens": 1, "concurrency": 1},
        ).json()
        assert answer["expected"]["tokens_per_s_per_user"]["mid"] == pytest.approx(speed, rel=5e-3)


def test_s18_shares_of_experts_that_batches_touch_decide_the_bytes_of_a_step(ask):
    def step(batch):
        return (
            ask(
                model="mixtral-8x7b-v0.1",
                gpu="h200-sxm-141gb",
                workload={"mode": "decode_step", "context_tokens": 1, "concurrency": batch},
            ).json()["decode"]["bytes"]
            - 131_072 * batch
        )

    one, eight, sixteen, every_expert = step(1), step(8), step(16), step(500)
    routed = (every_expert - one) / 0.75
    assert 1 - (every_expert - eight) / routed == pytest.approx(0.8999, rel=1e-3)
    assert 1 - (every_expert - sixteen) / routed == pytest.approx(0.98998, rel=1e-3)
