"""Servers that a script starts: commands with their variables, containers of `docker run` among them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from manifests.reading.shell import commands
from manifests.reading.starts import (
    Given,
    Program,
    ServerStart,
    assignments_of,
    image_engine,
    program_of,
    split_values,
)
from manifests.reading.words import ManifestError, Word

_RUNNERS = ("docker", "podman", "nerdctl")
_SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash", "ash", "/usr/bin/bash", "zsh")
_NESTED = 3


def starts_of_script(
    text: str, first_line: int = 1, variables: Mapping[str, Word] | None = None, depth: int = 0
) -> list[ServerStart]:
    """The servers that a script starts, with the variables that it sets put in.

    Args:
        text: the script.
        first_line: the line of the file that it begins on.
        variables: those of its environment.
        depth: how many `sh -c` it stands in.

    Raises:
        ManifestError: a quote that is not closed.
    """
    known: dict[str, Word] = dict(variables or {})
    found: list[ServerStart] = []
    for words in commands(_without_fences(text), first_line):
        set_here = assignments_of(words)
        if set_here:
            known |= {name: split_values([word], known)[0] for name, word in set_here.items() if word.text}
            continue
        filled = split_values(words, known)
        if filled:
            found += _starts(filled, known, depth)
    return found


def _without_fences(text: str) -> str:
    """The text without the marks of Markdown and prompts, line by line, so that lines keep their numbers."""
    lines = text.split("\n")
    cleaned = ["" if line.lstrip().startswith("```") else line for line in lines]
    return "\n".join(line.lstrip()[2:] if line.lstrip().startswith("$ ") else line for line in cleaned)


def _starts(words: Sequence[Word], known: Mapping[str, Word], depth: int) -> list[ServerStart]:
    if words[0].text in _RUNNERS or (words[0].text == "sudo" and len(words) > 1 and words[1].text in _RUNNERS):
        return _container(words, known, depth)
    inner = shell_text(words)
    if inner is not None and depth < _NESTED:
        return starts_of_script(inner.text, inner.line, known, depth + 1)
    program = program_of(words)
    return [] if program is None else [start_of(program, known, "command")]


def shell_text(words: Sequence[Word]) -> Word | None:
    """The script of `sh -c SCRIPT`; None for other commands."""
    if not words or words[0].text not in _SHELLS:
        return None
    for place, word in enumerate(words[1:], 1):
        if word.text.startswith("-") and word.text.endswith("c") and place + 1 < len(words):
            return words[place + 1]
    return None


def start_of(program: Program, known: Mapping[str, Word], kind: str, given: Sequence[Given] = ()) -> ServerStart:
    """The start of a program found in a command."""
    return ServerStart(
        name=program.engine, kind=kind, engine=program.engine, words=program.words, given=tuple(given),
        environment={**known, **program.environment}, line=program.line,
    )  # fmt: skip


def _container(words: Sequence[Word], known: Mapping[str, Word], depth: int) -> list[ServerStart]:
    """A server in a container that `docker run` starts: the image is the first word that names an engine's."""
    place = next((at for at, word in enumerate(words) if at > 1 and _is_image(word.text)), None)
    if place is None or "run" not in [word.text for word in words[:4]]:
        inner = program_of(words)
        return [] if inner is None else [start_of(inner, known, "command")]
    before, image, behind = words[:place], words[place], list(words[place + 1 :])
    environment = {**known, **_environment(before)}
    given = _gpus(before)
    found = _inside(behind, image, environment, depth)
    return [] if found is None else [_with(found, image, given, environment)]


def _inside(behind: list[Word], image: Word, environment: Mapping[str, Word], depth: int) -> ServerStart | None:
    inner = shell_text(behind)
    if inner is not None and depth < _NESTED:
        return next(iter(starts_of_script(inner.text, inner.line, environment, depth + 1)), None)
    program = program_of(behind)
    if program is not None:
        return start_of(program, environment, "command")
    known = image_engine(image.text)
    if known is None or not known[1]:
        return None
    if behind and behind[0].text == "serve":
        behind = behind[1:]
    return start_of(Program(known[0], tuple(behind), {}, image.line), environment, "command")


def _with(start: ServerStart, image: Word, given: list[Given], environment: Mapping[str, Word]) -> ServerStart:
    return ServerStart(
        name=start.name, kind=start.kind, engine=start.engine, words=start.words, given=(*start.given, *given),
        environment={**environment, **start.environment}, image=image, line=start.line,
    )  # fmt: skip


def _is_image(text: str) -> bool:
    return not text.startswith("-") and ("/" in text or ":" in text) and "=" not in text and (
        image_engine(text) is not None and not text.startswith(("/", ".", "~", "$"))
    ) and text.count(":") <= 1  # fmt: skip


def _environment(words: Sequence[Word]) -> dict[str, Word]:
    found = {}
    for word, behind in pairwise(words):
        if word.text in ("-e", "--env") and "=" in behind.text:
            name, _mark, value = behind.text.partition("=")
            found[name] = Word(value, behind.line)
        elif word.text.startswith("--env="):
            name, _mark, value = word.text[6:].partition("=")
            found[name] = Word(value, word.line)
    return found


def _gpus(words: Sequence[Word]) -> list[Given]:
    for place, word in enumerate(words):
        value = word.text[7:] if word.text.startswith("--gpus=") else None
        if word.text == "--gpus" and place + 1 < len(words):
            value = words[place + 1].text
        count = gpu_count(value) if value is not None else None
        if count is not None:
            return [Given(name="gpus", value=count, where="--gpus", line=word.line)]
    return []


def gpu_count(value: str) -> str | None:
    """The count of `--gpus`: 2, all, "device=0,1"; None where it says none."""
    text = value.strip("'\" ")
    if text.startswith("device="):
        return str(len([one for one in text[7:].split(",") if one.strip()]))
    return text if text.isdigit() and 0 < int(text) <= 10_000 else None


def one_start(words: Sequence[Word], environment: Mapping[str, Word]) -> list[ServerStart]:
    """The servers of a command given as a list of words, as a container's command and args are.

    Raises:
        ManifestError: a quote in it is not closed.
    """
    if not words:
        return []
    inner = shell_text(words)
    if inner is not None:
        # What stands behind the script are its own arguments, $0 first: `$@` of it.
        rest = words[words.index(inner) + 1 :]
        script = starts_of_script(inner.text, inner.line, environment, 1)
        if rest and "$@" in inner.text:
            script = [_behind(start, rest[1:] if rest[0].text in ("-", "--", "sh") else rest) for start in script]
        return script
    try:
        program = program_of(split_values(words, environment))
    except RecursionError as error:  # pragma: no cover  (words are bounded)
        raise ManifestError(str(error)) from None
    return [] if program is None else [start_of(program, environment, "command")]


def _behind(start: ServerStart, rest: Sequence[Word]) -> ServerStart:
    words = tuple(word for word in start.words if word.text != "$@")
    return ServerStart(
        name=start.name, kind=start.kind, engine=start.engine, words=(*words, *rest), given=start.given,
        environment=start.environment, image=start.image, line=start.line,
    )  # fmt: skip
