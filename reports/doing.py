"""What this process is doing, for its log lines: its request, and the report, version and chunk that it works on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

# Of the request that is answered, or of the one that ordered the work.
current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
_work: ContextVar[Mapping[str, object] | None] = ContextVar("work", default=None)


def work() -> Mapping[str, object]:
    """Report, version, chunk and file that are worked on; empty where there is none."""
    return _work.get() or {}


@contextmanager
def doing(request_id: str, **what: object) -> Iterator[None]:
    """Within it, log lines name the work and the request that ordered it."""
    request, named = current_request_id.set(current_request_id.get() or request_id or None), _work.set(what)
    try:
        yield
    finally:
        _work.reset(named)
        current_request_id.reset(request)
