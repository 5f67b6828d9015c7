"""The calculator: one question, one verdict, by the same service as `POST /api/v1/estimates/verdict/`."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from estimator.estimates.verdict.parts import ChangePart, VerdictAnswer
from estimator.figures import written
from estimator.resolvers.facts import Facts
from estimator.resolvers.live import current_facts
from pages.access import for_readers
from pages.asking import Found, ask, price_taken
from pages.choices import CACHES, WEIGHTS, Choices, choices
from pages.columns import address_of
from pages.comparison import SIGNS
from pages.drawing.bars import band_bar, memory_bar
from pages.drawing.curve import curve, speed_figures, tokens_per_s
from pages.question import FIRST, Question, changed_query, labels, read


# A calculation changes nothing: nobody gains by making a browser send one. It is a POST where a config.json is pasted.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@for_readers
def calculator(request: HttpRequest) -> HttpResponse:
    """The whole page, or for htmx the answer alone."""
    question = read(request.POST if request.method == "POST" else request.GET)
    facts = current_facts()
    found = ask(question, facts)
    context = page_of(request, question, found, facts)
    if not request.headers.get("HX-Request"):
        return render(request, "pages/calculator.html", context)
    response = render(request, "pages/calculator_answer.html", context | {"alone": True})
    if not question.config:
        response["HX-Replace-Url"] = context["address"]
    return response


def page_of(request: HttpRequest, question: Question, found: Found, facts: Facts) -> dict[str, Any]:
    """Everything that the templates show."""
    lists, answer = choices(facts), found.answer
    address = reverse("home") + (f"?{question.query}" if question.query else "")
    shown = {
        "question": {**question.values, **_as_read(found)},
        "config": question.config,
        "question_query": question.query,
        "arrives": question.arrives,
        "faults": [(labels().get(fault.name), fault) for fault in found.faults],
        "wrong": {fault.name: fault.text for fault in found.faults},
        "lists": lists,
        "weights": WEIGHTS,
        "caches": CACHES,
        "presets": [_preset(question, preset) for preset in lists.presets],
        "engine": _engine(question, facts),
        "address": address,
        "compare": address_of([question.query]),
        "link": request.build_absolute_uri(address),
        "line": _line(question, found, lists),
        "here": "home",
        "price": price_taken(found.answer.inputs.gpu.slug if found.answer is not None else question["gpu"], facts),
    }
    if answer is None:
        return shown
    return shown | shown_answer(request, question, found.body, answer)


def shown_answer(
    request: HttpRequest, question: Question, body: dict[str, Any], answer: VerdictAnswer
) -> dict[str, Any]:
    """The parts of a page that show an answer."""
    tone, sign = SIGNS[answer.verdict.state]
    slo = answer.inputs.slo
    ttft = slo.ttft_s if slo is not None else None
    tpot = slo.tpot_s if slo is not None else None
    fits = answer.memory.feasible
    asked = int(answer.inputs.workload.concurrency or 1) if answer.inputs.workload is not None else 1
    targets = {"tpot_s": tpot, "ttft_s": ttft}
    drawn = [
        curve(figure, answer.curve, asked=asked, held=answer.memory.max_sequences, target=targets.get(figure.field))
        for figure in speed_figures()
    ]
    # Its fields are made from the list of figures, which mypy cannot see.
    speed: Any = answer.speed
    bars = (
        band_bar(_("First token"), speed.ttft_s, written.seconds, ttft),
        band_bar(_("Each further token"), speed.tpot_s, written.seconds, tpot),
        band_bar(_("All users together"), speed.tokens_per_s_total, tokens_per_s, None),
    )
    return {
        "answer": answer,
        "tone": tone,
        "sign": sign,
        "fits": fits,
        "said": " ".join(filter(None, (answer.verdict.sentence, answer.verdict.figures))),
        "speed": [bar for bar in bars if bar is not None] if fits else [],
        "memory": memory_bar(answer.memory.per_gpu),
        "curves": [one for one in drawn if one is not None],
        "changes": [_change(question, one) for one in answer.changes],
        "curl": _curl(request, body),
        "left_out": "; ".join(text.rstrip(".") for text in answer.not_modelled),
    }


def _preset(question: Question, preset: Any) -> dict[str, Any]:
    """A use case as a link: its lengths, load and targets in place of the question's."""
    tpot = preset["slo_tpot_s"]
    values = {
        "input": str(preset["input_tokens"]),
        "output": str(preset["output_tokens"]),
        "load": "users",
        "n": str(preset["concurrency"]),
        "ttft": "" if preset["slo_ttft_s"] is None else f"{preset['slo_ttft_s']:g}",
        "tpot": "" if tpot is None else f"{tpot * 1000:g}",
    }
    chosen = all(question[name] == value for name, value in values.items())
    return {"name": preset["name"], "query": question.changed(**values).query, "chosen": chosen}


def _engine(question: Question, facts: Facts) -> str:
    """Slug of the engine asked for, for the list; bare names mean the newest."""
    asked = question["engine"] or FIRST["engine"]
    try:
        return str(facts.row("engine", asked)["slug"])
    except LookupError:
        return asked


def _as_read(found: Found) -> dict[str, str]:
    """The GPU as its spelling was understood: the list knows slugs alone."""
    gpu = found.answer.inputs.gpu.slug if found.answer is not None else None
    return {} if gpu is None else {"gpu": gpu}


def _line(question: Question, found: Found, lists: Choices) -> str:
    """The question in one line, for small screens and the title."""
    slug = _as_read(found).get("gpu", question["gpu"])
    names = {value: name for _vendor, gpus in lists.gpus for value, name in gpus}
    weights = dict(WEIGHTS).get(question["weights"], "")
    n = question["n"] or "1"
    load = _("%(n)s requests/s") if question.arrives else _("1 user") if n == "1" else _("%(n)s users")
    parts = [
        f"{question['gpus'] or 1} × {names.get(slug, slug).partition(' (')[0]}",
        _("a pasted config") if question.config else question["model"],
        weights,
        load % {"n": n},
    ]
    return " · ".join(part for part in parts if part)


def _change(question: Question, one: ChangePart) -> dict[str, Any]:
    tone, sign = SIGNS[one.state]
    return {"part": one, "tone": tone, "sign": sign, "query": changed_query(question, one)}


def _plainly(value: Any) -> Any:
    """Numbers as people write them: 8000 and not 8000.0."""
    if isinstance(value, dict):
        return {name: _plainly(part) for name, part in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _curl(request: HttpRequest, body: dict[str, Any]) -> str:
    address = request.build_absolute_uri(reverse("verdict"))
    text = json.dumps(_plainly(body), ensure_ascii=False).replace("'", "'\\''")
    headers = "-H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json'"
    return f"curl -s '{address}' \\\n  {headers} \\\n  -d '{text}'"
