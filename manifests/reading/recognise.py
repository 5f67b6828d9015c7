"""What a text is: a command, a Compose file, objects of Kubernetes, KServe or llm-d; and the servers that it starts."""

from collections.abc import Sequence

from manifests.reading import compose, kserve, kubernetes
from manifests.reading.scripts import starts_of_script
from manifests.reading.starts import ServerStart
from manifests.reading.words import ManifestError
from manifests.reading.yaml_tree import MOST_CHARACTERS, Mapped, Node, documents

FORMATS = ("command", "compose", "kubernetes", "kserve", "llm-d")
_MOST_STARTS = 20
_NONE = (
    "No server was found: a command of vLLM, SGLang, TensorRT-LLM or llama.cpp, a Compose file, or an object of "
    "Kubernetes, KServe or llm-d that starts one."
)


def read_manifest(text: str) -> list[ServerStart]:
    """The servers that a text starts, in its order.

    Raises:
        ManifestError: it starts none, or cannot be read.
    """
    if not text.strip():
        raise ManifestError("The text is empty.")
    if len(text) > MOST_CHARACTERS:
        raise ManifestError(f"The text has more than {MOST_CHARACTERS:,} characters.")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = _of_yaml(text) if _looks_like_yaml(text) else starts_of_script(text)
    if not found:
        raise ManifestError(_NONE)
    return found[:_MOST_STARTS]


def _looks_like_yaml(text: str) -> bool:
    """Whether a line begins with a key that only objects have; commands have none."""
    keys = ("apiVersion:", "kind:", "services:", "modelArtifacts:", "spec:", '"apiVersion"', '{"apiVersion')
    return any(line.lstrip("{ ").startswith(keys) for line in text.split("\n"))


def _of_yaml(text: str) -> list[ServerStart]:
    source: Sequence[str] = text.split("\n")
    found: list[ServerStart] = []
    for part in _parts(documents(text)):
        kind = part.text("kind")
        if kind in kserve.KINDS:
            found += kserve.starts_of_kserve(part, source)
        elif kind:
            found += kubernetes.starts_of_workload(part, source)
        elif kserve.is_model_service(part):
            found += kserve.starts_of_model_service(part, source)
        elif part.get("services") is not None:
            found += compose.starts_of_compose(part, source)
    return found


def _parts(nodes: Sequence[Node]) -> list[Mapped]:
    """The objects of a file; those of a List one by one."""
    found = []
    for node in nodes:
        if isinstance(node, Mapped):
            found += node.maps("items") if node.text("kind") == "List" else [node]
    return found
