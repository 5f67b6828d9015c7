"""`estimates/batch/`: many questions of any estimate in one request, all on one revision of the catalog."""

from collections.abc import Mapping
from typing import Annotated, Any

import orjson
from django.conf import settings
from django.http import HttpResponse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.views import APIView

from catalog.api.problem_schema import ProblemDocument
from catalog.api.problems import InvalidRequest, problem_of
from catalog.api.query import Query, parse_query
from catalog.spelling import near_matches
from estimator.api.parsing import parse_body
from estimator.api.usage_view import charge
from estimator.api.view import RawJsonParser, answer_to
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.answers import ResponsePart
from estimator.estimates.endpoint import Endpoint
from estimator.question.fields import RequestBody
from estimator.resolvers.facts import Facts
from estimator.resolvers.live import calibrated_facts, current_facts


class QuestionPart(RequestBody):
    """One question."""

    estimate: Annotated[str, Field(max_length=40)] = Field(
        description="Which estimate: the last part of its path, such as cost or memory-fit."
    )
    body: dict[str, Any] = Field(description="What would be sent there.")
    explain: bool = Field(default=False, description="true adds explanation[] to its answer.")


class QuestionsRequest(RequestBody):
    """Questions of any estimates."""

    questions: Annotated[list[QuestionPart], Field(min_length=1, max_length=10_000)] = Field(
        description="Answered in order; at most AFORO_MAX_BATCH_QUESTIONS (500)."
    )


class OneAnswer(ResponsePart):
    """The answer to one question, or the problem that it would have had alone."""

    status: int = Field(description="HTTP status that the question would have had alone.")
    answer: dict[str, Any] | None = Field(default=None, description="The estimate, for 200.")
    problem: ProblemDocument | None = Field(default=None, description="What was wrong, for every other status.")


class QuestionsAnswer(ResponsePart):
    """Answers in the order of the questions."""

    answers: list[OneAnswer] = Field(description="One for each question.")
    catalog_revision: int = Field(description="Revision of the catalog that all answers rest on.")
    estimator_version: str = Field(description="Version of our formulas.")


class QuestionsQuery(Query):
    """Parameters of the request."""

    calibrated: bool = Field(
        default=True, description="false leaves calibrations from your own runs or shared ones out of every answer."
    )


class QuestionsView(APIView):
    """Each question is counted against the rates, and answered by the function of its own endpoint."""

    endpoints: Mapping[str, Endpoint[Any, Any]]
    parser_classes = [RawJsonParser]
    token_scope = "estimate"  # noqa: S105  a scope is no secret
    throttle_scope = "estimates"

    def post(self, request: Request) -> HttpResponse:
        """All answers."""
        query = parse_query(QuestionsQuery, request.query_params)
        raw = request.data if isinstance(request.data, bytes) else b""
        try:
            asked = parse_body(QuestionsRequest, raw).questions
        except ResolutionError as error:
            raise problem_of(error.faults) from None
        self._check(asked)
        charge(request, self, len(asked) - 1)
        facts = calibrated_facts(request.user.pk) if query.calibrated else current_facts()
        parts = b",".join(self._one(question, facts) for question in asked)
        end = b'],"catalog_revision":%d,"estimator_version":%s}' % (
            facts.catalog_revision, orjson.dumps(ESTIMATOR_VERSION),
        )  # fmt: skip
        return HttpResponse(b'{"answers":[' + parts + end, content_type="application/json")

    def _check(self, asked: list[QuestionPart]) -> None:
        """Refuses what names no estimate: a list that is wrong in itself is not answered in part."""
        errors = [
            Fault(
                code="invalid", detail=_("Must be one of %(names)s.") % {"names": ", ".join(self.endpoints)},
                path=("questions", place, "estimate"),
                near=tuple(near_matches(question.estimate, list(self.endpoints))),
            )
            for place, question in enumerate(asked)
            if question.estimate not in self.endpoints
        ]  # fmt: skip
        most: int = settings.AFORO_MAX_BATCH_QUESTIONS
        if len(asked) > most:
            detail = _("Must have at most %(n)s entries.") % {"n": most}
            errors = [Fault(code="out_of_range", detail=detail, path=("questions",))]
        if errors:
            raise InvalidRequest(errors=errors)

    def _one(self, question: QuestionPart, facts: Facts) -> bytes:
        endpoint = self.endpoints[question.estimate]
        try:
            answer = answer_to(endpoint, orjson.dumps(question.body), facts=facts, explain=question.explain)
            return b'{"status":200,"answer":' + answer + b',"problem":null}'
        except ResolutionError as error:
            return self._problem(problem_of(error.faults))
        except Exception as error:
            return self._problem(error)

    def _problem(self, error: Exception) -> bytes:
        """The problem of one question, as its own endpoint would say it; what nobody expected is logged there too."""
        response = self.get_exception_handler()(error, self.get_exception_handler_context())
        if response is None:
            raise error
        return b'{"status":%d,"answer":null,"problem":%s}' % (response.status_code, response.content)
