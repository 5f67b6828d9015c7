"""`/receipts/`: what was said and what was measured, public ones alone, with the error by class and month."""

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from estimator.resolvers.facts import Facts
from estimator.resolvers.live import current_facts
from pages.access import for_readers
from pages.load_words import lengths_words, rate_words, users_words
from receipts import selectors

_MOST_RUNS = 60


@require_safe
@for_readers
def receipts(request: HttpRequest) -> HttpResponse:
    """Errors by class, figure and month, then the runs with their figures, newest first."""
    found, facts = selectors.truth(selectors.public_measurements()), current_facts()
    context = {
        "here": "receipts",
        "classes": [row | {"figure": _figure_words(row["figure"])} for row in found["classes"]],
        "runs": [_in_words(run, facts) for run in found["runs"][:_MOST_RUNS]],
        "beyond": max(len(found["runs"]) - _MOST_RUNS, 0),
    }
    return render(request, "pages/receipts.html", context)


def _in_words(run: dict[str, Any], facts: Facts) -> dict[str, Any]:
    return run | {
        "gpu": _name("gpu", run["gpu"], facts),
        "engine": _name("engine", run["engine"], facts),
        "load": _load_words(run["load"]),
        "figures": [one | {"figure": _figure_words(one["figure"])} for one in run["figures"]],
    }


def _name(kind: Literal["gpu", "engine"], slug: str, facts: Facts) -> str:
    """What the catalog calls a row; as it was kept where the catalog has it no more."""
    try:
        return str(facts.row(kind, slug)["name"])
    except LookupError:
        return slug


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
