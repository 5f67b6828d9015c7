"""Kubernetes manifests of launch commands: valid for Kubernetes, and the same start as the command."""

import json
import random
import re
import shlex
from pathlib import Path

import jsonschema
import pytest
import yaml

from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.estimates.memory_fit.launch_command import argument_lists
from estimator.estimates.memory_fit.manifest import launch_servers, manifest
from estimator.question.plan import Parallelism, Precision
from estimator.validation import shipped
from tests.estimator.test_launch_command import LOAD, launched

SCHEMA = json.loads((Path(__file__).parents[1] / "fixtures/kubernetes/deployment_and_service.json").read_text())


def made(load=LOAD, **asked):
    plan, launch = launched(load, **asked)
    return plan, launch, manifest(plan, launch)


def parts(text):
    deployment, service = yaml.safe_load_all(text)
    for part in (deployment, service):
        jsonschema.Draft7Validator({**SCHEMA["kinds"][part["kind"]], "$defs": SCHEMA["$defs"]}).validate(part)
    return deployment, service


def container_of(deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return container


def test_a_manifest_starts_the_command_on_its_gpus_with_probes_and_shared_memory():
    _plan, launch, found = made(parallelism=Parallelism(tp=4), precision=Precision(weights="fp8"))
    deployment, service = parts(found.text)
    container = container_of(deployment)
    assert container["command"] + container["args"] == shlex.split(launch.command.replace("\\\n", " "))
    assert container["image"] == "vllm/vllm-openai:v0.33.0"
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 4}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    shared = next(one for one in deployment["spec"]["template"]["spec"]["volumes"] if one["name"] == "shared-memory")
    assert mounts["shared-memory"].endswith("/shm")
    assert shared["emptyDir"] == {"medium": "Memory", "sizeLimit": "2Gi"}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "http"}
    assert container["startupProbe"]["failureThreshold"] * container["startupProbe"]["periodSeconds"] == 3600
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]


def test_what_a_command_leaves_to_the_shell_is_a_variable_of_the_container():
    _plan, launch, found = made(
        model="llama-3.1-8b-instruct", engine="llama.cpp", precision=Precision(weights="q4_k_m")
    )
    assert "$GGUF" in launch.command
    deployment, _service = parts(found.text)
    container = container_of(deployment)
    assert "$(GGUF)" in container["args"]
    assert "GGUF" in [one["name"] for one in container["env"]]
    assert "Set GGUF below" in found.text
    assert "command" not in container  # the image starts the program itself


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"engine": "mlc"}, "not known"),
        ({"gpu": "mi300x", "parallelism": Parallelism(tp=4)}, "No image of vllm is known for GPUs of AMD"),
        ({"model": "deepseek-v3", "parallelism": Parallelism(tp=8, pp=2)}, "16 GPUs stand in several nodes"),
        ({"precision": Precision(weights="int4")}, "name a checkpoint stored in int4"),
    ],
)
def test_what_one_pod_cannot_start_has_no_manifest_and_a_reason(asked, reason):
    _plan, _launch, found = made(**asked)
    assert found.text is None
    assert reason in found.reason


def test_every_manifest_of_random_plans_is_valid_and_has_no_flag_that_the_engine_refuses():
    rng, facts = random.Random(11), shipped.facts()
    degrees = ({}, {"tp": 2}, {"tp": 8}, {"tp": 2, "pp": 2}, {"tp": 2, "dp": 2})
    manifests = set()
    for _ in range(300):
        asked = {
            "model": rng.choice(sorted(facts.slugs("model"))),
            "gpu": rng.choice(("h100-sxm5-80gb", "b200-sxm-180gb", "mi300x", "rtx-4090")),
            "engine": rng.choice(sorted(argument_lists())),
            "parallelism": Parallelism(**rng.choice(degrees)),
            "precision": Precision(weights=rng.choice((None, "bf16", "fp8", "q4_k_m"))),
        }
        try:
            plan, launch, found = made(**asked)
        except (ResolutionError, EngineError):
            continue
        assert (found.text is None) is not (found.reason is None)
        if found.text is None:
            continue
        deployment, service = parts(found.text)
        container = container_of(deployment)
        known = launch.arguments.names | {"--model"}
        flags = [word for word in container["args"] if word.startswith("--")]
        assert [flag for flag in flags if "--" + flag.removeprefix("--").removeprefix("no-") not in known] == []
        assert container["resources"]["limits"]["nvidia.com/gpu"] == plan.parallelism.gpus
        for part in (deployment, service):
            assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", part["metadata"]["name"])
        manifests.add(asked["engine"])
    assert len(manifests) >= 5


def test_every_engine_with_a_list_of_arguments_has_a_server_with_its_source():
    servers = launch_servers()
    for profile in argument_lists():
        row = shipped.facts().row("engine", profile)
        server = servers["llama.cpp" if row["kind"] == "llama_cpp" else row["engine"]]
        assert server.source
        assert server.date
        assert {word for word in server.listens if word.startswith("--")} <= argument_lists()[profile].names


def test_the_schema_refuses_what_kubernetes_refuses():
    _plan, _launch, found = made(parallelism=Parallelism(tp=4))
    deployment, _service = parts(found.text)
    container_of(deployment)["gpus"] = 4
    with pytest.raises(jsonschema.ValidationError):
        parts(yaml.safe_dump_all([deployment, _service]))
