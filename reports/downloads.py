"""Serving stored files: ETag, one range, and no thread held longer than a block takes."""

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeVar
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from catalog.api.conditional import is_known
from catalog.api.problems import Unavailable
from reports.storage import get_storage

ResponseT = TypeVar("ResponseT", HttpResponse, StreamingHttpResponse)
_BLOCK = 64 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A stored file as it is to be sent."""

    name: str
    size: int
    sha256: str
    media_type: str
    file_name: str


# A slow reader holds an open file of the web process for as long as it reads. In production nginx sends the files.
MOST_AT_ONCE = 24
_streams = threading.BoundedSemaphore(MOST_AT_ONCE)


class _Part:
    """Blocks of a part of a file; closes the file with the response."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self._left = length
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        while self._left > 0:
            block = self._file.read(min(_BLOCK, self._left))
            if not block:
                return
            self._left -= len(block)
            yield block

    def close(self) -> None:
        """Close the file and make room for another reader."""
        if self._open:
            self._open = False
            self._file.close()
            _streams.release()


def serve(request: HttpRequest, download: Download) -> HttpResponse | StreamingHttpResponse:
    """The file, a range of it (206), 304 when the caller has it, 416 when the range lies outside."""
    etag = f'"{download.sha256}"'
    if is_known(request, etag):
        return _with_headers(HttpResponse(status=304), download, etag)
    span = _span(request, download.size, etag)
    if span is None:
        response = HttpResponse(status=416, headers={"Content-Range": f"bytes */{download.size}"})
        return _with_headers(response, download, etag)
    start, end = span
    partial = (start, end) != (0, download.size - 1) or ("Range" in request.headers and _honoured(request, etag))
    store = get_storage()
    prefix = getattr(settings, "AFORO_X_ACCEL_PREFIX", "")
    if prefix and store.is_local():  # the web server in front sends the file and answers ranges itself
        response = HttpResponse(headers={"X-Accel-Redirect": prefix + quote(download.name)})
        return _with_headers(response, download, etag)
    if link := store.link(download.name, file_name=download.file_name, media_type=download.media_type):
        return _with_headers(HttpResponse(status=307, headers={"Location": link}), download, etag)
    headers = {"Content-Length": str(end - start + 1)}
    if partial:
        headers["Content-Range"] = f"bytes {start}-{end}/{download.size}"
    status = 206 if partial else 200
    if request.method == "HEAD":
        return _with_headers(HttpResponse(status=status, headers=headers), download, etag)
    if not _streams.acquire(blocking=False):
        raise Unavailable(_("Too many downloads at once; try again shortly."), headers={"Retry-After": "5"})
    try:
        part = _Part(store.open(download.name, start, end - start + 1), end - start + 1)
    except BaseException:
        _streams.release()
        raise
    return _with_headers(StreamingHttpResponse(part, status=status, headers=headers), download, etag)


def _with_headers(response: ResponseT, download: Download, etag: str) -> ResponseT:
    response["ETag"] = etag
    response["Accept-Ranges"] = "bytes"
    response["Content-Type"] = download.media_type
    response["Content-Disposition"] = content_disposition_header(True, download.file_name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    # Should a browser show the page after all, it runs without our origin.
    response["Content-Security-Policy"] = (
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; img-src data:"
    )
    return response


def _honoured(request: HttpRequest, etag: str) -> bool:
    """A range counts only for the file the caller began with, and only in the one form we serve."""
    given = request.headers.get("If-Range")
    return (given is None or given == etag) and _RANGE.match(request.headers.get("Range", "")) is not None


def _span(request: HttpRequest, size: int, etag: str) -> tuple[int, int] | None:
    """First and last byte to send; the whole file unless one sound range is asked for; None: outside the file."""
    found = _RANGE.match(request.headers.get("Range", ""))
    if not found or not _honoured(request, etag) or found.groups() == ("", ""):
        return 0, size - 1
    first, last = found.groups()
    if not first:
        length = min(int(last[:18]), size)
        return (size - length, size - 1) if length else None
    start, end = int(first[:18]), min(int(last[:18]), size - 1) if last else size - 1
    return (start, end) if start <= end and start < size else None
