"""How an estimate is declared: a request model, a response model, and one function from the first to the second.

See docs/adding-an-endpoint.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from estimator.estimates.answers import Answer
from estimator.estimates.examples import WorkedExample, worked_examples
from estimator.question.fields import RequestBody
from estimator.resolvers.facts import Facts

BodyT = TypeVar("BodyT", bound=RequestBody)
AnswerT = TypeVar("AnswerT", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request brings beside its body: the facts to resolve against and whether to show the working."""

    facts: Facts
    explain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[BodyT, AnswerT]):
    """One estimate endpoint.

    `slug` is the last part of the path and names the room with its worked examples; `answer` gets the parsed body and
    `Asked`, and may raise `ResolutionError` (400) or an engine error (400 or 422). `says_speed`: its figures
    rest on speed, so that calibrations of the person who asks are used.
    """

    slug: str
    summary: str
    description: str
    request: type[BodyT]
    response: type[AnswerT]
    answer: Callable[[BodyT, Asked], AnswerT]
    area: str = "estimates"
    says_speed: bool = False

    @property
    def operation_id(self) -> str:
        """Stable name of the operation in the schema."""
        return f"{self.area}_" + self.slug.replace("-", "_")

    @property
    def examples(self) -> tuple[WorkedExample, ...]:
        """The worked examples of its room."""
        return worked_examples(self.slug)
