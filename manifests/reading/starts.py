"""A start of a server, whatever it was read from: its engine, the words behind its program, what stands around them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from manifests.reading.words import Word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# ${NAME}, ${NAME:-default}, ${NAME-default}, $NAME of a shell; $(NAME) of Kubernetes.
_VARIABLE = re.compile(
    r"\$\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)(?::?[-=](?P<default>[^{}]*))?\}|\$\((?P<kube>[A-Za-z_][A-Za-z0-9_]*)\)"
    r"|\$(?P<plain>[A-Za-z_][A-Za-z0-9_]*)"
)
_LONGEST_WORD = 100_000
_MODULES = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "sglang.launch_server": "sglang",
    "tensorrt_llm.commands.serve": "tensorrt-llm",
}
_SUBCOMMANDS = {"vllm": "serve", "sglang": "serve", "tensorrt-llm": "serve"}
_PROGRAMS = {
    "vllm": "vllm", "sglang": "sglang", "trtllm-serve": "tensorrt-llm", "llama-server": "llama.cpp",
    "llama-server.exe": "llama.cpp",
}  # fmt: skip
# Images by the end of their name, with the engine and whether their entrypoint starts it: words behind are arguments.
_IMAGES: tuple[tuple[str, str, bool], ...] = (
    ("vllm-openai", "vllm", True), ("rocm/vllm", "vllm", False), ("vllm-dev", "vllm", False),
    ("lmsysorg/sglang", "sglang", False), ("sglang-rocm", "sglang", False),
    ("tensorrt-llm/release", "tensorrt-llm", False),
    ("ggml-org/llama.cpp", "llama.cpp", True), ("ggerganov/llama.cpp", "llama.cpp", True),
    ("llama.cpp", "llama.cpp", True), ("llm-d-cuda", "vllm", False), ("llm-d/llm-d", "vllm", False),
    ("llm-d-dev", "vllm", False),
    ("vllm", "vllm", False), ("sglang", "sglang", False),
)  # fmt: skip
_RELEASE = re.compile(r"v?(\d+\.\d+(?:\.\d+)*)(?:[.-](?:post|rc)\d+)?(?:[-+_].*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Something that the text states outside a command: what, its value, where, and the line."""

    name: str
    value: str
    where: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStart:
    """One server.

    `words` are the arguments behind the program, with variables put in; `given` what is stated around the command:
    gpus, pods, replicas, gpu_label, model, tp, pp, dp, expert.
    """

    name: str
    kind: str
    engine: str
    words: tuple[Word, ...] = ()
    given: tuple[Given, ...] = ()
    environment: Mapping[str, Word] = field(default_factory=dict)
    image: Word | None = None
    line: int = 0
    notes: tuple[str, ...] = ()

    def stated(self, name: str) -> Given | None:
        """What is stated around the command; the first place that says it."""
        return next((one for one in self.given if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Program:
    """The engine of a command and the words behind its program."""

    engine: str
    words: tuple[Word, ...]
    environment: dict[str, Word]
    line: int


def program_of(words: Sequence[Word]) -> Program | None:
    """The server that a command starts; None where it starts another program."""
    environment = _assignments(words)
    for place, word in enumerate(words):
        engine = _engine_at(words, place)
        if engine is None:
            continue
        rest = list(words[place + 1 :])
        if word.text == "-m":
            rest = rest[1:]
        if rest and rest[0].text == _SUBCOMMANDS.get(engine):
            rest = rest[1:]
        elif word.text in ("vllm", "sglang"):
            continue
        return Program(engine, tuple(rest), environment, word.line)
    return None


def _engine_at(words: Sequence[Word], place: int) -> str | None:
    text = words[place].text
    if text == "-m" and place + 1 < len(words):
        return _MODULES.get(words[place + 1].text)
    if len(text) > 400 or "=" in text:
        return None
    base = PurePosixPath(text.replace("\\", "/")).name
    if base == "vllm" and place + 1 < len(words) and words[place + 1].text != "serve":
        return None
    if base == "launch_server.py" or text.endswith("openai/api_server.py"):
        return "sglang" if base == "launch_server.py" else "vllm"
    return _PROGRAMS.get(base)


def _assignments(words: Sequence[Word]) -> dict[str, Word]:
    found = {}
    for word in words:
        if match := _ASSIGNED.fullmatch(word.text):
            found[match[1]] = Word(match[2], word.line)
        elif word.text not in ("env", "export", "exec", "nohup", "set", "time"):
            break
    return found


def assignments_of(words: Sequence[Word]) -> dict[str, Word]:
    """Variables that a command sets and does nothing else: `A=1`, `export A=1`."""
    found = _assignments(words)
    alone = all(_ASSIGNED.fullmatch(word.text) or word.text in ("export", "set", "env") for word in words)
    return found if alone else {}


def image_engine(image: str) -> tuple[str, bool] | None:
    """The engine of a container image, and whether the image starts it by itself."""
    name = image.split("@", 1)[0]
    base = name.rsplit(":", 1)[0] if ":" in name.rsplit("/", 1)[-1] else name
    for end, engine, starts in _IMAGES:
        if base == end or base.endswith("/" + end) or base.endswith(end):
            return engine, starts
    return None


def release_of(image: str) -> str | None:
    """The release that an image's tag names, such as 0.8.5 of v0.8.5.post1; None for latest and its like."""
    tag = image.split("@", 1)[0].rsplit("/", 1)[-1].partition(":")[2]
    found = _RELEASE.fullmatch(tag)
    return found[1] if found else None


def put_in(word: Word, variables: Mapping[str, Word]) -> Word:
    """The word with its variables; one that nothing sets stays as it is written."""
    if "$" not in word.text:
        return word

    def value(match: re.Match[str]) -> str:
        name = match["braced"] or match["kube"] or match["plain"]
        found = variables.get(name)
        if found is not None and not (found.text == "" and match["default"]):
            return found.text
        return match["default"] if match["default"] is not None else match[0]

    text = _VARIABLE.sub(value, word.text)
    # A value may name others, as MODEL=$BASE/$NAME does; one that names itself ends here.
    text = _VARIABLE.sub(value, text) if len(text) < _LONGEST_WORD else text
    return Word(text[:_LONGEST_WORD], word.line)


def open_variables(words: Sequence[Word]) -> list[tuple[str, Word]]:
    """Variables that are still in the words, each with the word."""
    return [
        (match["braced"] or match["kube"] or match["plain"], word)
        for word in words
        for match in _VARIABLE.finditer(word.text)
    ]


def split_values(words: Sequence[Word], variables: Mapping[str, Word]) -> list[Word]:
    """The words with variables put in; a word that was a variable alone may be several, as the shell splits it."""
    found: list[Word] = []
    for word in words:
        filled = put_in(word, variables)
        if filled is not word and word.text.startswith("$") and " " in filled.text and "{" not in filled.text:
            found += [Word(part, word.line) for part in filled.text.split()]
        elif filled.text or filled is word:
            found.append(filled)
    return found
