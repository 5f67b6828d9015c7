"""Launch commands: every flag is one of the engine's version; a plan without a command has a reason."""

import random
import shlex

import pytest

from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.estimates.memory_fit.compute import estimate_memory
from estimator.estimates.memory_fit.launch import Server
from estimator.estimates.memory_fit.launch_command import argument_lists, launch_command
from estimator.question.plan import Memory, Parallelism, PlanRequest, Precision
from estimator.question.workload import Workload
from estimator.resolvers.resolve import resolve_plan
from estimator.validation import shipped

LOAD = {"input_tokens": 8000, "output_tokens": 500, "concurrency": 4}


def command(load=LOAD, **asked):
    return launched(load, **asked)[1]


def launched(load=LOAD, **asked):
    """The plan and its command."""
    facts = shipped.facts()
    body = {"model": "llama-3.3-70b-instruct", "gpu": "h100-sxm5-80gb", "engine": "vllm-0.33"} | asked
    plan = resolve_plan(PlanRequest(**body, workload=Workload(**load)), facts)
    estimate = estimate_memory(plan)
    fit = estimate.fit
    server = Server(
        plan=plan,
        memory=estimate.memory,
        context_tokens=fit.context_tokens,
        sequences=fit.sequences,
        engine_sequences=fit.engine_sequences_limit,
    )
    return plan, launch_command(server, facts.row("model", plan.model.slug).get("source"))


def test_vllm_serves_the_repository_with_the_plan_s_degrees_and_formats():
    found = command(parallelism=Parallelism(tp=4), precision=Precision(weights="fp8", kv_cache="fp8"))
    words = shlex.split(found.command)
    assert words[:3] == ["vllm", "serve", "meta-llama/Llama-3.3-70B-Instruct"]
    for flag, value in (("--tensor-parallel-size", "4"), ("--quantization", "fp8"), ("--kv-cache-dtype", "fp8"),
                        ("--max-model-len", "8500")):  # fmt: skip
        assert words[words.index(flag) + 1] == value
    assert found.arguments.version == "0.33.0"
    # Weights as in the files need no flag.
    assert "--quantization" not in command(parallelism=Parallelism(tp=4)).command


def test_sglang_counts_copies_and_attention_apart():
    found = command(engine="sglang-0.5.23", model="deepseek-v3", parallelism=Parallelism(tp=4, dp=2, ep=8))
    words = shlex.split(found.command)
    assert words[:3] == ["python", "-m", "sglang.launch_server"]
    assert words[words.index("--tp-size") + 1] == "8"
    assert words[words.index("--attn-dp-size") + 1] == "2"
    assert not {"--tp", "--dp", "--dp-size", "--enable-dp-attention"} & set(words)


def test_llama_cpp_and_tensorrt():
    one = command(model="llama-3.1-8b-instruct", engine="llama.cpp", precision=Precision(weights="q4_k_m"))
    assert one.command.startswith('llama-server --model "$GGUF"')
    two = command(engine="tensorrt-llm-1", parallelism=Parallelism(tp=4))
    assert two.command.startswith("trtllm-serve serve meta-llama/Llama-3.3-70B-Instruct")
    assert "--tp_size 4" in two.command


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"engine": "mlc"}, "not known"),
        ({"precision": Precision(weights="int4")}, "name a checkpoint stored in int4"),
        ({"engine": "tensorrt-llm-1", "precision": Precision(kv_cache="fp8")}, "a cache in fp8"),
        ({"engine": "tensorrt-llm-1", "gpu": "mi300x"}, "GPUs of AMD"),
        ({"load": LOAD | {"input_tokens": 200_000}}, "longer than the model's window"),
        ({"memory": Memory(async_scheduling=False)}, "memory.async_scheduling"),
        ({"precision": Precision(weights="fp8", attention_weights="bf16")}, "single parts"),
    ],
)
def test_what_flags_cannot_say_has_no_command_and_a_reason(asked, reason):
    found = command(**asked)
    assert found.command is None
    assert reason in found.reason


def test_settings_that_vllm_has_flags_for_are_said():
    found = command(memory=Memory(enforce_eager=True, enable_prefix_caching=False))
    assert {"--enforce-eager", "--no-enable-prefix-caching"} <= set(shlex.split(found.command))


def test_every_flag_of_random_plans_is_one_that_the_version_takes():
    rng, facts = random.Random(7), shipped.facts()
    degrees = ({}, {"tp": 2}, {"tp": 8}, {"tp": 2, "pp": 2}, {"tp": 2, "dp": 2})
    formats = (None, "bf16", "fp8", "q4_k_m")
    commands = 0
    for _ in range(400):
        asked = {
            "model": rng.choice(sorted(facts.slugs("model"))),
            "gpu": rng.choice(("h100-sxm5-80gb", "b200-sxm-180gb", "mi300x", "rtx-4090", "apple-m3-ultra")),
            "engine": rng.choice(sorted(argument_lists())),
            "parallelism": Parallelism(**rng.choice(degrees)),
            "precision": Precision(weights=rng.choice(formats), kv_cache=rng.choice((None, "fp8"))),
        }
        try:
            found = command(**asked)
        except (ResolutionError, EngineError):
            continue
        assert (found.command is None) is not (found.reason is None)
        if found.command is None:
            continue
        commands += 1
        flags = [word for word in shlex.split(found.command) if word.startswith("--")]
        known = found.arguments.names | {"--model"}
        assert [flag for flag in flags if "--" + flag.removeprefix("--no-").removeprefix("--") not in known] == []
    assert commands > 60


def test_every_list_names_its_version_its_source_and_profiles_of_the_catalog():
    slugs = {shipped.facts().row("engine", slug)["slug"] for slug in shipped.facts().slugs("engine")}
    lists = argument_lists()
    assert set(lists) <= slugs
    assert {"vllm-0.33", "sglang-0.5.23", "tensorrt-llm-1", "llama.cpp"} <= set(lists)
    for found in lists.values():
        assert found.version
        assert found.source
        assert found.date
        assert len(found.names) > 30
