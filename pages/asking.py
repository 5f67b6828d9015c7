"""Questions of pages put to the services of the API, read and checked as its bodies are."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from estimator.api.parsing import parse_body
from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.estimates.endpoint import Asked
from estimator.estimates.verdict import answer as verdict
from estimator.estimates.verdict.parts import VerdictAnswer
from estimator.question.fields import RequestBody
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpu_prices import default_price
from pages.question import CURRENCY, FormFault, Question, body_of, fault_at, faults_of

RequestT = TypeVar("RequestT", bound=RequestBody)
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the verdict said: an answer, or the faults of the question."""

    body: dict[str, Any]
    answer: VerdictAnswer | None
    faults: tuple[FormFault, ...]


def ask(question: Question, facts: Facts, *, explain: bool = True, changes: bool = True) -> Found:
    """The verdict on a question, through the reading and checks of the API."""
    body, unread = body_of(question)
    sent = body if changes else body | {"changes": False}
    answer, refused = answered(verdict.VerdictRequest, verdict.answer_verdict, sent, facts, explain=explain)
    known = {fault.name for fault in unread}
    faults = (*unread, *(fault for fault in refused if fault.name not in known))
    return Found(body=body, answer=None if faults else answer, faults=faults)


def answered(
    request: type[RequestT],
    answer: Callable[[RequestT, Asked], AnswerT],
    body: dict[str, Any],
    facts: Facts,
    *,
    explain: bool = False,
) -> tuple[AnswerT | None, tuple[FormFault, ...]]:
    """A service's answer to a body, or the faults of the body."""
    try:
        parsed = parse_body(request, json.dumps(body).encode(), facts)
        return answer(parsed, Asked(facts=facts, explain=explain)), ()
    except ResolutionError as error:
        return None, faults_of(error.faults)
    except EngineError as error:
        return None, (fault_at(error.field or "", str(error)),)


def price_taken(gpu: str | None, facts: Facts) -> dict[str, Any] | None:
    """The price that is taken where none is given: the catalog's default of a GPU, with its seller and day."""
    default = default_price(gpu, facts, CURRENCY) if gpu else None
    if default is None or default.offer is None:
        return None
    return {"amount": default.amount, "seller": facts.row("offer", default.offer)["provider"], "date": default.date}
