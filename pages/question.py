"""A question as a form asks it: fields of an address, the request body of the verdict, and faults by field."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from estimator.engine.faults import Fault
from estimator.estimates.verdict.parts import ChangePart

# Fields in the order of the form; an address holds those that are not empty.
FIELDS = (
    "model", "gpu", "gpus", "weights", "kv", "engine", "input", "output", "load", "n", "ttft", "tpot", "price",
    "utilization", "cached",
)  # fmt: skip
# What the first page asks.
FIRST: dict[str, str] = {
    "model": "Llama-3.3-70B-Instruct", "gpu": "h100-sxm5-80gb", "gpus": "2", "weights": "fp8", "kv": "bf16",
    "engine": "vllm", "input": "8000", "output": "500", "load": "users", "n": "16", "ttft": "2", "tpot": "50",
}  # fmt: skip
USERS, ARRIVALS = "users", "rate"
CURRENCY = "USD"
_LONGEST = 200
_SEPARATORS = re.compile(r"[,\s  '_]")
# Where a fault of the body stands in the form.
_PLACES = {
    "model": "model", "gpu": "gpu", "engine": "engine", "parallelism": "gpus", "precision.weights": "weights",
    "precision.kv_cache": "kv", "precision": "weights", "workload.input_tokens": "input",
    "workload.output_tokens": "output", "workload.concurrency": "n", "workload.requests_per_s": "n",
    "workload.prefix_cache_hit_rate": "cached", "workload.mode": "load", "workload": "input", "slo.ttft_s": "ttft",
    "slo.tpot_s": "tpot", "price_per_gpu_hour": "price", "currency": "price", "memory.utilization": "utilization",
    "kv_heads": "gpus",
}  # fmt: skip


def labels() -> dict[str, str]:
    """The words that stand beside each field of the form."""
    return {
        "model": _("Model"), "config": _("config.json"), "gpu": _("GPU"), "gpus": _("How many"),
        "weights": _("Weights"), "kv": _("Cache"), "engine": _("Engine"), "input": _("Prompt"),
        "output": _("Answer"), "load": _("Load"), "n": _("At the peak"), "ttft": _("First token within"),
        "tpot": _("Each token within"), "price": _("Price of one GPU"), "utilization": _("Memory share"),
        "cached": _("Prompt cached"),
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFault:
    """What is wrong with a field, in words; `name` is the field, empty where it is of the whole."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """The fields of a form as they were written; `config` is a pasted config.json, which no address holds."""

    values: Mapping[str, str]
    config: str = ""
    faults: tuple[FormFault, ...] = field(default=())

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    @property
    def query(self) -> str:
        """The question as the query of an address, empty fields left out."""
        return urlencode([(name, self[name]) for name in FIELDS if self[name]])

    @property
    def arrives(self) -> bool:
        """Whether the load is a rate of requests."""
        return self["load"] == ARRIVALS

    def changed(self, **values: str) -> "Question":
        """The question with other values."""
        return replace(self, values={**self.values, **values})


def read(given: Mapping[str, str]) -> Question:
    """The question of an address or a form; the first page's where it names no field at all."""
    if not any(given.get(name) for name in FIELDS):
        return Question(FIRST)
    values = {name: given.get(name, "").strip()[:_LONGEST] for name in FIELDS}
    return Question({name: value for name, value in values.items() if value}, config=given.get("config", "").strip())


_FIELD_OF_CHANGE = {
    "parallelism.tp": "gpus", "precision.weights": "weights", "precision.kv_cache": "kv", "gpu": "gpu",
}  # fmt: skip


def changed_query(question: Question, change: ChangePart) -> str:
    """The query of the same question with one change of its verdict; the price that was given is of the GPU asked."""
    values = {_FIELD_OF_CHANGE[change.change]: str(change.value)}
    return question.changed(**values, **({"price": ""} if change.change == "gpu" else {})).query


def body_of(question: Question) -> tuple[dict[str, Any], tuple[FormFault, ...]]:
    """The request body of the verdict, and what cannot be read as a number; the service checks the rest."""
    reading = Reading(question)
    degree = reading.whole("gpus")
    body: dict[str, Any] = {
        "model": _model(question, reading),
        "gpu": question["gpu"],
        "parallelism": {"tp": 1 if degree is None else degree},
        "precision": _given(weights=question["weights"], kv_cache=question["kv"]),
        "workload": _workload(question, reading),
        "slo": _given(ttft_s=reading.number("ttft"), tpot_s=_scaled(reading.number("tpot"), 1000)),
        "memory": _given(utilization=reading.number("utilization")),
    }
    if question["engine"]:
        body["engine"] = question["engine"]
    if question["price"]:
        body |= {"price_per_gpu_hour": _SEPARATORS.sub("", question["price"]), "currency": CURRENCY}
    return {name: value for name, value in body.items() if value not in ({}, "")}, tuple(reading.faults)


def faults_of(issues: tuple[Fault, ...]) -> tuple[FormFault, ...]:
    """The faults of a body as faults of the form."""
    return tuple(fault_at(".".join(map(str, issue.path)), issue.detail) for issue in issues)


def fault_at(path: str, text: str) -> FormFault:
    """A fault at a dotted place of the body."""
    parts = path.split(".")
    while parts:
        if name := _PLACES.get(".".join(parts)):
            return FormFault(name=name, text=text)
        parts.pop()
    return FormFault(name="", text=f"{path}: {text}" if path else text)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "")}


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value / by


def _model(question: Question, reading: "Reading") -> Any:
    if not question.config:
        return question["model"]
    try:
        config = json.loads(question.config)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        reading.faults.append(FormFault(name="config", text=_("This is no config.json: give the object in braces.")))
        return question["model"]
    return {"config": config}


def _workload(question: Question, reading: "Reading") -> dict[str, Any]:
    cached = _scaled(reading.number("cached"), 100)
    lengths = _given(
        input_tokens=reading.number("input"), output_tokens=reading.number("output"), prefix_cache_hit_rate=cached
    )
    if question.arrives:
        return {"mode": "open_loop", **lengths, **_given(requests_per_s=reading.number("n"))}
    users = reading.whole("n")
    return {"mode": "closed_loop", **lengths, "concurrency": 1 if users is None else users}


class Reading:
    """Reads numbers as people write them, with commas and spaces; notes what is none."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.faults: list[FormFault] = []

    def number(self, name: str) -> float | None:
        """The number of a field; None where it is empty or none."""
        text = _SEPARATORS.sub("", self.question[name])
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            self.faults.append(
                FormFault(name=name, text=_("“%(text)s” is not a number.") % {"text": self.question[name]})
            )
            return None
        if value != value or value in (float("inf"), float("-inf")):
            self.faults.append(FormFault(name=name, text=_("Give a finite number.")))
            return None
        return value

    def whole(self, name: str) -> int | None:
        """The whole number of a field."""
        value = self.number(name)
        if value is None:
            return None
        if not value.is_integer():
            self.faults.append(FormFault(name=name, text=_("Give a whole number.")))
            return None
        return int(value)
