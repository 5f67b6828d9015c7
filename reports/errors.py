"""Errors of the reports app; the ones people see keep their text, everything else is shown as a code."""

import errno
import logging
import os
import uuid

import duckdb
from django.utils.translation import gettext as _

from estimator.engine.errors import EngineError

DISK_FULL = "disk_full"
STORE_AWAY = "store_away"
# What passes by itself: work that met it is put off, and the attempt does not count.
PASSING = (DISK_FULL, STORE_AWAY)
# As the system says it, and those who put its words into errors of their own: DuckDB, SQLite, xlsxwriter.
_FULL = (
    "No space left on device",
    "Disk quota exceeded",
    "database or disk is full",
    "max_temp_directory_size",
    "Could not write all bytes to file",
)
_FILE_LIMIT = "File too large"
log = logging.getLogger(__name__)


class ReportError(Exception):
    """Something went wrong that the reader of the report should know in words."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class PermanentReportError(ReportError):
    """Trying again cannot help: the version fails at once."""


class StoreAwayError(Exception):
    """The store of report files does not answer; whatever it holds is still there."""


class LeaseLostError(Exception):
    """Another worker has the work now, or a person cancelled it: stop without a trace."""


def explain(error: BaseException) -> tuple[str, str]:
    """Code and text of an error for its reader; an unknown one gets a reference that finds it in the log."""
    if isinstance(error, ReportError):
        return error.code, error.text
    if isinstance(error, StoreAwayError):
        return STORE_AWAY, str(error)
    if isinstance(error, EngineError):
        return "cannot_compute", str(error)
    if no_room := _no_room(error):
        return DISK_FULL, no_room
    if isinstance(error, OSError):
        return "file_error", _("A report file could not be written or read (%(name)s).") % {"name": _name(error)}
    if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
        return "out_of_memory", _("The worker ran out of memory.")
    reference = uuid.uuid4().hex[:12]
    log.error("report work failed, reference %s", reference, exc_info=error)
    return "internal", _("Internal error, reference %(reference)s.") % {"reference": reference}


def _no_room(error: BaseException) -> str:
    """Why there is no room for a file, in words; empty for any other error."""
    told, seen = "", error
    for _depth in range(8):
        told += f" {os.strerror(seen.errno) if isinstance(seen, OSError) and seen.errno else ''} {seen}"
        following = seen.__cause__ or seen.__context__
        if following is None:
            break
        seen = following
    if any(words in told for words in _FULL):
        return _("The disk for report files is full.")
    if _FILE_LIMIT in told:
        return _("A report file grew past the limit of file size of the worker.")
    return ""


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "?")
