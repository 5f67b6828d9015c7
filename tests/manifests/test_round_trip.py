"""Command → question → command is the same, for plans of every engine; every command parses by the argument list."""

import random
from collections import Counter
from dataclasses import replace

import orjson
import pytest

from estimator.api.parsing import parse_body
from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.estimates.memory_fit.compute import estimate_memory
from estimator.estimates.memory_fit.launch import Server
from estimator.estimates.memory_fit.launch_command import argument_lists, launch_command
from estimator.estimates.memory_fit.manifest import manifest
from estimator.question.plan import Lora, Memory, Parallelism, PlanRequest, Precision
from estimator.question.workload import Workload
from estimator.resolvers.live import current_facts
from estimator.resolvers.resolve import resolve_plan
from manifests.asking import question_of
from manifests.reading.recognise import read_manifest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
DEGREES = ({}, {"tp": 2}, {"tp": 8}, {"tp": 2, "pp": 2}, {"tp": 2, "dp": 2}, {"tp": 4, "dp": 2, "ep": 8})
FORMATS = (None, "bf16", "fp16", "fp8", "q4_k_m")
MEMORIES = (
    Memory(), Memory(utilization=0.83, max_num_seqs=48), Memory(max_batched_tokens=3000, max_model_len=9000),
    Memory(enforce_eager=True, enable_prefix_caching=False), Memory(kv_unified=True), Memory(n_cpu_moe=3),
)  # fmt: skip
LOADS = ({"input_tokens": 3000, "output_tokens": 500, "concurrency": 4}, {"input_tokens": 900, "output_tokens": 90})
SEED = 11


def launched(request, facts):
    plan = resolve_plan(request, facts)
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


def plans(facts, count):
    rng = random.Random(SEED)
    models, engines = sorted(facts.slugs("model")), sorted(argument_lists())
    for _ in range(count):
        yield PlanRequest(
            model=rng.choice(models),
            gpu=rng.choice(("h100-sxm5-80gb", "b200-sxm-180gb", "mi300x", "rtx-4090")),
            engine=rng.choice(engines),
            parallelism=Parallelism(**rng.choice(DEGREES)),
            precision=Precision(weights=rng.choice(FORMATS), kv_cache=rng.choice((None, "fp8", "q8_0"))),
            memory=rng.choice(MEMORIES),
            lora=rng.choice((None, None, Lora(max_loras=4, max_rank=32))),
            workload=Workload(**rng.choice(LOADS)),
        )


def again(text, asked, facts):
    """The question of a text, with what no command states put in as it was."""
    (start,) = read_manifest(text)
    reading = question_of(start, facts)
    assert reading.unknown == []
    assert [one for one in reading.not_used if one.why] == []
    given = {"gpu": asked.gpu, "workload": asked.workload.model_dump(mode="json", exclude_unset=True)}
    parts = {**reading.parts, "engine": asked.engine, "model": asked.model, **given}
    if asked.engine == "llama.cpp":
        parts["precision"] = {**parts.get("precision", {}), "weights": asked.precision.weights or "bf16"}
    return start, parse_body(PlanRequest, orjson.dumps(parts), facts)


def test_command_question_command_is_the_same_for_plans_of_every_engine():
    facts, seen = current_facts(), Counter()
    for asked in plans(facts, 260):
        try:
            plan, found = launched(asked, facts)
        except (ResolutionError, EngineError):
            continue
        if found.command is None:
            continue
        start, question = again(found.command, asked, facts)
        assert start.engine == ("llama.cpp" if plan.engine.kind == "llama_cpp" else plan.engine.engine)
        assert launched(question, facts)[1].command == found.command
        seen[plan.engine.slug] += 1
        made = manifest(plan, replace(found))
        if made.text is not None:
            # The same start as a manifest asks the same question, and says the GPUs too.
            (kube,) = read_manifest(made.text)
            assert question_of(kube, facts).parts.get("memory") == question_of(start, facts).parts.get("memory")
            assert int(kube.stated("gpus").value) == plan.parallelism.gpus
            seen["manifest"] += 1
    assert set(seen) == {*argument_lists(), "manifest"}, seen
    assert seen.total() > 60, seen
