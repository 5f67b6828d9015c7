"""Lists as they were written last, by the question; they live as long as the revision of the catalog they are of.

A page of rows takes some ten milliseconds to be read and written out; of an unchanged catalog it need not be.
"""

import gzip
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

MOST_BYTES = 16 * 1024 * 1024
# Below that, a packed answer fits no fewer packets of the network.
_LEAST_TO_PACK = 1400


@dataclass(frozen=True, kw_only=True)
class WrittenList:
    """The body of an answer, as it is and packed, and its `Link` header."""

    content: bytes
    link: str

    @cached_property
    def packed(self) -> bytes | None:
        """By gzip; None where that would not help."""
        return gzip.compress(self.content, mtime=0) if len(self.content) >= _LEAST_TO_PACK else None

    def answer(self, request: Request, tag: str) -> HttpResponse:
        """The answer under an entity tag, packed where the client takes that; packed bytes have a weak tag."""
        packed = self.packed if takes_gzip(request) else None
        headers = {"ETag": tag, "Link": self.link, "Vary": "Accept-Encoding"}
        if packed is None:
            return HttpResponse(self.content, content_type="application/json", headers=headers)
        headers |= {"ETag": f"W/{tag}", "Content-Encoding": "gzip"}
        return HttpResponse(packed, content_type="application/json", headers=headers)

    @property
    def size_bytes(self) -> int:
        """What it holds at most: the packed form is smaller than the plain one."""
        return 2 * (len(self.content) + len(self.link))


class KeptLists:
    """Lists of one revision by question, within `most_bytes`; those that were asked for longest ago go first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._lists: OrderedDict[Hashable, WrittenList] = OrderedDict()
        self._lock = Lock()

    def of(self, question: Hashable, write: Callable[[], WrittenList]) -> WrittenList:
        """The list that answers a question; written where it is not kept."""
        with self._lock:
            if (found := self._lists.get(question)) is not None:
                self._lists.move_to_end(question)
                return found
        written = write()
        with self._lock:
            if question not in self._lists and written.size_bytes <= self._most_bytes:
                self._lists[question] = written
                self._held_bytes += written.size_bytes
                while self._held_bytes > self._most_bytes:
                    self._held_bytes -= self._lists.popitem(last=False)[1].size_bytes
        return written


def takes_gzip(request: Request | HttpRequest) -> bool:
    """Whether the client asks for answers packed by gzip (RFC 9110, 12.5.3); `q=0` refuses it."""
    for part in request.headers.get("Accept-Encoding", "").split(","):
        coding, _, weight = part.partition(";")
        if coding.strip().lower() in ("gzip", "x-gzip"):
            return not weight.replace(" ", "").lower().startswith("q=0") or weight.strip(" q=0.") != ""
    return False
