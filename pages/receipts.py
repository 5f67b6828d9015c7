"""`/receipts/`: what was said and what was measured, public ones alone, with the error by class and month."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from pages.access import for_readers
from pages.load_words import lengths_words, rate_words, users_words
from receipts import selectors

_MOST_LINES = 200


@require_safe
@for_readers
def receipts(request: HttpRequest) -> HttpResponse:
    """Errors by class, figure and month, then the figures themselves, newest first."""
    found = selectors.truth(selectors.public_measurements())
    context = {
        "here": "receipts",
        "classes": [row | {"figure": _figure_words(row["figure"])} for row in found["classes"]],
        "lines": [_in_words(line) for line in found["lines"][:_MOST_LINES]],
        "beyond": max(len(found["lines"]) - _MOST_LINES, 0),
    }
    return render(request, "pages/receipts.html", context)


def _in_words(line: dict[str, Any]) -> dict[str, Any]:
    return line | {"figure": _figure_words(line["figure"]), "load": _load_words(line["load"])}


def _figure_words(name: str) -> str:
    return {
        "ttft_s": _("First token"), "tpot_s": _("Each further token"), "e2e_s": _("Whole answer"),
        "output_tokens_per_s": _("All users together"),
    }.get(name, name)  # fmt: skip


def _load_words(load: dict[str, Any]) -> str:
    """What a run's load states, in words; empty where it states none."""
    rate, users = load.get("requests_per_s"), load.get("concurrency")
    said = [] if rate is None else [rate_words(rate)]
    said += [] if users is None or rate is not None else [users_words(int(users))]
    if "input_tokens" in load and "output_tokens" in load:
        said.append(lengths_words(load["input_tokens"], load["output_tokens"]))
    return ", ".join(said)
