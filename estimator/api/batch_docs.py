"""The schema of the two addresses that take many questions at once."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema, extend_schema_view
from pydantic import Field

from catalog.api.problem_schema import problem_responses
from estimator.api.openapi import query_parameters
from estimator.api.questions_view import QuestionsAnswer, QuestionsQuery, QuestionsRequest, QuestionsView
from estimator.api.usage_view import UsageBatchView, UsageQuery
from estimator.estimates.endpoint import Endpoint
from estimator.estimates.month_bill.answer import UsageAnswer
from estimator.question.fields import RequestBody

ROW: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "day": "2026-11-27",
    "usage": {"input_tokens": 1000, "cache_read_input_tokens": 20000, "output_tokens": 500},
}


class UsageRowsRequest(RequestBody):
    """Usage as JSON."""

    rows: list[dict[str, Any]] = Field(
        description="One object for each row: model, day or at, channel, endpoint_class, search_context_size, "
        "requests, and counts by usage key or the provider's usage object (usage, usageMetadata); or the provider's "
        "whole answer."
    )


def usage_documented() -> type[UsageBatchView]:
    """The view of usage by the file, described."""
    describe = extend_schema(
        operation_id="estimates_cost_batch",
        tags=["estimates"],
        summary="Bill usage by the file: each row and the month",
        description=(
            "A CSV with a header, one JSON object a line (NDJSON), or an object with rows. Answers each row's cost in "
            "order, equal to what estimates/cost/ says of that row alone, as it is worked out; the last line is the "
            "summary: the bill by model, day and channel, and what no caching, batch, other prices and own GPUs would "
            "have cost. A row that cannot be read has a code and a reason in its place; none is left out. Files may "
            "have AFORO_MAX_BATCH_LINES lines (1,000,000) and AFORO_MAX_BATCH_BYTES (1 GiB). Each thousand lines "
            "count as a request."
        ),
        request={
            "application/json": UsageRowsRequest,
            "text/csv": OpenApiTypes.BINARY,
            "application/x-ndjson": OpenApiTypes.BINARY,
        },
        parameters=list(query_parameters(UsageQuery)),
        responses={
            (200, "application/json"): OpenApiResponse(UsageAnswer, description="Of JSON, or of any with rows=false."),
            (200, "application/x-ndjson"): OpenApiResponse(
                OpenApiTypes.BINARY, description="Of a CSV or NDJSON: a RowBill a line, then an object with summary."
            ),
            **problem_responses(400, 401, 403, 413, 415, 429),
        },
        examples=[OpenApiExample("usage", summary="An answer of Anthropic", value={"rows": [ROW]}, request_only=True,
                                 media_type="application/json")],
    )  # fmt: skip
    described: type[UsageBatchView] = extend_schema_view(post=describe)(UsageBatchView)
    return described


def questions_documented(endpoints: Sequence[Endpoint[Any, Any]]) -> type[QuestionsView]:
    """The view of many questions, described."""
    describe = extend_schema(
        operation_id="estimates_batch",
        tags=["estimates"],
        summary="Many questions of any estimates in one request",
        description=(
            "Each question is answered as its own endpoint would, with its own status; all on one revision of the "
            "catalog. A question that is refused has its problem in its place and holds up no other. Each counts as a "
            "request. Estimates: " + ", ".join(endpoint.slug for endpoint in endpoints) + "."
        ),
        request={"application/json": QuestionsRequest},
        parameters=list(query_parameters(QuestionsQuery)),
        responses={
            (200, "application/json"): OpenApiResponse(QuestionsAnswer, description="An answer for each question."),
            **problem_responses(400, 401, 403, 413, 415, 429),
        },
        examples=[
            OpenApiExample(
                "questions",
                summary="A count of tokens and a bill",
                value={
                    "questions": [
                        {"estimate": "tokens", "body": {"words": 900, "language": "en"}},
                        {"estimate": "cost", "body": {"api": {"price": "anthropic-claude-opus-5-5",
                                                              "usage": {"input_tokens": 1000}}}},
                    ]
                },
                request_only=True,
            )
        ],
    )  # fmt: skip
    view = type("QuestionsView", (QuestionsView,), {"endpoints": {one.slug: one for one in endpoints}})
    described: type[QuestionsView] = extend_schema_view(post=describe)(view)
    return described
