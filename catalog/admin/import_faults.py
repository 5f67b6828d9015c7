"""Every fault of an import at once: line, column, value and what is wrong; nothing is saved while there is one."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from catalog.spelling import near_matches

# More are no list that a person reads; the count says how many there are.
_MOST_SHOWN = 200
_LONGEST_VALUE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault; a line of None is of the whole file. The names of the columns are line 1."""

    line: int | None
    column: str
    value: str
    text: str


def faults_of_file(resource: Any, dataset: Any) -> list[Fault]:
    """What is wrong with the columns and the keys of a file, before any row is read."""
    known = [field.column_name for field in resource.get_import_fields()]
    headers = [str(header or "") for header in dataset.headers or ()]
    found = [
        Fault(line=1, column=header, value="", text=_unknown(header, known))
        for header in headers
        if header not in known and header not in resource.passed_over
    ]
    twice = [header for header, times in Counter(headers).items() if times > 1]
    found += [Fault(line=1, column=header, value="", text=_("This column stands here twice.")) for header in twice]
    names = resource._meta.import_id_fields
    missing = ", ".join(name for name in names if name not in headers)
    if missing and tuple(names) != ("id",):
        found.append(Fault(line=1, column=missing, value="", text=_("This column has to be there: it names the row.")))
    return found + list(_same_row_twice(dataset, [name for name in names if name in headers]))


def _unknown(header: str, known: list[str]) -> str:
    near = near_matches(header, known)
    text = _("There is no such column.")
    return f"{text} {_('Nearest: %(near)s.') % {'near': ', '.join(near)}}" if near else text


def _same_row_twice(dataset: Any, keys: list[str]) -> Iterator[Fault]:
    seen: dict[tuple[str, ...], int] = {}
    for line, row in enumerate(dataset.dict, start=2):
        key = tuple(str(row.get(name) or "").strip() for name in keys)
        if not any(key):
            continue
        if key in seen:
            text = _("Line %(line)d has this row already.") % {"line": seen[key]}
            yield Fault(line=line, column=", ".join(keys), value=" ".join(key), text=text)
        seen.setdefault(key, line)


def faults_of_rows(result: Any, dataset: Any) -> list[Fault]:
    """What the rows were refused for, in the order of the file."""
    rows = list(dataset.dict)
    found = [Fault(line=None, column="", value="", text=str(each.error)) for each in result.base_errors]
    for number, errors in result.row_errors():
        found += [Fault(line=number + 1, column="", value="", text=str(each.error)) for each in errors]
    for invalid in result.invalid_rows:
        row = rows[invalid.number - 1] if 0 < invalid.number <= len(rows) else {}
        for name, texts in _by_column(invalid.error).items():
            column = "" if name == NON_FIELD_ERRORS else name
            value = str(row.get(column) if row.get(column) is not None else "")[:_LONGEST_VALUE]
            found += [Fault(line=invalid.number + 1, column=column, value=value, text=text) for text in texts]
    return sorted(found, key=lambda fault: (fault.line or 0, fault.column))


def _by_column(error: ValidationError) -> dict[str, list[str]]:
    if hasattr(error, "error_dict"):
        return {name: list(texts) for name, texts in error.message_dict.items()}
    return {NON_FIELD_ERRORS: list(error.messages)}


class FaultyImports:
    """Mixin of pages with imports: the page shows every fault of the file in one table."""

    def import_action(self, request: HttpRequest, **options: Any) -> HttpResponse:
        """As the library's, with the faults as lines of one table; a file with faults has no second step."""
        response: Any = super().import_action(request, **options)  # type: ignore[misc]
        context: Any = getattr(response, "context_data", None) or {}
        result = context.get("result")
        faults = getattr(result, "faults", [])
        if faults:
            context["faults"] = faults[:_MOST_SHOWN]
            context["faults_in_all"] = len(faults)
            context.pop("confirm_form", None)
        elif result is not None:
            context["erased"] = getattr(result, "erased", [])
        answer: HttpResponse = response
        return answer
