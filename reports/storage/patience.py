"""How long a call waits for a store that is away: a worker for a while, since its work is done; the web hardly."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from django.utils.translation import gettext as _

from reports.errors import StoreAwayError

_T = TypeVar("_T")
_HASTY_S = 2.0
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0

log = logging.getLogger(__name__)
_patience_s: ContextVar[float] = ContextVar("patience_s", default=_HASTY_S)


@contextmanager
def patient(for_s: float) -> Iterator[None]:
    """Within it, calls to the store are tried again for so many seconds."""
    token = _patience_s.set(for_s)
    try:
        yield
    finally:
        _patience_s.reset(token)


def tried_again(call: Callable[[], _T], away: tuple[type[BaseException], ...]) -> _T:
    """What the call returns, tried again with longer pauses while it raises one of the given errors.

    Raises:
        StoreAwayError: The store was away for longer than this process waits.
    """
    ends_s = time.monotonic() + _patience_s.get()
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return call()
        except away as error:
            if time.monotonic() + pause_s > ends_s:
                log.warning("the store of report files does not answer: %s", error)
                raise StoreAwayError(_("The store of report files does not answer at the moment.")) from error
        time.sleep(pause_s)
        pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)
