"""The problem document as it stands in the API schema; `config.api_errors` writes what it describes."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse
from pydantic import BaseModel, ConfigDict, Field

from estimator.engine.faults import FAULT_CODES


class ProblemFieldError(BaseModel):
    """One fault of one input."""

    pointer: str | None = Field(
        default=None,
        description="JSON Pointer as URI fragment to the place in the body, such as #/model/slug.",
    )
    parameter: str | None = Field(default=None, description="Name of the query parameter or header at fault.")
    code: str = Field(description="Stable code of the fault.", json_schema_extra={"enum": [*sorted(FAULT_CODES)]})
    detail: str = Field(description="What is wrong and what is allowed, for people.")
    near: list[str] | None = Field(default=None, description="Known values near to an unknown one, nearest first.")


class ProblemDocument(BaseModel):
    """RFC 9457 problem, sent as application/problem+json."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="Stable URI of the cause, such as urn:aforo:problem:invalid-request.")
    title: str = Field(description="Short name of the cause, the same for every occurrence.")
    status: int = Field(description="HTTP status code.")
    detail: str | None = Field(default=None, description="What happened this time, for people.")
    instance: str = Field(description="Path of the request.")
    request_id: str | None = Field(default=None, description="Id of the request; quote it when you report a problem.")
    errors: list[ProblemFieldError] | None = Field(
        default=None, description="Every fault found, at most 100; on 400, some 409 and some 422."
    )


PROBLEM_TEXTS = {
    400: "A field is wrong or the body is not JSON; errors[] names every fault.",
    401: "The token is missing, unknown, expired or revoked.",
    403: "The token or user may not do this.",
    404: "Nothing lives at this path, or nothing one may see.",
    405: "The path does not take this method.",
    409: "The resource is in a state that does not allow this.",
    412: "The resource has changed since it was read.",
    411: "A body sent in chunks needs a Content-Length here.",
    413: "The body is larger than the service reads.",
    415: "The body is not application/json.",
    422: "Well-formed, but it cannot be priced or computed: unpriced-meter, unknown-architecture, missing-figure.",
    429: "Too many requests; Retry-After says when to come back.",
}


def problem_responses(*statuses: int) -> dict[tuple[int, str], Any]:
    """Responses of `extend_schema` for these statuses, each an application/problem+json document."""
    return {
        (status, "application/problem+json"): OpenApiResponse(ProblemDocument, description=PROBLEM_TEXTS[status])
        for status in statuses
    }
