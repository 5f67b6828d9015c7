"""What a row looked like when somebody opened it, and what changed since: the base of saves by two editors."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core import signing
from django.db import connection
from django.db.models import DateTimeField, Field, JSONField, Model
from django.utils.translation import gettext as _

from catalog.admin.units import figure_words, kind_of_figure
from catalog.canonical import canonical_json, sha256_of
from catalog.edits import OURS

_SALT = "catalog.admin.row_versions"
_LONGEST_SHOWN = 200
_LONGEST_KEPT = 4000

Values = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field that changed in between: as it was opened, as it is now, and as this editor has it (None: not theirs)."""

    field: "Field[Any, Any]"
    old: str | None
    now: str | None

    @property
    def label(self) -> str:
        """What people call the field."""
        return str(self.field.verbose_name)


def values_of(row: Model) -> dict[str, str | None]:
    """Every stored value of a row as text that can be compared; without what the service itself keeps of it."""
    return {
        field.name: text_of(field, field.value_from_object(row))
        for field in row._meta.concrete_fields
        if field.name not in OURS and not (isinstance(field, DateTimeField) and (field.auto_now or field.auto_now_add))
    }


def text_of(field: "Field[Any, Any]", value: Any) -> str | None:
    """A value as one text, however a form or the database holds it."""
    if isinstance(value, Model):
        value = value.pk
    if value is None:
        return None
    if isinstance(field, JSONField):
        return canonical_json(value).decode()
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, str):
        return value.replace("\r\n", "\n")
    return str(field.to_python(value))


def token_of(row: Model) -> str:
    """The row's values, signed, for a hidden field; long ones by their hash."""
    return sign({name: _kept(text) for name, text in values_of(row).items()})


def read_token(token: str) -> Values | None:
    """The values a token holds; None when it was not made here."""
    values: Values | None = unsign(token)
    return values


def sign(value: Any) -> str:
    """Several tokens and what belongs to them as one text for a hidden field."""
    return signing.dumps(value, salt=_SALT, compress=True)


def unsign(text: str) -> Any:
    """What `sign` was given; None when the text was not made here."""
    try:
        return signing.loads(text, salt=_SALT)
    except signing.BadSignature:
        return None


def differences(seen: Values, row: Model) -> list[Difference]:
    """The fields of which the row now holds something else than was seen."""
    fields = {field.name: field for field in row._meta.concrete_fields}
    now = values_of(row)
    return [
        Difference(field=fields[name], old=seen.get(name), now=text)
        for name, text in now.items()
        if seen.get(name) != _kept(text)
    ]


def locked(model: type[Model], pk: Any) -> Model | None:
    """The row as it is stored, locked until the end of the transaction where there is one."""
    rows = model._base_manager.filter(pk=pk)
    return (rows.select_for_update() if connection.in_atomic_block else rows).first()


def said(field: "Field[Any, Any]", text: str | None) -> str:
    """A value of a field for a message, a figure in people's units."""
    return figure_words(field.name, text) if text and kind_of_figure(field.name) else shown(text)


def change_words(found: Iterable[Difference]) -> str:
    """Differences as one phrase: each field from what to what."""
    return "; ".join(f"{each.label}: {said(each.field, each.old)} → {said(each.field, each.now)}" for each in found)


def shown(text: str | None) -> str:
    """A value for a message."""
    if text is None or text == "":
        return _("empty")
    if _is_hash(text):
        return _("something long")
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def who_changed(row: Model) -> str:
    """Who wrote the row last and why, as far as its history says."""
    history = getattr(row, "history", None)
    last = history.first() if history is not None else None
    name = str(last.history_user) if last is not None and last.history_user else _("somebody else")
    reason = last.history_change_reason if last is not None else None
    return f"{name} ({reason})" if reason else name


def _kept(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST_KEPT else f"sha256:{sha256_of(text)}"


def _is_hash(text: str) -> bool:
    return text.startswith("sha256:") and len(text) == len("sha256:") + 64
