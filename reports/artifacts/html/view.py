"""Everything that a complete version shows, for the file and for the page: one context, one template, one script."""

from datetime import datetime
from typing import Any

import orjson
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from estimator.figures import written
from estimator.question.sweep import Sweep
from reports import document
from reports.artifacts.html.asked import asked
from reports.artifacts.html.chart_data import chart_groups, colours_of, ledgers, memory_terms
from reports.artifacts.html.decided import decided
from reports.artifacts.html.sample import MAX_SAMPLE, filters_of, table_of
from reports.decision.stored import decision_of
from reports.models import ReportVersion
from reports.names import Names
from reports.storage import RowFiles


def shown(version: ReportVersion, rows: RowFiles, *, most_rows: int = MAX_SAMPLE) -> dict[str, Any]:
    """The context of the report's template.

    Args:
        version: a complete version.
        rows: its rows.
        most_rows: rows of its table at most.
    """
    head = document.head(version)
    names = Names(version.snapshot, Sweep.stored(version.inputs["sweep"]))
    found, why = decision_of(version)
    table = table_of(head, found, rows, names, most_rows)
    charts: list[dict[str, Any]] = []
    if found is not None:
        groups = chart_groups(found, head["findings"], head["inputs"], rows, names)
        held = ledgers(found, rows, names)
        charts = [
            group | {"memory": memory} for group, memory in zip(groups, held, strict=True) if group["series"] or memory
        ]
    data = {
        "groups": charts,
        "terms": [words for _name, words in memory_terms()],
        "table": {name: table[name] for name in ("columns", "rows", "filters")},
        "texts": _texts(),
    }
    ordered = version.created_at.date()
    return {
        "head": head,
        "several_models": len({group.model for group in found.groups}) > 1 if found is not None else False,
        "completed": _moment(head["completed_at"]),
        "ordered": written.day(ordered),
        "decision": None if found is None else decided(found, colours_of(found), ordered),
        "no_decision": why,
        "asked": asked(head["inputs"], version.snapshot, names),
        "findings": _findings(head, names),
        "table": table,
        "filters": filters_of(table),
        "inputs": orjson.dumps(_given(head["inputs"]), option=orjson.OPT_INDENT_2).decode(),
        "charts": charts,
        "data": script_json(data),
    }


def script_json(value: Any) -> SafeString:
    """JSON for a script block: no `<` of people's text can end the block or open a comment."""
    text = (
        orjson.dumps(value).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )
    return mark_safe(text)  # noqa: S308  escaped for a script block on the line above


def _texts() -> dict[str, str]:
    return {
        "perUser": _("tokens/s per user"),
        "perGpu": _("tokens/s per GPU"),
        "users": _("users at once (batch)"),
        "arrivals": _("arrivals, requests/s"),
        "cost": _("per million output tokens"),
        "wait": _("first token, 95th percentile, s"),
        "gib": _("GiB of one GPU"),
        "frontier": _("frontier"),
        "band": _("Band of"),
        "none": _("none"),
        "met": _("within the targets"),
        "colour": _("Colour is the GPU:"),
        "dash": _("Line:"),
        "all": _("all"),
        "shown": _("shown"),
        "of": _("of"),
        "hidden": _("Left out by you:"),
        "more": _("Show more"),
    }


def _findings(head: dict[str, Any], names: Names) -> list[dict[str, Any]]:
    """Findings with their place apart from their words; of older releases the words do not name it."""
    several = len({entry["model"] for entry in head["findings"]}) > 1
    listed = []
    for entry in head["findings"]:
        of = names.workload(entry["workload"])
        of = f"{names.model(entry['model'])}, {of}" if several else of
        text = entry["text"].removeprefix(f"{of}: ")
        row = entry["row"]
        text = text.replace(row["gpu"], names.gpu(row["gpu"])).replace(row["precision"], row["precision"].upper())
        listed.append(entry | {"of": of, "words": text})
    return listed


def _moment(text: str | None) -> str:
    """A time as people read it, in UTC."""
    if not text:
        return written.DASH
    when = datetime.fromisoformat(text)
    return f"{written.day(when.date())}, {when:%H:%M} UTC"


def _given(value: Any) -> Any:
    """The inputs without what was left out."""
    if isinstance(value, dict):
        return {key: _given(part) for key, part in value.items() if part is not None and part != {}}
    return [_given(part) for part in value] if isinstance(value, list) else value
