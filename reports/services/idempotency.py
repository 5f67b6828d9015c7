"""The same request under the same key creates once, however often it is sent."""

from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction

from reports.models import IdempotencyKey


class KeyReusedError(Exception):
    """The key was used before with another body."""


def known(*, owner: Any, key: str, body_sha256: str) -> dict[str, Any] | None:
    """The stored result of a key, None when it is new.

    Raises:
        KeyReusedError: The key is known with another body.
    """
    record = IdempotencyKey.objects.filter(owner=owner, key=key).first()
    if record is not None and record.body_sha256 != body_sha256:
        raise KeyReusedError
    return record.result if record else None


def once(
    *, owner: Any, key: str | None, body_sha256: str, make: Callable[[], dict[str, Any]]
) -> tuple[dict[str, Any], bool]:
    """Result of `make` (JSON-able) and whether it was made now; a repeated key answers with the stored result.

    Key, result and whatever `make` writes are one transaction: a crash leaves all of it or nothing.

    Raises:
        KeyReusedError: The key is known with another body.
    """
    with transaction.atomic():
        if key is None:
            return make(), True
        try:
            with transaction.atomic():
                record = IdempotencyKey.objects.create(owner=owner, key=key, body_sha256=body_sha256)
        except IntegrityError:
            known = IdempotencyKey.objects.get(owner=owner, key=key)
            if known.body_sha256 != body_sha256:
                raise KeyReusedError from None
            return known.result, False
        record.result = make()
        record.save(update_fields=["result"])
        return record.result, True
