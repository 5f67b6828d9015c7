"""Log lines: as text for people or one JSON object each, with the request id and without secrets."""

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime

# Set by RequestIdMiddleware for the time of a request.
current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)

_REDACTIONS = (
    # Share links are bearer tokens in a path.
    (re.compile(r"(/r/)[^/\s\"'?]+"), r"\1[redacted]"),
    (re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?(?:bearer|basic)?\s*)[^\s'\",]+"), r"\1[redacted]"),
    (re.compile(r"(?i)(bearer\s+)[^\s'\",]+"), r"\1[redacted]"),
    (re.compile(r"afo_[A-Za-z0-9_-]+"), "afo_[redacted]"),
    # user:password@ of database and broker addresses.
    (re.compile(r"(://[^/\s:@]*:)[^@\s/]+(@)"), r"\1[redacted]\2"),
)


def redact(text: str) -> str:
    """The text without share-link tokens, API tokens, Authorization headers and passwords of addresses."""
    for pattern, replacement in _REDACTIONS:
        text = pattern.sub(replacement, text)
    return text


class TextFormatter(logging.Formatter):
    """`12:00:00 INFO aforo.access message [request id]`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """The line, with the traceback after it if there is one."""
        request_id = current_request_id.get()
        line = super().format(record)
        return redact(f"{line} [{request_id}]" if request_id else line)


class JsonFormatter(logging.Formatter):
    """One JSON object a line, for collectors of logs."""

    def format(self, record: logging.LogRecord) -> str:
        """The object as text."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": current_request_id.get(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        texts = {name: redact(value) if isinstance(value, str) else value for name, value in entry.items()}
        return json.dumps({name: value for name, value in texts.items() if value is not None}, default=str)
