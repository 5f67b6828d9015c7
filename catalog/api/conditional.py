"""Conditional requests (RFC 9110, 13), for every endpoint: entity tags, `If-None-Match` on reads, `If-Match` on writes.

A write compares under the lock of its row: of many that name the same tag at the same moment one is accepted.
"""

import hashlib

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request

from catalog.api.json_format import write_json
from catalog.api.problems import PreconditionFailed
from catalog.revisions import Revision


def tag_of(content: object) -> str:
    """A strong entity tag of an answer: a hash of its JSON."""
    return f'"{hashlib.sha256(write_json(content)).hexdigest()[:32]}"'


def tag_of_list(revision: Revision, request: Request) -> str:
    """An entity tag of a list, known before a row is read: the catalog's revision, the question and the day.

    What is in force, sold or retired changes with the day (UTC) while no row does.
    """
    day = timezone.now().date()
    question = f"{revision.token}\n{day}\n{request.path}?{request.META.get('QUERY_STRING', '')}"
    return f'"r{revision.number}-{hashlib.sha256(question.encode()).hexdigest()[:24]}"'


def is_known(request: Request | HttpRequest, tag: str) -> bool:
    """Whether the client has the answer already (weak comparison, as RFC 9110 asks for `If-None-Match`)."""
    given = request.headers.get("If-None-Match", "")
    return given.strip() == "*" or tag in {part.strip().removeprefix("W/") for part in given.split(",")}


def require_match(request: Request, tag: str) -> None:
    """Refuse a write whose `If-Match` names another version than `tag` (strong comparison).

    Raises:
        PreconditionFailed: the row changed since the client read it.
    """
    given = request.headers.get("If-Match")
    if given is None or given.strip() == "*":
        return
    if tag not in {part.strip() for part in given.split(",")}:
        raise PreconditionFailed(headers={"ETag": tag})
