"""One manifest answered: read, asked, judged, checked against limits, held against its last version."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson
from django.utils.translation import gettext as _

from estimator.api.parsing import parse_body
from estimator.engine.errors import EngineError
from estimator.engine.faults import Fault, ResolutionError
from estimator.estimates.endpoint import Asked
from estimator.estimates.memory_fit.compute import estimate_memory
from estimator.estimates.memory_fit.startup import startup_of
from estimator.estimates.verdict.answer import VerdictRequest, answer_verdict
from estimator.estimates.verdict.parts import VerdictAnswer
from estimator.resolvers.facts import Facts
from estimator.resolvers.resolve import resolve_plan
from manifests import answer
from manifests.asking import question_of
from manifests.beside import Limits, ManifestRequest
from manifests.defaults import take_defaults
from manifests.reading.recognise import read_manifest
from manifests.reading.starts import ServerStart
from manifests.reading.words import ManifestError
from manifests.reading_notes import Missing, Reading

_GOOD = ("safe", "likely", "fits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A start read and, where nothing is missing, its verdict."""

    start: ServerStart
    names: tuple[str, ...]
    reading: Reading
    verdict: VerdictAnswer | None
    starts: answer.CheckPart | None


def answer_manifest(body: ManifestRequest, facts: Facts) -> answer.ManifestAnswer:
    """The answer to a manifest.

    Raises:
        ResolutionError: the text, or the last version, cannot be read.
    """
    now = judged(body.text, body, facts, "text")
    before = judged(body.previous, body, facts, "previous") if body.previous is not None else None
    checks = list(_checks(now, body.limits))
    reading, known = now.reading, [one.met for one in checks]
    return answer.ManifestAnswer(
        format=now.start.kind,
        server=now.start.name,
        servers=list(now.names),
        engine=now.start.engine,
        replicas=reading.replicas,
        read=[answer.read_part(one) for one in reading.read],
        not_stated=[answer.not_stated_part(one) for one in reading.not_stated],
        unknown=[answer.unknown_part(one) for one in reading.unknown],
        not_used=[answer.not_used_part(one) for one in reading.not_used],
        notes=reading.notes,
        missing=[answer.missing_part(one) for one in reading.missing],
        question=reading.parts,
        verdict=now.verdict,
        checks=checks,
        meets=False if False in known else (None if None in known or not known else True),
        difference=_difference(before, now) if before is not None else None,
    )


def judged(text: str, body: ManifestRequest, facts: Facts, place: str) -> Judged:
    """A text read, with what was given beside it put in, and its verdict.

    Raises:
        ResolutionError: it cannot be read, or has no server of the name asked for.
    """
    try:
        starts = read_manifest(text)
    except ManifestError as error:
        line = _(" (line %(line)s)") % {"line": error.line} if error.line else ""
        raise ResolutionError([Fault(path=(place,), code="invalid", detail=error.reason + line)]) from None
    start = _chosen(starts, body.server, place)
    reading = question_of(start, facts)
    _put_beside(reading, body.question.parts())
    take_defaults(reading, start.engine, facts)
    verdict, begins = (None, None) if reading.missing else _verdict(reading, facts)
    return Judged(start=start, names=tuple(one.name for one in starts), reading=reading, verdict=verdict, starts=begins)


def _chosen(starts: list[ServerStart], name: str | None, place: str) -> ServerStart:
    if name is None or place == "previous":
        return next((one for one in starts if one.name == name), starts[0])
    found = next((one for one in starts if one.name == name), None)
    if found is None:
        names = ", ".join(one.name for one in starts)
        detail = _("The text starts no server of this name; it starts %(names)s.") % {"names": names}
        raise ResolutionError([Fault(path=("server",), code="invalid", detail=detail)])
    return found


def _put_beside(reading: Reading, given: Mapping[str, Any]) -> None:
    """What was given beside the text, before what the text states."""
    for path, value in _leaves(given):
        reading.put(path, value, "question", "given", None)
    reading.missing = [one for one in reading.missing if one.field not in given]


def _leaves(given: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Parts with their dotted places; a model, a GPU and settings are one part each."""
    for name, value in given.items():
        whole = not isinstance(value, Mapping) or name in ("model", "gpu", "engine_settings", "traffic")
        if whole:
            yield f"{prefix}{name}", value
        else:
            yield from _leaves(value, f"{prefix}{name}.")


def _verdict(reading: Reading, facts: Facts) -> tuple[VerdictAnswer | None, answer.CheckPart | None]:
    """The verdict on the question; what the estimates refuse of it is said as missing."""
    try:
        body = parse_body(VerdictRequest, orjson.dumps(reading.parts), facts)
        found = answer_verdict(body, Asked(facts=facts, explain=False))
        return found, _starts(body, facts)
    except ResolutionError as error:
        for fault in error.faults:
            place = ".".join(str(part) for part in fault.path)
            reading.missing.append(Missing(field=place, detail=fault.detail, near=fault.near))
    except EngineError as error:
        reading.missing.append(Missing(field=error.field or "question", detail=str(error)))
    return None, None


def _starts(body: VerdictRequest, facts: Facts) -> answer.CheckPart | None:
    """Whether an engine that keeps room for its longest request starts at all."""
    if body.memory.max_model_len is None or body.engine.startswith("llama"):
        return None
    said = startup_of(estimate_memory(resolve_plan(body, facts)))
    longest = f"{said.max_model_len:,}"
    if not said.refused:
        detail = _("a request of %(longest)s tokens has room in the cache") % {"longest": longest}
        return answer.CheckPart(name="starts", met=True, detail=detail)
    detail = _("a request of %(longest)s tokens has no room: at most %(most)s start") % {
        "longest": longest,
        "most": f"{said.longest_tokens:,}",
    }
    return answer.CheckPart(name="starts", met=False, detail=detail)


def _checks(found: Judged, limits: Limits) -> Iterator[answer.CheckPart]:
    verdict = found.verdict
    if verdict is None:
        return
    words = verdict.verdict
    yield answer.CheckPart(name="fits", met=verdict.memory.feasible, detail=words.sentence)
    if found.starts is not None:
        yield found.starts
    if found.reading.parts.get("slo"):
        met = None if words.state == "speed_unknown" else words.state in _GOOD
        yield answer.CheckPart(name="targets", met=met, detail=words.figures or words.sentence)
    cost = verdict.cost
    for name in ("cost_per_mtok_output", "cost_per_month"):
        limit = getattr(limits, name)
        if limit is not None:
            value = None if cost is None else getattr(cost, name)
            yield _cost_check(name, value, limit, found.reading.replicas if name == "cost_per_month" else 1, cost)


def _cost_check(name: Any, value: Decimal | None, limit: str, copies: int, cost: Any) -> answer.CheckPart:
    if value is None:
        return answer.CheckPart(name=name, met=None, detail=_("no cost is known: give price_per_gpu_hour"))
    whole = value * copies
    detail = (
        f"{whole:.4f} {cost.currency} ≤ {limit}"
        if whole <= Decimal(limit)
        else f"{whole:.4f} {cost.currency} > {limit}"
    )
    return answer.CheckPart(name=name, met=whole <= Decimal(limit), detail=detail)


def _difference(before: Judged, now: Judged) -> answer.Difference:
    old, new = dict(_leaves(before.reading.parts)), dict(_leaves(now.reading.parts))
    fields = [
        answer.FieldChange(field=name, before=old.get(name), after=new.get(name))
        for name in dict.fromkeys([*new, *old])
        if old.get(name) != new.get(name)
    ]
    one, other = dict(_figures(before.verdict)), dict(_figures(now.verdict))
    figures = [
        answer.FigureChange(figure=name, before=one.get(name), after=other.get(name))
        for name in dict.fromkeys([*other, *one])
        if one.get(name) != other.get(name)
    ]
    missing = [answer.missing_part(each) for each in before.reading.missing]
    return answer.Difference(fields=fields, figures=figures, missing=missing)


def _figures(verdict: VerdictAnswer | None) -> Iterator[tuple[str, float | str | None]]:
    """The figures of a verdict that two versions are held by."""
    if verdict is None:
        return
    yield "state", verdict.verdict.state
    yield "memory.max_sequences", verdict.memory.max_sequences
    for name in ("ttft_s", "tpot_s", "tokens_per_s_total"):
        band = getattr(verdict.speed, name)
        yield f"speed.{name}", None if band is None else band.mid
    users = verdict.max_concurrency_within_slo
    yield "max_concurrency_within_slo.mid", None if users is None else users.mid
    if verdict.cost is not None:
        for name in ("cost_per_hour", "cost_per_month", "cost_per_mtok_output"):
            value = getattr(verdict.cost, name, None)
            yield f"cost.{name}", None if value is None else format(value, "f")
