"""Tokens and their users as they were read last, for the seconds of AFORO_TOKEN_KEPT_S.

What this process writes of tokens and users it forgets at once: when it is written, and again when it is committed,
for another thread may have read what stood before. What another process writes acts when those seconds are over.
Every caller gets objects of its own, so that nothing that a request puts on its user outlives it.
"""

import time
from collections import OrderedDict
from threading import Lock
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models.signals import post_delete, post_save

from config.access.models import ApiToken, User

_MOST = 10_000
_RowT = TypeVar("_RowT", ApiToken, User)

_lock = Lock()
# By the sha256 of the token: when it was read (monotonic s), and the row with its user.
_kept: OrderedDict[str, tuple[float, ApiToken]] = OrderedDict()
# Rises whenever something is forgotten: what was read before is not kept after.
_forgotten = 0


def token_of(sha256: str) -> ApiToken | None:
    """The stored token with this sha256 and its user, whether it is good or not; None if there is none."""
    kept_s: int = settings.AFORO_TOKEN_KEPT_S
    now_s = time.monotonic()
    with _lock:
        found, before = _kept.get(sha256), _forgotten
    if found is not None and now_s - found[0] < kept_s:
        return _own(found[1])
    token = _read(sha256)
    if token is not None and kept_s:
        with _lock:
            if before == _forgotten:
                _kept[sha256] = (now_s, token)
                _kept.move_to_end(sha256)
                if len(_kept) > _MOST:
                    _kept.popitem(last=False)
        return _own(token)
    return token


def _read(sha256: str) -> ApiToken | None:
    return ApiToken.objects.select_related("user").filter(token_sha256=sha256).first()


def forget_one(token: ApiToken) -> None:
    """Reads this token anew when it comes next; for what is no question of whether it is good, as its use."""
    with _lock:
        _kept.pop(token.token_sha256, None)


def forget(**_signal: Any) -> None:
    """Forgets all tokens, now and when the open transaction is committed."""
    _forget()
    if transaction.get_connection().in_atomic_block:
        transaction.on_commit(_forget)


def _forget() -> None:
    global _forgotten  # under the lock, with what it counts
    with _lock:
        _forgotten += 1
        _kept.clear()


def _own(token: ApiToken) -> ApiToken:
    """The token and its user as objects that nobody else holds."""
    mine = _copy_of(token)
    mine.scopes = list(token.scopes)
    mine._state.fields_cache["user"] = _copy_of(token.user)
    return mine


def _copy_of(row: _RowT) -> _RowT:
    made = type(row).__new__(type(row))
    made.__dict__.update(row.__dict__)
    made._state = type(row._state)()
    made._state.db, made._state.adding = row._state.db, False
    return made


def connect() -> None:
    """Has every row of a token or a user that is saved or deleted forget what is kept."""
    for model in (ApiToken, User):
        for signal in (post_save, post_delete):
            signal.connect(forget, sender=model, dispatch_uid=f"kept-tokens-{model.__name__}-{id(signal)}")
