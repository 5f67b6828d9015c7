"""What is answered of a manifest."""

from typing import Any, Literal

from pydantic import Field

from estimator.estimates.answers import ResponsePart
from estimator.estimates.verdict.parts import VerdictAnswer
from manifests.reading_notes import Missing, NotStated, NotUsed, Read, Unknown

Origin = Literal["flag", "manifest", "resources", "label", "image", "name", "given"]


class ReadPart(ResponsePart):
    """A field of the question and what says it."""

    field: str = Field(description="The field, as the verdict takes it; a few are words for what a flag says.")
    value: Any = Field(description="Its value.")
    said: str = Field(description="What says it, as written.")
    origin: Origin = Field(
        description="flag: the command; manifest: a key beside it; resources, label, image: those of the pod; name: "
        "the model's name; given: `question` of the request."
    )
    line: int | None = Field(description="Line of the text, from 1; null for what was given beside it.")


class NotUsedPart(ResponsePart):
    """A flag that the engine has and no figure uses."""

    flag: str = Field(description="The flag with its values.")
    line: int = Field(description="Line of the text, from 1.")
    why: str | None = Field(description="What of it no figure holds; null where it changes neither memory nor speed.")


class UnknownPart(ResponsePart):
    """A flag or word that no argument list of the engine has."""

    flag: str = Field(description="As written.")
    line: int = Field(description="Line of the text, from 1.")
    near: list[str] = Field(description="Flags of the engine that are near, nearest first.")


class NotStatedPart(ResponsePart):
    """A field that the text leaves open."""

    field: str = Field(description="The field, as the verdict takes it.")
    taken: str = Field(description="What was taken.")
    why: str = Field(description="Why that.")


class MissingPart(ResponsePart):
    """What stands in the way of a verdict."""

    field: str = Field(description="Field of `question` that would help.")
    detail: str = Field(description="What is wrong and what is allowed.")
    near: list[str] = Field(description="Names of the catalog that are near, nearest first.")


class CheckPart(ResponsePart):
    """A target or limit and whether it holds."""

    name: Literal["fits", "starts", "targets", "cost_per_mtok_output", "cost_per_month"] = Field(
        description="fits: the load; starts: a request of the longest length fits, which the engine asks for at its "
        "start; targets: question.slo; and the limits."
    )
    met: bool | None = Field(description="Whether it holds; null where that is not known.")
    detail: str = Field(description="The figure against the limit, in words.")


class FieldChange(ResponsePart):
    """A field of the question that differs from the last version."""

    field: str = Field(description="The field.")
    before: Any = Field(description="Its value then; null: not there.")
    after: Any = Field(description="Its value now; null: not there.")


class FigureChange(ResponsePart):
    """A figure of the verdict under both versions."""

    figure: str = Field(description="Its name and unit, as the verdict has it.")
    before: float | str | None = Field(description="Then; null where it is not known.")
    after: float | str | None = Field(description="Now; null where it is not known.")


class Difference(ResponsePart):
    """What differs from the last version."""

    fields: list[FieldChange] = Field(description="Fields of the question.")
    figures: list[FigureChange] = Field(description="Figures of the verdict; only those that differ.")
    missing: list[MissingPart] = Field(description="What the last version lacks for a verdict.")


class ManifestAnswer(ResponsePart):
    """A manifest read, the question that it asks, and the answer."""

    format: Literal["command", "compose", "kubernetes", "kserve", "llm-d"] = Field(description="What the text is.")
    server: str = Field(description="Name of the server that was read.")
    servers: list[str] = Field(description="Names of all servers that the text starts.")
    engine: str = Field(description="vllm, sglang, tensorrt-llm or llama.cpp.")
    replicas: int = Field(description="Copies that the text asks for, count; the question is that of one.")
    read: list[ReadPart] = Field(description="What was read, with where it came from.")
    not_stated: list[NotStatedPart] = Field(description="What is not stated, and what was taken.")
    unknown: list[UnknownPart] = Field(description="Flags and words that the engine does not have.")
    not_used: list[NotUsedPart] = Field(description="Flags that the engine has and no figure uses.")
    notes: list[str] = Field(description="What else was seen: GPUs that stand idle, variables that nothing sets.")
    missing: list[MissingPart] = Field(description="What stands in the way of a verdict; empty with one.")
    question: dict[str, Any] = Field(description="The question, as estimates/verdict/ takes it.")
    verdict: VerdictAnswer | None = Field(description="The verdict on one replica; null where something is missing.")
    checks: list[CheckPart] = Field(description="Whether it fits, starts, and meets targets and limits.")
    meets: bool | None = Field(description="Whether every check holds; null where one is not known or none was made.")
    difference: Difference | None = Field(description="What differs from `previous`; null without it.")


def read_part(one: Read) -> ReadPart:
    """A field read, as the answer has it."""
    return ReadPart.model_validate(one)


def not_used_part(one: NotUsed) -> NotUsedPart:
    """A flag not used, as the answer has it."""
    return NotUsedPart.model_validate(one)


def unknown_part(one: Unknown) -> UnknownPart:
    """An unknown flag, as the answer has it."""
    return UnknownPart(flag=one.flag, line=one.line, near=list(one.near))


def not_stated_part(one: NotStated) -> NotStatedPart:
    """A default, as the answer has it."""
    return NotStatedPart.model_validate(one)


def missing_part(one: Missing) -> MissingPart:
    """What is missing, as the answer has it."""
    return MissingPart(field=one.field, detail=one.detail, near=list(one.near))
