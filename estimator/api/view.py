"""The one view that serves every estimate: parses the body, calls the endpoint, writes the answer; stores nothing."""

import json
from collections.abc import Mapping
from typing import IO, Any

import orjson
from django.conf import settings
from django.http import HttpResponse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.views import APIView

from catalog.api.json_format import JsonParser
from catalog.api.problems import BodyTooLarge, problem_of
from catalog.api.query import Query, parse_query
from estimator.api.parsing import parse_body
from estimator.engine.faults import ResolutionError
from estimator.estimates.answers import Answer, ResponsePart
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.resolvers.facts import Facts
from estimator.resolvers.live import calibrated_facts, current_facts


class EstimateQuery(Query):
    """Query parameters that every estimate takes."""

    explain: bool = Field(default=False, description="true adds explanation[], the working step by step.")
    calibrated: bool = Field(
        default=True,
        description="false says the speed without calibrations from your own runs or shared ones, where any fits.",
    )


class RawJsonParser(JsonParser):
    """Hands the bytes of a JSON body on, up to the size limit; pydantic reads them."""

    # Any: the framework's stubs know only parsed data, and hands on whatever a parser gives.
    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The bytes of the body."""
        limit: int = settings.AFORO_MAX_BODY_BYTES
        raw: bytes = stream.read(limit + 1)
        if len(raw) > limit:
            raise BodyTooLarge
        return raw


class EstimateView(APIView):
    """Parses, answers, renders. Stateless: nothing of a request is stored."""

    endpoint: Endpoint[Any, Any]
    parser_classes = [RawJsonParser]
    token_scope = "estimate"  # noqa: S105  a scope is no secret
    throttle_scope = "estimates"

    def post(self, request: Request) -> HttpResponse:
        """The estimate for the body."""
        query = self._query(request)
        raw = request.data if isinstance(request.data, bytes) else b""
        try:
            content = answer_to(self.endpoint, raw, facts=self._facts(request, query), explain=query.explain)
        except ResolutionError as error:
            raise problem_of(error.faults) from None
        return HttpResponse(content, content_type="application/json")

    def _facts(self, request: Request, query: EstimateQuery) -> Facts:
        """The catalog, with the calibrations of who asks where the answer says a speed."""
        if self.endpoint.says_speed and query.calibrated:
            return calibrated_facts(request.user.pk)
        return current_facts()

    def _query(self, request: Request) -> EstimateQuery:
        return parse_query(EstimateQuery, request.query_params) if request.META.get("QUERY_STRING") else _NO_QUERY


_NO_QUERY = EstimateQuery()
_SURROUNDINGS = tuple(Answer.model_fields)


def answer_to(endpoint: Endpoint[Any, Any], raw: bytes, *, facts: Facts, explain: bool) -> bytes:
    """The endpoint's answer to a body, as JSON.

    Raises:
        ResolutionError: faults of the body or of what it asks for.
    """
    read_as: dict[str, str] = {}
    body = parse_body(endpoint.request, raw, facts, read_as)
    answer = endpoint.answer(body, Asked(facts=facts, explain=explain))
    return render(_with_spellings(answer, read_as) if read_as else answer)


def _with_spellings(answer: Answer, read_as: Mapping[str, str]) -> Answer:
    """The answer, saying how names were read."""
    said = [_("“%(name)s” was read as %(slug)s.") % {"name": name, "slug": slug} for name, slug in read_as.items()]
    return answer.model_copy(update={"assumptions": [*said, *answer.assumptions]})


def render(answer: Answer) -> bytes:
    """The answer as JSON. Its models refuse NaN and infinity, which orjson would write as null."""
    parts = answer.model_dump(mode="json")
    # The figures first, for those who read the answer as it comes.
    surroundings = {name: parts.pop(name) for name in _SURROUNDINGS}
    if surroundings["explanation"] is None:
        del surroundings["explanation"]
    return _json(parts | surroundings)


def render_part(part: ResponsePart) -> bytes:
    """A part of an answer as JSON."""
    return _json(part.model_dump(mode="json"))


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        # Bytes of absurd plans pass 64 bits, where orjson ends and JSON does not.
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
