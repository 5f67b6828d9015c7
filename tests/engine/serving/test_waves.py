"""The closed form of a closed loop against the loop played through, and against what can be worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.engine.errors import InvalidInputError
from estimator.engine.serving.launch import LaunchSettings, scheduler_of
from estimator.engine.serving.load import Load
from estimator.engine.serving.loop import Request, play
from estimator.engine.serving.waves import closed_loop, quantiles_s
from estimator.engine.specs import Parallelism, Precision
from estimator.engine.speed.prepared import Key, prepare
from tests.engine.shapes import H100, from_shape, latent_shape, llama_8b_shape, mixture_shape, serving_engine

VLLM = LaunchSettings()
SGLANG = LaunchSettings(prompts_alone=True)
TRTLLM = LaunchSettings(whole_prompts=True)
# How far a mean may be from the loop played through: closest where passes are mixed.
LOOPS = [(VLLM, 1.25), (TRTLLM, 1.25), (SGLANG, 1.45)]
SHAPES = {"dense": llama_8b_shape(), "mixture": mixture_shape(), "latent": latent_shape()}


def prepared_of(shape, launch=VLLM, parallelism=None, **constants):
    values = {"server_in_s": 0.003} | constants
    return prepare(
        Key(
            architecture=from_shape(SHAPES[shape]),
            gpu=H100,
            engine=serving_engine(**values),
            precision=Precision(),
            parallelism=parallelism or Parallelism(),
            launch=launch,
        )
    )


def closed(prepared, inputs, outputs, concurrency, **traffic):
    load = Load(
        input_tokens=float(inputs),
        output_tokens=float(outputs),
        concurrency=np.float64(concurrency),
        context_tokens=inputs + outputs / 2,
        **{name: np.float64(value) for name, value in traffic.items()},
    )
    return closed_loop(prepared.serving, prepared.scheduler, load, np.float64(concurrency))


def benchmark(prepared, inputs, outputs, concurrency, ratio=0.8, rounds=10, seed=5):
    """A run of lengths uniform from `ratio` of the longest, as InferenceX and bench_serving draw them."""
    rng = np.random.default_rng(seed)
    longest = [2.0 * mean / (1.0 + ratio) for mean in (inputs, outputs)]
    drawn = [rng.uniform(ratio * most, most, rounds * concurrency) for most in longest]
    requests = [
        Request(input_tokens=max(int(prompt), 1), output_tokens=max(int(answer), 2))
        for prompt, answer in zip(*drawn, strict=True)
    ]
    return requests, play(prepared.serving, prepared.scheduler, requests, concurrency)


@pytest.mark.parametrize("concurrency", [1, 4, 16, 64, 128])
@pytest.mark.parametrize(("inputs", "outputs"), [(920, 920), (920, 7370), (7370, 920)])
@pytest.mark.parametrize(("launch", "most"), LOOPS, ids=["mixed", "whole", "alone"])
@pytest.mark.parametrize("shape", ["dense", "mixture"])
def test_a_benchmark_in_closed_form_is_the_one_played_through(shape, launch, most, inputs, outputs, concurrency):
    prepared = prepared_of(shape, launch)
    requests, played = benchmark(prepared, inputs, outputs, concurrency)
    said = closed(prepared, inputs, outputs, concurrency, waves=10.0, length_ratio=0.8)
    assert 1 / most <= float(said.ttft_s) / played.first_s.mean() <= most
    assert 1 / 1.06 <= float(said.tpot_s) / played.tpot_s(requests).mean() <= (1.06 if most < 1.3 else 1.25)


@pytest.mark.parametrize("concurrency", [128, 512])
@pytest.mark.parametrize(("inputs", "outputs"), [(16, 8), (128, 100), (512, 200)])
@pytest.mark.parametrize("launch", [VLLM, TRTLLM, SGLANG], ids=["mixed", "whole", "alone"])
@pytest.mark.parametrize("shape", ["dense", "mixture"])
def test_many_users_with_short_prompts_share_passes_as_in_the_loop_played_through(
    shape, launch, inputs, outputs, concurrency
):
    prepared = prepared_of(shape, launch)
    requests, played = benchmark(prepared, inputs, outputs, concurrency, ratio=0.0, rounds=6)
    said = closed(prepared, inputs, outputs, concurrency, waves=6.0, length_ratio=0.0)
    # Mean lengths stand for those drawn: coarsest where an answer has few tokens.
    for ours, theirs in ((said.ttft_s, played.first_s), (said.tpot_s, played.tpot_s(requests))):
        assert 1 / 1.5 <= float(ours) / theirs.mean() <= 1.5


@pytest.mark.parametrize("launch", [VLLM, TRTLLM, SGLANG], ids=["mixed", "whole", "alone"])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_longer_prompt_never_makes_a_service_faster(shape, launch):
    prepared = prepared_of(shape, launch)
    for concurrency in (16, 64, 256, 1024):
        for outputs in (2, 8, 32, 100, 300):
            loops = [closed(prepared, inputs, outputs, concurrency) for inputs in (16, 64, 128, 256, 400, 800, 8000)]
            whole_s = [float(loop.ttft_s + (outputs - 1) * loop.tpot_s) for loop in loops]
            assert whole_s == sorted(whole_s), (concurrency, outputs)


@pytest.mark.parametrize("launch", [VLLM, TRTLLM], ids=["mixed", "whole"])
@pytest.mark.parametrize("concurrency", [16, 64])
def test_percentiles_are_those_of_the_loop_played_through(launch, concurrency):
    prepared = prepared_of("dense", launch)
    _, played = benchmark(prepared, 920, 920, concurrency)
    said = closed(prepared, 920, 920, concurrency, waves=10.0, length_ratio=0.8)
    # The first wave comes in few passes: its last first token is up to half earlier than a uniform wait has it.
    for share, most in ((0.5, 1.25), (0.9, 1.4), (0.99, 1.6)):
        assert 1 / most <= float(quantiles_s(said, (share,))[0]) / np.quantile(played.first_s, share) <= most, share


def test_percentiles_rise_and_their_mean_is_the_mean():
    said = closed(prepared_of("mixture"), 2000, 300, 48, waves=7.5, length_ratio=0.5)
    shares = (np.arange(400) + 0.5) / 400
    values = np.array([float(value) for value in quantiles_s(said, tuple(shares))])
    assert np.all(np.diff(values) >= -1e-12)
    assert values.mean() == pytest.approx(float(said.ttft_s), rel=0.005)


def test_one_request_waits_for_nobody():
    prepared = prepared_of("dense")
    said = closed(prepared, 1000, 200, 1, client_s=0.015)
    server = prepared.scheduler
    outside = 0.015 + server.server_s + 1000 * server.prompt_token_s + server.chunk_s
    assert float(said.ttft_s) == pytest.approx(float(outside + said.alone_s), rel=5e-3)
    assert float(said.tpot_s) == pytest.approx(float(said.step_s), rel=1e-9)


def test_the_clients_time_is_added_to_the_first_token_and_to_nothing_else():
    prepared = prepared_of("dense")
    without, with_it = (closed(prepared, 1000, 500, 8, client_s=seconds) for seconds in (0.0, 0.015))
    assert float(with_it.ttft_s - without.ttft_s) == pytest.approx(0.015, rel=0.1)
    assert float(with_it.tpot_s) <= float(without.tpot_s)


def test_a_benchmark_waits_longer_than_a_service_the_fewer_its_rounds():
    prepared = prepared_of("dense")
    service = closed(prepared, 1000, 500, 64)
    long, short = (closed(prepared, 1000, 500, 64, waves=rounds, length_ratio=0.8) for rounds in (100.0, 3.0))
    assert float(service.ttft_s) < float(long.ttft_s) < float(short.ttft_s)


def test_a_ramp_takes_the_first_wave_apart():
    prepared = prepared_of("dense")
    at_once, spread = (
        closed(prepared, 1000, 500, 64, waves=3.0, length_ratio=0.8, ramp_s=seconds) for seconds in (0.0, 5.0)
    )
    assert float(spread.ttft_s) < float(at_once.ttft_s)


def test_a_pass_that_graphs_hold_needs_no_launches_one_by_one():
    eager, captured = (
        closed(prepared_of("mixture", LaunchSettings(captured_tokens=tokens), launch_share=1.0), 200, 300, 4)
        for tokens in (0.0, 2048.0)
    )
    assert float(captured.ttft_s) < 0.85 * float(eager.ttft_s)


def test_prompts_wait_for_others_of_their_pass_and_for_those_of_other_ranks():
    ranks = Parallelism(dp=4, ep=4)
    plain, balanced = (
        closed(prepared_of("latent", replace(TRTLLM, rank_wait_steps=steps), ranks), 1000, 500, 64)
        for steps in (0.0, 60.0)
    )
    assert float(balanced.ttft_s) > float(plain.ttft_s) + 5 * float(plain.step_s)
    held = closed(prepared_of("dense", replace(TRTLLM, batch_wait_steps=40.0, batch_wait_tokens=6554.0)), 1000, 500, 8)
    free = closed(prepared_of("dense", TRTLLM), 1000, 500, 8)
    assert float(held.ttft_s - free.ttft_s) == pytest.approx(40 * float(free.step_s), rel=0.1)


def test_every_rank_has_a_prompt_after_so_many_requests():
    """Coupon collector: 8 ranks have one each after 8·(1 + 1/2 + … + 1/8) = 21.74 requests."""
    scheduler = scheduler_of(VLLM, serving_engine().serving, Parallelism(dp=8))
    assert scheduler.rank_prompts == pytest.approx(8 * sum(1 / n for n in range(1, 9)), rel=0.005)


def test_a_simulation_of_ranks_is_refused():
    prepared = prepared_of("latent", parallelism=Parallelism(dp=4, ep=4))
    with pytest.raises(InvalidInputError, match="one attention-data rank"):
        play(prepared.serving, prepared.scheduler, [Request(input_tokens=8, output_tokens=8)], 1)


def test_requests_played_one_after_the_other_take_what_one_takes():
    prepared = prepared_of("dense")
    requests = [Request(input_tokens=1000, output_tokens=100)] * 3
    played = play(prepared.serving, prepared.scheduler, requests, 1)
    alone = closed(prepared, 1000, 100, 1)
    # The chunk of the simulation counts the attention of each piece; here is one.
    assert played.first_s == pytest.approx([float(alone.ttft_s)] * 3, rel=5e-3)
    assert played.passes == 3
