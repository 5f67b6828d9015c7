"""The order form: fields of the page or of the calculator's address, the body of an order, and faults by field."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from django.http import QueryDict
from django.utils.translation import gettext as _

from pages.question import ARRIVALS, CURRENCY, FormFault

WORKLOADS = 3
MANY = ("gpu", "engine", "weights")
FIRST: dict[str, Any] = {
    "model": "Llama-3.3-70B-Instruct", "gpu": ["h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb"], "gpus": "4",
    "engine": ["vllm"], "weights": [], "kv": "bf16", "input1": "1000", "output1": "300", "ttft": "2", "tpot": "50",
    "load": "users", "loads": "1-256", "refine": "1",
}  # fmt: skip
_LONGEST = 2_000
_ITEMS = re.compile(r"[,;\s]+")
_AMOUNT = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_RANGE = re.compile(r"(\d+)\s*(?:-|–|to)\s*(\d+)")
NumberT = TypeVar("NumberT", int, float)


@dataclass(frozen=True, slots=True)
class Form:
    """The fields as they were written: texts, and lists of those where many can be chosen."""

    texts: Mapping[str, str]
    lists: Mapping[str, Sequence[str]]

    def __getitem__(self, name: str) -> str:
        return self.texts.get(name, "")


def read(given: QueryDict, *, fresh: bool = False) -> Form:
    """The fields of a form or of the calculator's address, which has one workload and no numbers behind its names.

    `fresh`: nobody has seen the form yet, so what it marks by itself is marked.
    """
    if not given:
        return Form(
            {name: value for name, value in FIRST.items() if isinstance(value, str)},
            {name: FIRST[name] for name in MANY},
        )
    texts = {name: value.strip()[:_LONGEST] for name, value in given.items() if isinstance(value, str)}
    lists = {name: [one[:200] for one in given.getlist(name) if one] for name in MANY}
    for name in ("input", "output"):
        texts.setdefault(f"{name}1", texts.get(name, ""))
    texts.setdefault("load", "users")
    if fresh:
        texts.setdefault("refine", "1")
    if "loads" not in texts:
        texts["loads"] = texts.get("n", "") if texts["load"] == ARRIVALS else "1-256"
    if texts.get("price") and len(lists["gpu"]) == 1:
        texts.setdefault("prices", f"{lists['gpu'][0]} {texts['price']}")
    return Form(texts, lists)


def body_of(form: Form) -> tuple[dict[str, Any], tuple[FormFault, ...]]:
    """The body of an order, and what cannot be read; the service checks the rest."""
    reading = _Reading(form)
    arrives = form["load"] == ARRIVALS
    sweep: dict[str, Any] = {
        "models": [one for line in form["model"].splitlines() for one in [line.strip()] if one],
        "gpus": list(form.lists["gpu"]),
        "engines": list(form.lists["engine"]) or ["vllm"],
        "precisions": [_given(weights=one, kv_cache=form["kv"]) for one in form.lists["weights"] or [""]],
        "parallelism": [{"tp": one} for one in reading.several("gpus", int) or [1]],
        "workloads": _workloads(form, reading, arrives),
        "memory": _given(utilization=reading.number("utilization")),
    }
    if not arrives:
        sweep["batch_sizes"] = reading.loads("loads")
    tpot = reading.number("tpot")
    slo = _given(ttft_s=reading.number("ttft"), tpot_s=None if tpot is None else tpot / 1000)
    if form["refine"] and not arrives and slo:
        sweep["refine"] = True
    body = {"name": form["name"], "sweep": {name: part for name, part in sweep.items() if part != {}}}
    body |= {"slo": slo} if slo else {}
    if prices := reading.prices("prices"):
        body["pricing"] = {"currency": CURRENCY, "price_per_gpu_hour": prices}
    return body, tuple(reading.faults)


def _workloads(form: Form, reading: "_Reading", arrives: bool) -> list[dict[str, Any]]:
    found = []
    for number in range(1, WORKLOADS + 1):
        if not any(form[f"{name}{number}"] for name in ("use", "input", "output")) and number > 1:
            continue
        cached = reading.number("cached")
        one = _given(
            name=form[f"use{number}"],
            input_tokens=reading.number(f"input{number}"),
            output_tokens=reading.number(f"output{number}"),
            prefix_cache_hit_rate=None if cached is None else cached / 100,
        )
        if arrives:
            one |= {"mode": "open_loop", "requests_per_s": reading.several("loads", float)}
        found.append(one)
    return found


def fault_at(path: Sequence[Any], text: str) -> FormFault:
    """A fault at a place of the body, at the field that it comes from."""
    parts = [str(part) for part in path]
    joined = ".".join(parts)
    for pattern, name in _PLACES:
        if found := re.match(pattern, joined):
            numbers = [int(one) + 1 for one in found.groups() if one]
            return FormFault(name=name.format(*numbers), text=text)
    return FormFault(name="", text=f"{joined}: {text}" if joined else text)


_PLACES = (
    (r"name", "name"), (r"sweep\.models", "model"), (r"sweep\.gpus", "gpu"), (r"sweep\.engines", "engine"),
    (r"sweep\.precisions\.\d+\.kv_cache", "kv"), (r"sweep\.precisions", "weights"), (r"sweep\.parallelism", "gpus"),
    (r"sweep\.workloads\.(\d+)\.name", "use{0}"), (r"sweep\.workloads\.(\d+)\.output_tokens", "output{0}"),
    (r"sweep\.workloads\.\d+\.requests_per_s", "loads"), (r"sweep\.workloads\.\d+\.prefix_cache_hit_rate", "cached"),
    (r"sweep\.workloads\.(\d+)", "input{0}"), (r"sweep\.workloads", "input1"), (r"sweep\.batch_sizes", "loads"),
    (r"sweep\.memory", "utilization"), (r"slo\.ttft_s", "ttft"), (r"slo\.tpot_s", "tpot"), (r"pricing", "prices"),
)  # fmt: skip


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "")}


class _Reading:
    """Reads numbers and lists as people write them; notes what is none."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.faults: list[FormFault] = []

    def number(self, name: str) -> float | None:
        """The number of a field, thousands set apart or not; None where it is empty or none."""
        text = re.sub(r"[,\s'_]", "", self.form[name])
        return self._as(name, text, float) if text else None

    def several(self, name: str, kind: Callable[[str], NumberT]) -> list[NumberT]:
        """The numbers of a list."""
        found = [self._as(name, one, kind) for one in _ITEMS.split(self.form[name]) if one]
        return [one for one in found if one is not None]

    def loads(self, name: str) -> Any:
        """Batch sizes: a list, "max", or a range, which means powers of two."""
        text = self.form[name]
        if text.lower() == "max":
            return "max"
        if found := _RANGE.fullmatch(text):
            return {"from": int(found.group(1)), "to": int(found.group(2)), "scale": "powers_of_two"}
        return self.several(name, int) or None

    def prices(self, name: str) -> dict[str, str]:
        """A GPU and its price a line."""
        found = {}
        for line in self.form[name].splitlines():
            gpu, _space, amount = line.strip().rpartition(" ")
            if not line.strip():
                continue
            # An amount with an exponent would be written out with as many digits.
            if _AMOUNT.fullmatch(amount):
                found[gpu.strip(" :=")] = f"{Decimal(amount):f}"
            else:
                text = _("“%(line)s” is no GPU and price: write h100-sxm5-80gb 2.50.") % {"line": line.strip()[:60]}
                self.faults.append(FormFault(name=name, text=text))
        return found

    def _as(self, name: str, text: str, kind: Callable[[str], NumberT]) -> NumberT | None:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or value != value or abs(value) == float("inf"):
            said = _("“%(text)s” is not a whole number.") if kind is int else _("“%(text)s” is not a number.")
            fault = FormFault(name=name, text=said % {"text": text[:60]})
            if fault not in self.faults:
                self.faults.append(fault)
            return None
        return value


def labels() -> dict[str, str]:
    """The words that stand beside each field of the form."""
    numbers = range(1, WORKLOADS + 1)
    return {
        "name": _("Name"), "model": _("Models"), "gpu": _("GPUs"), "gpus": _("GPUs of a replica"),
        "engine": _("Engines"), "weights": _("Weights"), "kv": _("Cache"), "loads": _("Loads"), "load": _("Load"),
        "ttft": _("First token within"), "tpot": _("Each token within"), "prices": _("Own prices"),
        "utilization": _("Memory share"),
        "cached": _("Prompt cached"),
        **{f"use{n}": _("Name of workload %(n)s") % {"n": n} for n in numbers},
        **{f"input{n}": _("Prompt of workload %(n)s") % {"n": n} for n in numbers},
        **{f"output{n}": _("Answer of workload %(n)s") % {"n": n} for n in numbers},
    }  # fmt: skip
