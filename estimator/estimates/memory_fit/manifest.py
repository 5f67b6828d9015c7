"""The launch command as a Kubernetes manifest: a Deployment and a Service, with GPUs, probes and shared memory."""

import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.utils.translation import gettext as _

from estimator.estimates.memory_fit.launch_command import LaunchCommand
from estimator.resolvers.plan import Plan

_SERVERS = Path(__file__).parent / "launch_servers.yaml"
_RESOURCES = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu"}
_MOST_GPUS_OF_A_POD = 8
"""More GPUs stand in several nodes as a rule: their start needs a launcher that a Deployment is not."""
_PERIOD_S = 10
_STARTS_WITHIN_S = 3600
"""How long a server may load its weights before it is started anew."""
_LONGEST_NAME = 63
_VARIABLES = {"$MODEL": ("MODEL", "fill-in/the-repository"), "$GGUF": ("GGUF", "/models/fill-in.gguf")}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchServer:
    """How an engine's server runs in a container."""

    engine: str
    images: dict[str, str]
    command: list[str]
    listens: list[str]
    port: int
    health: str
    shared_memory: str | None
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest as YAML, or None with the reason."""

    text: str | None
    reason: str | None


@cache
def launch_servers() -> dict[str, LaunchServer]:
    """How the servers run, by engine."""
    entries = yaml.safe_load(_SERVERS.read_text(encoding="utf-8"))
    return {entry["engine"]: LaunchServer(**entry) for entry in entries}


def manifest(plan: Plan, launch: LaunchCommand) -> Manifest:
    """The manifest of a plan whose launch command is known.

    Args:
        plan: the plan that fits.
        launch: its command, whose flags the engine's version takes.
    """
    if launch.command is None or launch.arguments is None:
        return Manifest(text=None, reason=launch.reason)
    server = launch_servers().get(_engine(plan))
    vendor, gpus = str(plan.gpu.facts.get("vendor") or ""), plan.parallelism.gpus
    image = server.images.get(vendor) if server is not None else None
    if server is None or image is None:
        text = _("No image of %(engine)s is known for GPUs of %(vendor)s.")
        names = {"engine": plan.engine.engine, "vendor": vendor or _("an unknown maker")}
        return Manifest(text=None, reason=text % names)
    if gpus > _MOST_GPUS_OF_A_POD:
        text = _("%(gpus)s GPUs stand in several nodes: their start needs a launcher that one pod is not.")
        return Manifest(text=None, reason=text % {"gpus": gpus})
    words = shlex.split(launch.command.replace("\\\n", " "))[len(launch.arguments.program.split()) :]
    name = _name(plan)
    container = _container(server, image.format(version=launch.arguments.version), words, (_RESOURCES[vendor], gpus))
    parts = [_deployment(name, server, container, words), _service(name, server)]
    return Manifest(text=_comment(server, words) + "---\n".join(_yaml(part) for part in parts), reason=None)


def _engine(plan: Plan) -> str:
    return "llama.cpp" if plan.engine.kind == "llama_cpp" else plan.engine.engine


def _name(plan: Plan) -> str:
    """A name that Deployments and Services take: letters, digits and dashes, beginning with a letter."""
    words = f"{_engine(plan)}-{plan.model.slug or 'model'}".lower()
    return re.sub(r"[^a-z0-9]+", "-", words)[:_LONGEST_NAME].strip("-")


def _comment(server: LaunchServer, words: list[str]) -> str:
    lines = ["# The token of a gated model: a Secret named hf-token with the key token."]
    lines += [f"# Set {_VARIABLES[word][0]} below." for word in words if word in _VARIABLES]
    if "$GGUF" in words:
        lines.append("# The claim named models holds the file.")
    return "".join(f"{line}\n" for line in [*lines, f"# Image, port and probes: {server.source}."])


def _container(server: LaunchServer, image: str, words: list[str], gpus: tuple[str, int]) -> dict[str, Any]:
    held = {word: _VARIABLES[word] for word in words if word in _VARIABLES}
    up = {"httpGet": {"path": server.health, "port": "http"}, "periodSeconds": _PERIOD_S}
    resource, count = gpus
    return {
        "name": "server",
        "image": image,
        **({"command": server.command} if server.command else {}),
        "args": [*(f"$({held[word][0]})" if word in held else word for word in words), *server.listens],
        "env": [
            *({"name": name, "value": value} for name, value in held.values()),
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "token", "optional": True}}},
        ],
        "ports": [{"name": "http", "containerPort": server.port}],
        "resources": {"limits": {resource: count}, "requests": {resource: count}},
        "startupProbe": {**up, "failureThreshold": _STARTS_WITHIN_S // _PERIOD_S},
        "readinessProbe": dict(up),
        "livenessProbe": {**up, "timeoutSeconds": _PERIOD_S, "failureThreshold": 6},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path, _source in _volumes(server, words)],
    }


def _volumes(server: LaunchServer, words: list[str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Name, place and source of each volume: shared memory for the processes of one server, and the model's files."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    if server.shared_memory is not None:
        memory = {"emptyDir": {"medium": "Memory", "sizeLimit": server.shared_memory}}
        found.append(("shared-memory", "/dev/shm", memory))  # noqa: S108  where containers have their shared memory
    if "$GGUF" in words:
        claim = {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}
        return [*found, ("models", "/models", claim)]
    return [*found, ("model-cache", "/root/.cache/huggingface", {"emptyDir": {}})]


def _deployment(name: str, server: LaunchServer, container: dict[str, Any], words: list[str]) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name}
    volumes = [{"name": volume, **source} for volume, _path, source in _volumes(server, words)]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            # The next server starts when the GPUs of the last one are free.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": dict(labels)},
            "template": {
                "metadata": {"labels": dict(labels)},
                "spec": {"containers": [container], "volumes": volumes},
            },
        },
    }


def _service(name: str, server: LaunchServer) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": dict(labels), "ports": [{"name": "http", "port": server.port, "targetPort": "http"}]},
    }


# Written by libyaml a manifest takes an eighth of the time; where PyYAML was built without it, the text is the same.
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Plain(_DUMPER):  # type: ignore[misc]
    """YAML without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Whether equal parts are written out: always."""
        return True


def _yaml(part: dict[str, Any]) -> str:
    return yaml.dump(part, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)
