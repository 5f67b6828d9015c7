"""Errors of the reports app; the ones people see keep their text, everything else is shown as a code."""

import errno
import logging
import uuid

import duckdb
from django.utils.translation import gettext as _

from estimator.engine.errors import EngineError

log = logging.getLogger(__name__)


class ReportError(Exception):
    """Something went wrong that the reader of the report should know in words."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class PermanentReportError(ReportError):
    """Trying again cannot help: the version fails at once."""


class LeaseLostError(Exception):
    """Another worker has the work now, or a person cancelled it: stop without a trace."""


def explain(error: BaseException) -> tuple[str, str]:
    """Code and text of an error for its reader; an unknown one gets a reference that finds it in the log."""
    if isinstance(error, ReportError):
        return error.code, error.text
    if isinstance(error, EngineError):
        return "cannot_compute", str(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "disk_full", _("The disk for report files is full.")
    if isinstance(error, OSError) and error.errno in (errno.EFBIG, errno.EDQUOT):
        return "file_limit", _("A report file grew past the limit of file size of the worker.")
    if isinstance(error, OSError):
        return "file_error", _("A report file could not be written or read (%(name)s).") % {"name": _name(error)}
    if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
        return "out_of_memory", _("The worker ran out of memory.")
    reference = uuid.uuid4().hex[:12]
    log.error("report work failed, reference %s", reference, exc_info=error)
    return "internal", _("Internal error, reference %(reference)s.") % {"reference": reference}


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "?")
