"""Log lines: as text for people or one JSON object each, with the request id and without secrets."""

import logging
import re
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter as BaseJsonFormatter

from reports.doing import current_request_id, work

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
        named = "".join(f" {name}={value}" for name, value in work().items())
        line = super().format(record) + named
        return redact(f"{line} [{request_id}]" if request_id else line)


_FIELDS = {"message", "level", "logger", "traceback"}


class JsonFormatter(BaseJsonFormatter):
    """One JSON object a line, for collectors of logs."""

    def __init__(self) -> None:
        super().__init__(
            "%(message)s %(levelname)s %(name)s",
            rename_fields={"levelname": "level", "name": "logger", "exc_info": "traceback"},
        )

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """The object without secrets and without what is not known."""
        texts = {name: redact(value) if isinstance(value, str) else value for name, value in log_data.items()}
        return {name: value for name, value in texts.items() if value is not None}

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Time, request id and the facts that a line brings (`extra={"facts": …}`).

        Nothing else of `extra`: libraries put whole requests there, whose text holds addresses of share links.
        """
        super().add_fields(log_data, record, message_dict)
        for name in set(log_data) - _FIELDS:
            del log_data[name]
        facts = getattr(record, "facts", {})
        log_data["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        log_data["request_id"] = current_request_id.get()
        log_data.update(work())
        log_data.update(facts)
