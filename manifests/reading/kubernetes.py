"""Kubernetes workloads: pods of Deployments, StatefulSets, Jobs and LeaderWorkerSets, with the GPUs of their nodes."""

from collections.abc import Iterator, Mapping, Sequence

from manifests.reading.containers import kube_starts
from manifests.reading.gpu_names import label_keys
from manifests.reading.starts import Given, ServerStart
from manifests.reading.words import Word
from manifests.reading.yaml_tree import Mapped, Scalar

_TEMPLATES: dict[str, tuple[str, ...]] = {
    "Deployment": ("spec", "template"), "StatefulSet": ("spec", "template"), "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"), "Job": ("spec", "template"), "Pod": (),
    "RayService": ("spec", "rayClusterConfig", "headGroupSpec", "template"), "Rollout": ("spec", "template"),
}  # fmt: skip
KINDS = frozenset(_TEMPLATES) | {"LeaderWorkerSet"}


def starts_of_workload(part: Mapped, source: Sequence[str]) -> list[ServerStart]:
    """The servers of one Kubernetes object; none where it holds no pods."""
    kind = part.text("kind")
    if kind == "LeaderWorkerSet":
        return _of_leader_worker_set(part, source)
    if kind not in _TEMPLATES:
        return []
    template = part.map(*_TEMPLATES[kind]) if _TEMPLATES[kind] else part
    return starts_of_pod(template.map("spec"), replicas(part, "spec", "replicas"), source, kind="kubernetes")


def starts_of_pod(
    pod: Mapped,
    around: Sequence[Given],
    source: Sequence[str],
    *,
    kind: str,
    variables: Mapping[str, Word] | None = None,
) -> list[ServerStart]:
    """The servers of a pod's containers."""
    given = [*around, *gpu_labels(pod)]
    containers = [*pod.maps("containers"), *(one for one in pod.maps("initContainers") if one.text("restartPolicy"))]
    return [start for one in containers for start in kube_starts(one, given, kind, source, variables)]


def replicas(part: Mapped, *path: str) -> list[Given]:
    """How many copies of a replica are asked for, where it is said."""
    found = part.scalar(*path)
    return (
        [Given(name="replicas", value=found.text, where=".".join(path), line=found.line)] if found is not None else []
    )


def gpu_labels(pod: Mapped) -> list[Given]:
    """Labels of nodes that name a GPU, by selector and affinity, those believed most first."""
    stated = [*_selected(pod), *_preferred(pod)]
    keys = label_keys()
    found = [(keys[key.lower()], value, key) for key, value in stated if key.lower() in keys]
    found.sort(key=lambda one: one[0])
    return [Given(name="gpu_label", value=value.text, where=key, line=value.line) for _rank, value, key in found]


def _selected(pod: Mapped) -> Iterator[tuple[str, Scalar]]:
    for key, value in pod.map("nodeSelector").keys.items():
        if isinstance(value, Scalar):
            yield key, value


def _preferred(pod: Mapped) -> Iterator[tuple[str, Scalar]]:
    affinity = pod.map("affinity", "nodeAffinity")
    required = affinity.maps("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    preferred = [one.map("preference") for one in affinity.maps("preferredDuringSchedulingIgnoredDuringExecution")]
    for term in [*required, *preferred]:
        for rule in term.maps("matchExpressions"):
            values = [one for one in rule.items("values") if isinstance(one, Scalar)]
            if rule.text("operator") in ("In", "Equals", "") and values:
                yield rule.text("key"), values[0]


def _of_leader_worker_set(part: Mapped, source: Sequence[str]) -> list[ServerStart]:
    """A group of pods that are one replica: its leader starts the server."""
    template = part.map("spec", "leaderWorkerTemplate")
    around = replicas(part, "spec", "replicas")
    variables: dict[str, Word] = {}
    size = template.scalar("size")
    if size is not None:
        around.append(Given(name="pods", value=size.text, where="leaderWorkerTemplate.size", line=size.line))
        variables["LWS_GROUP_SIZE"] = Word(size.text, size.line)
    leader = (
        template.map("leaderTemplate") if template.get("leaderTemplate") is not None else template.map("workerTemplate")
    )
    return starts_of_pod(leader.map("spec"), around, source, kind="kubernetes", variables=variables)
