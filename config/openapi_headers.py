"""The headers of answers in the API schema: rules by method, status and what the operation is, in one place.

`tests/published_schema.py` holds every answer that a test gets against them.
"""

from typing import Any

Schema = dict[str, Any]
_METHODS = ("get", "put", "post", "patch", "delete")
_TEXT: Schema = {"type": "string"}
HEADERS: dict[str, Schema] = {
    "X-Request-ID": {"description": "Id of the request, in our logs too; one that was sent is kept.", "schema": _TEXT},
    "RateLimit-Policy": {
        "description": "The rate of which least is left: its name, requests (q) in seconds (w).",
        "schema": _TEXT,
        "example": '"estimates";q=60000;w=60',
    },
    "RateLimit": {
        "description": "What is left of it: requests (r), and seconds (t) until its window is a new one.",
        "schema": _TEXT,
        "example": '"estimates";r=59990;t=12',
    },
    "Retry-After": {"description": "Seconds after which to come back.", "schema": {"type": "integer", "minimum": 0}},
    "ETag": {"description": "Tag of this state, for If-None-Match and If-Match.", "schema": _TEXT},
    "Location": {"description": "Address of what was made or is being made.", "schema": _TEXT},
    "Content-Location": {"description": "Address under the row's own slug, where an alias was asked.", "schema": _TEXT},
    "Link": {"description": "First, previous, next and last page (RFC 8288).", "schema": _TEXT},
    "WWW-Authenticate": {"description": "How to say who one is.", "schema": _TEXT},
    "Allow": {"description": "Methods that the path takes.", "schema": _TEXT},
    "Preference-Applied": {"description": "wait=N: how long (s) was waited at most (RFC 7240).", "schema": _TEXT},
    "Accept-Encoding": {"description": "identity: bodies are read as they are.", "schema": _TEXT},
    "Accept-Ranges": {"description": "bytes: parts of the file can be asked for.", "schema": _TEXT},
    "Content-Range": {"description": "Which part of the file this is.", "schema": _TEXT},
    "Content-Disposition": {"description": "Name under which to save the file.", "schema": _TEXT},
}
# Of every answer once the request was counted; a request that was refused before has the id alone.
_ALWAYS = ("X-Request-ID", "RateLimit-Policy", "RateLimit")
_BY_STATUS = {
    "201": ("Location",),
    "202": ("Location", "Retry-After"),
    "206": ("Accept-Ranges", "Content-Range", "Content-Disposition", "ETag"),
    "307": ("Location", "ETag", "Accept-Ranges", "Content-Disposition"),
    "401": ("WWW-Authenticate",),
    "405": ("Allow",),
    "409": ("Retry-After", "ETag"),
    "412": ("ETag",),
    "415": ("Accept-Encoding",),
    "416": ("Content-Range",),
    "429": ("Retry-After",),
    "503": ("Retry-After",),
}
_DONE = {"200": "As asked for.", "201": "What was made.", "204": "Done; no content."}
_TAGGED = {"304", "200", "201"}
_UNAVAILABLE: Schema = {
    "description": "Something the service needs does not answer at the moment; Retry-After says when to try again.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
}


def declared_headers(result: Schema, **_made: Any) -> Schema:
    """Names the headers of every answer, and the 503 that any operation may have."""
    result["components"]["headers"] = HEADERS
    for path, operations in result["paths"].items():
        for method in _METHODS:
            if method in operations:
                _declare(path, method, operations[method])
    return result


def _declare(path: str, method: str, operation: Schema) -> None:
    operation["responses"].setdefault("503", _UNAVAILABLE | {})
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    for status, response in operation["responses"].items():
        response["description"] = response["description"] or _DONE[status]
        wanted = [*_ALWAYS, *_BY_STATUS.get(status, ())]
        if status in _TAGGED and (status == "201" or method != "post" or "412" in operation["responses"]):
            wanted.append("ETag")
        if status == "200" and method == "get":
            wanted += ["Link"] if "page" in names else ["Content-Location"] if path.endswith("{slug}/") else []
        if "Prefer" in names and status in ("200", "202"):
            wanted += ["Preference-Applied", "Retry-After", "Location"]
        if {"application/octet-stream", "text/csv", "text/html"} & set(response.get("content", {})):
            wanted += ["Accept-Ranges", "Content-Disposition"]
        response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in sorted(set(wanted))}
