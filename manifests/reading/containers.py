"""A container of Kubernetes or Compose: its command, arguments, variables, image and GPUs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from manifests.reading.scripts import one_start, start_of, starts_of_script
from manifests.reading.shell import commands
from manifests.reading.starts import Given, Program, ServerStart, image_engine, split_values
from manifests.reading.words import Word
from manifests.reading.yaml_tree import Listed, Mapped, Node, Scalar, scalars

_GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "gpu.intel.com/i915", "habana.ai/gaudi",
                  "google.com/tpu", "aws.amazon.com/neuron")  # fmt: skip


def words_of(node: Node | None, source: Sequence[str]) -> list[Word]:
    """The words of a list of texts, one a word."""
    found = []
    for one in scalars(node):
        found.append(Word(one.text, one.line))
    return found


def script_of(node: Scalar, source: Sequence[str]) -> Word:
    """A text of several lines with the line that it begins on: that behind the mark where it is a block."""
    first = node.line
    line = source[first - 1] if 0 < first <= len(source) else ""
    is_block = node.last_line > node.line and line.rstrip().endswith(("|", ">", "|-", ">-", "|+", ">+"))
    return Word(node.text, first + 1 if is_block else first)


def with_lines(words: Sequence[Word], node: Scalar, source: Sequence[str]) -> list[Word]:
    """Words of a text that YAML folded: each on the line where it stands in the file, looked for in order."""
    found, line = [], node.line
    for word in words:
        key = word.text.split("=")[0].strip("'\"")[:60]
        stands = next(
            (at for at in range(line, min(node.last_line, line + 400) + 1) if key and key in source[at - 1]), line
        )
        line = max(line, stands)
        found.append(Word(word.text, line))
    return found


def environment_of(node: Node | None) -> dict[str, Word]:
    """Variables: a list of name and value, a list of NAME=value, or an object."""
    found: dict[str, Word] = {}
    if isinstance(node, Mapped):
        for name, value in node.keys.items():
            if isinstance(value, Scalar):
                found[name] = Word(value.text, value.line)
    elif isinstance(node, Listed):
        for one in node.items:
            if isinstance(one, Scalar) and "=" in one.text:
                name, _mark, text = one.text.partition("=")
                found[name] = Word(text, one.line)
            elif isinstance(one, Mapped) and (stated := one.scalar("value")) is not None:
                found[one.text("name")] = Word(stated.text, stated.line)
    known: dict[str, Word] = {}
    for name, word in found.items():
        filled = split_values([word], known)
        known[name] = Word(" ".join(one.text for one in filled), word.line) if filled else word
    return known


def starts_of_command(
    command: Node | None, arguments: Node | None, image: Word | None, environment: Mapping[str, Word],
    source: Sequence[str],
) -> list[ServerStart]:  # fmt: skip
    """The servers that a container starts; by its image's own entrypoint where it has no command."""
    if isinstance(command, Scalar) and not isinstance(arguments, (Scalar, Listed)):
        return _of_text(command, image, environment, source)
    if isinstance(arguments, Scalar):
        front = words_of(command, source)
        text = script_of(arguments, source)
        found = starts_of_script(" ".join([*(word.text for word in front), text.text]), text.line, environment)
        found = [replace(one, words=tuple(with_lines(one.words, arguments, source))) for one in found]
        return found or _of_text(arguments, image, environment, source)
    words = [*words_of(command, source), *words_of(arguments, source)]
    found = [_lined(one, (command, arguments), source) for one in one_start(words, environment)]
    if found or (command is not None and not isinstance(command, Scalar) and words_of(command, source)):
        return found
    return _by_image(split_values(words, environment), image, environment)


def _of_text(
    node: Scalar, image: Word | None, environment: Mapping[str, Word], source: Sequence[str]
) -> list[ServerStart]:
    text = script_of(node, source)
    found = starts_of_script(text.text, text.line, environment)
    if not found and image is not None:
        words = [word for command in commands(text.text, text.line) for word in command]
        found = _by_image(split_values(words, environment), image, environment)
    return [replace(one, words=tuple(with_lines(one.words, node, source))) for one in found]


def _lined(start: ServerStart, nodes: tuple[Node | None, ...], source: Sequence[str]) -> ServerStart:
    """Words of a script inside a list of words: on the lines of the item that holds them."""
    blocks = [one for node in nodes for one in scalars(node) if one.last_line > one.line]
    for block in blocks:
        if start.words and all(word.text.split("=")[0] in block.text for word in start.words[:3]):
            return replace(start, words=tuple(with_lines(start.words, block, source)))
    return start


def _by_image(words: Sequence[Word], image: Word | None, environment: Mapping[str, Word]) -> list[ServerStart]:
    known = image_engine(image.text) if image is not None else None
    if image is None or known is None or not known[1]:
        return []
    rest = tuple(words[1:] if words and words[0].text == "serve" else words)
    return [start_of(Program(known[0], rest, {}, words[0].line if words else image.line), environment, "command")]


def kube_starts(
    container: Mapped,
    around: Sequence[Given],
    kind: str,
    source: Sequence[str],
    variables: Mapping[str, Word] | None = None,
) -> list[ServerStart]:
    """The servers of a container of a pod."""
    environment = {**(variables or {}), **environment_of(container.get("env"))}
    image = container.scalar("image")
    found = starts_of_command(
        container.get("command"), container.get("args"), None if image is None else Word(image.text, image.line),
        environment, source,
    )  # fmt: skip
    gpus = list(gpus_of(container))
    name = container.text("name")
    return [
        replace(
            start, kind=kind, name=name or start.name, given=(*gpus, *around, *start.given),
            image=start.image or (None if image is None else Word(image.text, image.line)),
        )
        for start in found
    ]  # fmt: skip


def gpus_of(container: Mapped) -> Iterator[Given]:
    """The GPUs that a container asks for; limits before requests."""
    for part in ("limits", "requests"):
        for name in _GPU_RESOURCES:
            found = container.scalar("resources", part, name)
            if found is not None:
                yield Given(name="gpus", value=found.text, where=f"resources.{part}.{name}", line=found.line)
                yield Given(name="gpu_vendor", value=name.split(".")[0], where=name, line=found.line)
        for name, node in container.map("resources", part).keys.items():
            if name.strip() != name and name.strip() in _GPU_RESOURCES and isinstance(node, Scalar):
                yield Given(name="gpus", value=node.text, where=f"resources.{part}.{name.strip()}", line=node.line)
            if name.startswith("nvidia.com/mig-"):
                yield Given(name="mig", value=name, where=f"resources.{part}", line=node.line)
