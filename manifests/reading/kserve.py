"""KServe's InferenceService and LLMInferenceService, and llm-d's model service values."""

from collections.abc import Sequence
from dataclasses import replace

from manifests.reading.containers import environment_of, gpus_of, kube_starts, words_of
from manifests.reading.kubernetes import gpu_labels, replicas
from manifests.reading.shell import commands
from manifests.reading.starts import Given, ServerStart, split_values
from manifests.reading.words import Word
from manifests.reading.yaml_tree import Mapped, Scalar

KINDS = frozenset(
    {"InferenceService", "LLMInferenceService", "LLMInferenceServiceConfig", "ServingRuntime", "ClusterServingRuntime",
     "ModelService"}
)  # fmt: skip
# Arguments of KServe's Hugging Face runtime itself; the rest are vLLM's.
_OF_THE_RUNTIME = frozenset(("model_id", "model_dir", "model_name", "backend", "task", "return_token_type_ids"))
_DEGREES = {
    "tensor": "tp", "pipeline": "pp", "data": "dp", "dataLocal": "dp_local", "expert": "expert",
}  # fmt: skip


def starts_of_kserve(part: Mapped, source: Sequence[str]) -> list[ServerStart]:
    """The servers of one object of KServe or llm-d."""
    kind = part.text("kind")
    if kind in ("LLMInferenceService", "LLMInferenceServiceConfig"):
        return _of_llm_service(part, source)
    if kind == "InferenceService":
        return _of_inference_service(part, source)
    if kind in ("ServingRuntime", "ClusterServingRuntime"):
        spec = part.map("spec")
        return [
            one for each in spec.maps("containers") for one in kube_starts(each, gpu_labels(spec), "kserve", source)
        ]
    return starts_of_model_service(part.map("spec"), source)


def _of_llm_service(part: Mapped, source: Sequence[str]) -> list[ServerStart]:
    spec = part.map("spec")
    found = []
    for name, place in (("server", spec), ("prefill", spec.map("prefill"))):
        if place.get("template") is not None or place.get("parallelism") is not None or name == "server":
            start = _llm_start(name, place, spec, source)
            found.append(replace(start, name=part.text("metadata", "name") or name) if name == "server" else start)
    return found


def _llm_start(name: str, place: Mapped, spec: Mapped, source: Sequence[str]) -> ServerStart:
    """One server of an LLMInferenceService: vLLM, by the configuration that KServe brings, unless it names another."""
    template = place.map("template")
    given = [*_named(spec.map("model"), "model"), *_degrees(place), *replicas(place, "replicas")]
    given += gpu_labels(template)
    containers = template.maps("containers")
    main = next((one for one in containers if one.text("name") in ("main", "")), containers[0] if containers else None)
    if main is None:
        return ServerStart(name=name, kind="kserve", engine="vllm", given=tuple(given), line=spec.line)
    own = kube_starts(main, given, "kserve", source)
    if own:
        return own[0]
    environment = environment_of(main.get("env"))
    extra = environment.get("VLLM_ADDITIONAL_ARGS")
    words = [*_split(extra), *split_values(words_of(main.get("args"), source), environment)]
    image = main.scalar("image")
    return ServerStart(
        name=name, kind="kserve", engine="vllm", words=tuple(words), given=(*gpus_of(main), *given),
        environment=environment, image=None if image is None else Word(image.text, image.line), line=main.line,
    )  # fmt: skip


def _split(word: Word | None) -> list[Word]:
    if word is None:
        return []
    return [Word(one.text, word.line) for command in commands(word.text, word.line) for one in command]


def _model(uri: Scalar | None, where: str) -> list[Given]:
    if uri is None:
        return []
    return [Given(name="model", value=uri.text.removeprefix("hf://"), where=where, line=uri.line)]


def _named(place: Mapped, where: str) -> list[Given]:
    """The model by its place, or by its name where the place is a volume or left to a template."""
    uri, name = place.scalar("uri"), place.scalar("name")
    is_name = uri is not None and (uri.text.startswith(("pvc://", "s3://", "oci://", "gs://")) or "{{" in uri.text)
    if is_name and name is not None and "/" in name.text:
        return _model(name, f"{where}.name")
    return _model(uri, f"{where}.uri")


def _degrees(place: Mapped) -> list[Given]:
    found = []
    for key, name in _DEGREES.items():
        stated = place.scalar("parallelism", key)
        if stated is not None:
            found.append(Given(name=name, value=stated.text, where=f"parallelism.{key}", line=stated.line))
    return found


def _of_inference_service(part: Mapped, source: Sequence[str]) -> list[ServerStart]:
    """A predictor: its own container, or a model that the Hugging Face runtime serves with vLLM."""
    predictor = part.map("spec", "predictor")
    around = [*gpu_labels(predictor), *replicas(predictor, "minReplicas")]
    own = [one for each in predictor.maps("containers") for one in kube_starts(each, around, "kserve", source)]
    if own:
        return own
    model = predictor.map("model")
    if model.text("modelFormat", "name").lower() not in ("huggingface", "vllm"):
        return []
    environment = environment_of(model.get("env"))
    words = split_values([*words_of(model.get("command"), source), *words_of(model.get("args"), source)], environment)
    kept, named = _without_runtime_flags(words)
    given = [*gpus_of(model), *_model(model.scalar("storageUri"), "storageUri"), *named, *around]
    return [
        ServerStart(
            name=part.text("metadata", "name") or "predictor", kind="kserve", engine="vllm", words=tuple(kept),
            given=tuple(given), environment=environment, line=model.line,
        )
    ]  # fmt: skip


def _without_runtime_flags(words: Sequence[Word]) -> tuple[list[Word], list[Given]]:
    """The words that are vLLM's, and the model that the runtime's own flags name."""
    kept: list[Word] = []
    given: list[Given] = []
    at = 0
    while at < len(words):
        name, mark, value = words[at].text.lstrip("-").partition("=")
        taken = 1
        if words[at].text.startswith("--") and name.replace("-", "_") in _OF_THE_RUNTIME:
            if not mark and at + 1 < len(words) and not words[at + 1].text.startswith("-"):
                value, taken = words[at + 1].text, 2
            if name.replace("-", "_") == "model_id" and value:
                given.append(Given(name="model", value=value, where=f"--{name}", line=words[at].line))
        else:
            kept.append(words[at])
        at += taken
    return kept, given


def is_model_service(part: Mapped) -> bool:
    """Whether an object without a kind holds the values of llm-d's model service."""
    return part.get("modelArtifacts") is not None and part.get("decode") is not None


def starts_of_model_service(values: Mapped, source: Sequence[str]) -> list[ServerStart]:
    """The decode and prefill servers of llm-d's model service."""
    found = []
    for name in ("decode", "prefill"):
        place = values.map(name)
        containers = place.maps("containers")
        if not containers or place.text("create") == "false":
            continue
        main = containers[0]
        given = [
            *gpus_of(main),
            *_named(values.map("modelArtifacts"), "modelArtifacts"),
            *_degrees(place),
            *replicas(place, "replicas"),
        ]
        given += gpu_labels(place)
        environment = environment_of(main.get("env"))
        own = kube_starts(main, given, "llm-d", source)
        if own:
            found.append(replace(own[0], name=name))
            continue
        words = split_values(words_of(main.get("args"), source), environment)
        image = main.scalar("image")
        found.append(
            ServerStart(
                name=name, kind="llm-d", engine="vllm", words=tuple(words), given=tuple(given), environment=environment,
                image=None if image is None else Word(image.text, image.line), line=main.line,
            )
        )  # fmt: skip
    return found
