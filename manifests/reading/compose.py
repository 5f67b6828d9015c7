"""Compose files: services with their command, image, variables and GPUs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from manifests.reading.containers import environment_of, starts_of_command
from manifests.reading.scripts import gpu_count
from manifests.reading.starts import Given, ServerStart, put_in
from manifests.reading.words import Word
from manifests.reading.yaml_tree import Listed, Mapped, Scalar


def starts_of_compose(part: Mapped, source: Sequence[str]) -> list[ServerStart]:
    """The servers of a Compose file, or of a list of services without its head."""
    found = []
    for name, service in part.map("services").keys.items():
        if not isinstance(service, Mapped):
            continue
        image = service.scalar("image")
        known = None if image is None else put_in(Word(image.text, image.line), {})
        entrypoint, command = service.get("entrypoint"), service.get("command")
        environment = environment_of(service.get("environment"))
        if isinstance(entrypoint, Scalar):
            front = Listed(entrypoint.line, [replace(entrypoint, text=word) for word in entrypoint.text.split()])
            entrypoint = front if not isinstance(command, type(None)) else entrypoint
        for start in starts_of_command(entrypoint, command, known, environment, source):
            given = (*_gpus(service), *start.given)
            found.append(replace(start, name=name, kind="compose", image=start.image or known, given=given))
    return found


def _gpus(service: Mapped) -> Iterator[Given]:
    for device in service.maps("deploy", "resources", "reservations", "devices"):
        where = "deploy.resources.reservations.devices"
        count, ids = device.scalar("count"), device.items("device_ids")
        if count is not None and count.text.isdigit():
            yield Given(name="gpus", value=count.text, where=f"{where}.count", line=count.line)
        elif ids:
            yield Given(name="gpus", value=str(len(ids)), where=f"{where}.device_ids", line=ids[0].line)
    gpus = service.scalar("gpus")
    if gpus is not None and (found := gpu_count(gpus.text)) is not None:
        yield Given(name="gpus", value=found, where="gpus", line=gpus.line)
