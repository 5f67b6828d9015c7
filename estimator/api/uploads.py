"""Uploads as a view gets them: a file that can be read twice, whichever server stands in front."""

import tempfile
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _
from rest_framework.parsers import BaseParser

from catalog.api.problems import BodyTooLarge

PIECE_BYTES = 1 << 20
# The front of the server puts an upload that it has written to disk here, in the environment of the request.
SPOOLED = "aforo.upload"


class UploadParser(BaseParser):
    """Leaves the body where it is; `upload_of` reads it."""

    # Any: the framework's stubs know only parsed data.
    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Nothing yet."""
        return None


class CsvUpload(UploadParser):
    """A CSV."""

    media_type = "text/csv"


class NdjsonUpload(UploadParser):
    """One JSON object a line."""

    media_type = "application/x-ndjson"


def spool() -> IO[bytes]:
    """A file on the scratch disk that goes with its last reader; small ones stay in memory."""
    folder = settings.AFORO_SCRATCH_DIR
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.SpooledTemporaryFile(max_size=PIECE_BYTES, dir=str(folder))


def upload_of(request: HttpRequest) -> IO[bytes]:
    """The body as a file at its beginning.

    Raises:
        BodyTooLarge: It is larger than AFORO_MAX_BATCH_BYTES.
    """
    spooled: IO[bytes] | None = request.META.get(SPOOLED)
    if spooled is not None:
        return spooled
    kept, left = spool(), settings.AFORO_MAX_BATCH_BYTES
    while piece := request.read(min(PIECE_BYTES, left + 1)):
        left -= len(piece)
        if left < 0:
            kept.close()
            raise BodyTooLarge(_("The upload may hold at most %(n)d bytes.") % {"n": settings.AFORO_MAX_BATCH_BYTES})
        kept.write(piece)
    kept.seek(0)
    return kept
