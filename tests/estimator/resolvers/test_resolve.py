"""What was chosen becomes a plan, or every reason why not."""

import pytest

from estimator.engine.errors import InvalidInputError, MissingFigureError, UnknownArchitectureError
from estimator.engine.model.cache import kv_cache_summary
from estimator.engine.specs import WorkloadMode
from estimator.question.gpu import GpuFigures
from estimator.question.model import ConfigModel, ModelOverride, OverriddenModel, ShapeModel
from estimator.question.plan import Parallelism, PlanRequest, Precision
from estimator.question.workload import Speculative, Workload
from estimator.resolvers import ResolutionError, resolve_plan
from tests.estimator.resolvers.facts import stored_facts

FACTS = stored_facts()


def plan(**changes):
    asked = PlanRequest(model="llama", gpu="h100")
    return resolve_plan(asked.model_copy(update=changes), FACTS)


def faults(**changes):
    with pytest.raises(ResolutionError) as caught:
        plan(**changes)
    return [("/".join(map(str, issue.path)), issue.code) for issue in caught.value.faults]


def test_a_serving_engine_counts_with_the_memory_that_software_sees():
    resolved = plan(engine="vllm")
    assert resolved.engine.slug == "vllm-0.19"
    assert (resolved.gpu.spec.memory_bytes, resolved.gpu.memory_basis) == (85_029_158_912, "visible")


def test_ideal_counts_with_the_figure_on_the_box():
    resolved = plan(engine="ideal")
    assert (resolved.gpu.spec.memory_bytes, resolved.gpu.memory_basis) == (80_000_000_000, "vendor")


def test_memory_that_software_sees_is_not_guessed():
    with pytest.raises(MissingFigureError):
        plan(gpu="tpu")
    assert plan(gpu="tpu", engine="ideal").gpu.spec.memory_bytes == 80_000_000_000


def test_each_figure_says_where_it_is_from():
    entries = {entry.what: entry for entry in plan().provenance}
    assert entries["gpu.memory_bytes"].source == "start-up log"
    assert entries["gpu.memory_bytes"].confidence == "medium"
    assert entries["gpu.memory_bandwidth_bytes_per_s"].source == "data sheet"
    assert entries["gpu.peak_flops_per_s.bf16"].value == 989.4e12
    assert "gpu.peak_flops_per_s.fp8" not in entries
    assert entries["model.architecture"].date == "2026-03-03"
    assert entries["engine.constants"].source == "fitted"


def test_the_peak_of_the_format_asked_for_is_in_the_provenance():
    entries = {entry.what for entry in plan(precision=Precision(weights="fp8")).provenance}
    assert "gpu.peak_flops_per_s.fp8" in entries


def test_a_package_of_two_devices_is_refused_and_the_single_one_named():
    with pytest.raises(ResolutionError) as caught:
        plan(gpu="mi250x")
    assert caught.value.faults[0].code == "not_supported"
    assert caught.value.faults[0].near == ("mi250x-gcd",)


def test_unknown_slugs_of_all_parts_are_told_together():
    assert faults(model="lama", gpu="h200", engine="vlm") == [
        ("model", "unknown_slug"),
        ("engine", "unknown_slug"),
        ("gpu", "unknown_slug"),
    ]


@pytest.mark.parametrize("tp", [1, 2, 4, 8, 16, 32])
def test_tp_that_divides_the_kv_heads_or_is_a_multiple_of_them_is_taken(tp):
    assert plan(parallelism=Parallelism(tp=tp)).parallelism.tp == tp


@pytest.mark.parametrize("tp", [3, 5, 6, 64])
def test_tp_that_does_not_is_refused(tp):
    assert faults(parallelism=Parallelism(tp=tp)) == [("parallelism/tp", "invalid")]


def test_the_refusal_of_tp_names_what_is_allowed():
    with pytest.raises(ResolutionError) as caught:
        plan(parallelism=Parallelism(tp=3))
    assert caught.value.faults[0].detail.endswith("Allowed: 1, 2, 4, 8, 16, 32.")


def test_tp_between_divisors_of_query_and_kv_heads_is_refused():
    # 24 query heads over 8 KV heads: 12 divides 24, but neither divides 8 nor is a multiple of it.
    shape = ShapeModel(parameters=10**9, layers=2, heads=24, kv_heads=8, head_dim=64)
    assert faults(model=shape, parallelism=Parallelism(tp=12)) == [("parallelism/tp", "invalid")]


def test_a_latent_cache_has_no_kv_heads_to_divide():
    shape = ShapeModel(parameters=10**9, layers=2, heads=16, kv_heads=16, head_dim=64, latent_rank=512)
    assert plan(model=shape, parallelism=Parallelism(tp=16)).parallelism.tp == 16


def test_ep_needs_experts_and_divides_tp_times_dp():
    assert faults(parallelism=Parallelism(tp=2, ep=2)) == [("parallelism/ep", "not_supported")]
    mixtral = "mixtral"
    assert plan(model=mixtral, parallelism=Parallelism(tp=2, dp=2, ep=4)).parallelism.gpus == 4
    assert faults(model=mixtral, parallelism=Parallelism(tp=2, ep=4)) == [("parallelism/ep", "invalid")]


def test_more_stages_than_layers_are_refused():
    assert faults(parallelism=Parallelism(pp=33)) == [("parallelism/pp", "out_of_range")]


def test_fp8_activations_on_an_a100_are_not_supported():
    faulty = {"gpu": "a100", "precision": Precision(weights="fp8", activations="fp8")}
    assert faults(**faulty) == [("precision/activations", "not_supported")]


def test_fp8_weights_on_an_a100_run_weight_only_with_a_warning():
    resolved = plan(gpu="a100", precision=Precision(weights="fp8"))
    assert any("no tensor cores for fp8" in warning for warning in resolved.warnings)
    assert not plan(precision=Precision(weights="fp8")).warnings


def test_bf16_on_a_t4_runs_in_fp16_with_a_warning():
    assert any("fp16" in warning for warning in plan(gpu="t4").warnings)


def test_faults_of_different_parts_come_together():
    assert faults(
        gpu="a100",
        parallelism=Parallelism(tp=3),
        precision=Precision(activations="fp8"),
        workload=Workload(input_tokens=10),
        mtp_layers_loaded=1,
        speculative=Speculative(acceptance_rate=0.5, draft_tokens=2, draft_cost_ratio=0.1, draft_model="llama"),
    ) == [
        ("parallelism/tp", "invalid"),
        ("precision/activations", "not_supported"),
        ("mtp_layers_loaded", "out_of_range"),
        ("speculative/draft_model", "ambiguous"),
        ("workload/output_tokens", "required"),
    ]


def test_s22_and_s23_the_mha_figure_is_four_times_the_gqa_figure_of_the_same_model():
    mha = plan(model=OverriddenModel(slug="llama", override=ModelOverride(kv_heads=32))).model
    gqa = plan().model
    assert kv_cache_summary(mha.architecture).bytes_per_token * 4096 == 2_147_483_648
    assert kv_cache_summary(mha.architecture).bytes_per_token * 131_072 == 68_719_476_736
    assert kv_cache_summary(gqa.architecture).bytes_per_token * 131_072 == 17_179_869_184
    assert dict(mha.override) == {"kv_heads": 32}


def test_kv_heads_that_do_not_divide_the_query_heads_are_refused_at_their_place():
    model = OverriddenModel(slug="llama", override=ModelOverride(kv_heads=5))
    assert faults(model=model) == [("model/override/kv_heads", "invalid")]


def test_a_config_is_read_and_known_by_its_hash():
    config = {
        "model_type": "llama",
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
        "vocab_size": 1000,
        "max_position_embeddings": 512,
    }
    resolved = plan(model=ConfigModel(config=config, name="tiny")).model
    again = plan(model=ConfigModel(config=dict(reversed(config.items())), name="tiny")).model
    assert (resolved.slug, resolved.name, resolved.context_window_tokens) == (None, "tiny", 512)
    assert resolved.config_sha256 == again.config_sha256
    assert len(resolved.config_sha256) == 64


def test_an_unknown_architecture_is_told_at_its_place():
    with pytest.raises(UnknownArchitectureError) as caught:
        plan(model=ConfigModel(config={"model_type": "lama"}))
    assert caught.value.field == "model.config.model_type"
    assert "llama" in caught.value.near


def test_a_wrong_figure_of_a_config_is_told_at_its_place():
    config = {"model_type": "llama", "num_hidden_layers": -2, "hidden_size": 64, "num_attention_heads": 4}
    assert faults(model=ConfigModel(config=config)) == [("model/config/num_hidden_layers", "invalid")]


def test_an_inline_gpu_is_taken_as_given():
    shape = GpuFigures(
        memory_bytes=10**10, memory_bandwidth_bytes_per_s=1e12, peak_flops_per_s={"bf16": 1e14}, name="mine"
    )
    resolved = plan(gpu=shape).gpu
    assert (resolved.slug, resolved.name, resolved.memory_basis) == (None, "mine", "given")
    assert resolved.spec.memory_bytes == 10**10


@pytest.mark.parametrize("mode", list(WorkloadMode))
def test_every_mode_is_taken_with_what_it_needs(mode):
    load = {"requests_per_s": 2.0} if mode is WorkloadMode.OPEN_LOOP else {"concurrency": 1}
    resolved = plan(workload=Workload(mode=mode, input_tokens=100, output_tokens=50, **load))
    assert (resolved.workload.mode, resolved.workload.input_tokens) == (mode, 100)
    assert not resolved.assumptions


def test_open_loop_without_a_rate_and_closed_loop_with_one_are_refused():
    lengths = {"input_tokens": 1, "output_tokens": 1}
    open_loop = Workload(mode=WorkloadMode.OPEN_LOOP, **lengths)
    assert faults(workload=open_loop) == [("workload/requests_per_s", "required")]
    closed = Workload(requests_per_s=1.0, **lengths)
    assert faults(workload=closed) == [("workload/requests_per_s", "not_supported")]


def test_a_decode_step_needs_a_context_or_both_lengths():
    step = WorkloadMode.DECODE_STEP
    assert plan(workload=Workload(mode=step, context_tokens=8000, concurrency=4)).workload.context_tokens == 8000
    assert faults(workload=Workload(mode=step)) == [
        ("workload/input_tokens", "required"),
        ("workload/output_tokens", "required"),
    ]


def test_a_concurrency_that_was_assumed_is_said():
    assert plan(workload=Workload(input_tokens=1, output_tokens=1)).assumptions == ("Concurrency not given: 1.",)


def test_lengths_beyond_the_context_window_are_warned_of():
    over = plan(workload=Workload(input_tokens=8000, output_tokens=193, concurrency=1))
    assert any("8193" in warning for warning in over.warnings)
    within = plan(workload=Workload(input_tokens=8000, output_tokens=192, concurrency=1))
    assert not within.warnings


def test_the_same_facts_give_the_same_spec_without_reading_it_again():
    assert plan().model.architecture is plan().model.architecture
    assert plan().gpu.spec is plan().gpu.spec


def test_contradicting_figures_of_a_shape_are_told_at_their_place():
    shape = ShapeModel(parameters=10**9, active_parameters=10**10, layers=2, heads=8, head_dim=64)
    assert faults(model=shape) == [("model/active_parameters", "invalid")]


def test_an_engine_error_of_the_request_is_not_lost():
    with pytest.raises((ResolutionError, InvalidInputError)):
        plan(model=ShapeModel(parameters=10**9, layers=2, heads=8))


def test_lengths_are_means_and_a_prompt_or_an_answer_may_be_nothing():
    assert plan(workload=Workload(input_tokens=921.6, output_tokens=92.2)).workload.input_tokens == 921.6
    assert plan(workload=Workload(input_tokens=0, output_tokens=128)).workload.input_tokens == 0
    assert plan(workload=Workload(input_tokens=512, output_tokens=0)).workload.output_tokens == 0
    assert faults(workload=Workload(input_tokens=0, output_tokens=0)) == [("workload", "invalid")]


def test_a_mean_over_the_window_is_told_in_whole_tokens():
    over = plan(workload=Workload(input_tokens=8000, output_tokens=192.5, concurrency=1))
    assert any("8193" in warning for warning in over.warnings)
