"""No field of a request is silently ignored: another value moves the answer, is refused by name, or a warning names it.

The fields are those of the request models of every estimate and of a report's order; the questions that they are
changed from are listed here, and each field must have been tried from at least one.
"""

import copy
import re
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from estimator.api.parsing import parse_body
from estimator.api.urls import ENDPOINTS
from estimator.engine.errors import EngineError, MissingFigureError, UnpricedMeterError
from estimator.engine.faults import ResolutionError
from estimator.estimates.endpoint import Asked
from estimator.estimates.sweep import compute as sweeps
from estimator.question.acting import REPEATED
from estimator.resolvers.live import current_facts
from reports.api.schemas import CreateReportRequest, plain
from reports.services.preparing import prepare
from tests.estimator.field_changes import Change, changes, nested, parts_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
# What only repeats the question or says where facts are from.
_SURROUNDINGS = ("inputs", "provenance", "assumptions", "warnings", "not_modelled", "explanation", "catalog_revision")
_LABELS_OF_ROWS = ("model", "gpu", "engine", "precision", "parallelism", "workload")

LENGTHS = {"input_tokens": 1000, "output_tokens": 200}
LOADS: dict[str, dict[str, Any]] = {
    "closed_loop": {"concurrency": 16},
    "open_loop": {"requests_per_s": 5},
    "offline": {},
    "static_batch": {"concurrency": 16},
    "single_stream": {},
    "decode_step": {"context_tokens": 500, "concurrency": 4},
}
# Memory is made short, so that what takes of it matters.
PLAN = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "memory": {"utilization": 0.28}}
SLO = {"ttft_s": 1, "tpot_s": 0.05, "e2e_s": 10}
EXTRAS = {
    "speculative": {"acceptance_rate": 0.7, "draft_tokens": 4, "draft_cost_ratio": 0.1},
    "lora": {"max_loras": 8, "max_rank": 64},
    "power": {"price_per_kwh": "0.3", "currency": "USD"},
    "slo": SLO,
}
OWNED_GPUS = {
    "capex": "392000", "gpus": 8, "watts": 5600, "pue": 1.4, "price_per_kwh": "0.12", "residual_value": "1000",
    "interest_rate": 0.05, "colocation_per_kw_month": "100",
}  # fmt: skip
SHAPE = {"parameters": 8030000000, "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128, "hidden_size": 4096}
CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}
FIGURES = {
    "memory_bytes": 80_000_000_000,
    "memory_bandwidth_bytes_per_s": 3.35e12,
    "peak_flops_per_s": {"bf16": 989e12},
    "kernel_family": "hopper",
}
OVERRIDDEN = {"slug": "llama-3.1-8b", "override": {"kv_heads": 4}}
HELD = {"price_per_gpu_hour": "2", "currency": "USD"}
OWNED = {
    "capex": "250000",
    "currency": "USD",
    "gpus": 8,
    "tokens_per_s_output": 5000,
    "watts_per_gpu": 500,
    "power": {"price_per_kwh": "0.3", "currency": "USD"},
    "colocation_per_kw_month": "100",
}
METERS = {"input": "2.5", "output": "15", "cache_read": "0.3", "cache_write_5m": "3.75", "cache_write_1h": "6"}
PRICE = {"currency": "USD", "meters": METERS}
TIERED = {"price": PRICE | {"tiers": [{"above_tokens": 500, "meters": METERS | {"input": "6", "output": "20"}}]}}
USED = {"input_tokens": 1000, "cache_read_tokens": 9}
MONTH = {"requests": 1_000_000, "input_tokens": 1000, "output_tokens": 400, "cached_fraction": 0.5}
PROMPT = {"prefix_tokens": 20000, "suffix_tokens": 1000, "output_tokens": 500}
TURNS = [{"input_tokens": 300, "output_tokens": 400}] * 4
RECORD = {"kind": "recorded", "times_s": [0, 100, 200, 5000]}
MARKS = [{"prefix_tokens": 9000, "ttl_s": 3600}, {"prefix_tokens": 20000, "ttl_s": 300}]
SIZING = {
    "model": "llama-3.1-8b",
    "workload": LENGTHS,
    "candidates": {"gpus": ["h100-sxm5-80gb"], "tp": [1]},
    "slo": SLO,
}
CONTRACT = {"volume_tiers": [{"above_spend_per_month": "100", "discount": 0.1}], "minimum_spend_per_month": "10"}
UNITS = {"price_per_unit_hour": "1", "input_tokens_per_minute_per_unit": 500}
SWEEP = {
    "models": ["llama-3.1-8b"],
    "gpus": ["h100-sxm5-80gb"],
    "engines": ["vllm-0.19"],
    "memory": {"utilization": 0.28},
    "workloads": [LENGTHS | LOADS["closed_loop"]],
}
# Every question by name: the endpoint's slug ("order" is a report's) and its body.
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "memory": ("memory-fit", PLAN | {"workload": LENGTHS | LOADS["closed_loop"]}),
    "memory without a load": ("memory-fit", PLAN | EXTRAS),
    "memory of a shape": ("memory-fit", {"model": SHAPE, "gpu": FIGURES}),
    **{
        mode: ("throughput", PLAN | {"workload": LENGTHS | load | {"mode": mode}, "slo": SLO})
        for mode, load in LOADS.items()
    },
    "everything": ("throughput", PLAN | EXTRAS | {"workload": LENGTHS | LOADS["closed_loop"]}),
    "a shape": ("throughput", {"model": SHAPE, "gpu": FIGURES, "workload": LENGTHS | LOADS["closed_loop"]}),
    "memory of a config": ("memory-fit", PLAN | {"model": {"config": CONFIG}, "workload": LENGTHS}),
    "an override": ("throughput", PLAN | {"model": OVERRIDDEN, "workload": LENGTHS | LOADS["closed_loop"]}),
    "sglang": ("throughput", PLAN | {"engine": "sglang-0.5", "workload": LENGTHS | LOADS["closed_loop"]}),
    "llama.cpp": ("throughput", PLAN | {"engine": "llama.cpp", "workload": LENGTHS | LOADS["closed_loop"]}),
    "ideal": ("throughput", PLAN | {"engine": "ideal", "workload": LENGTHS | LOADS["closed_loop"]}),
    **{
        f"cost of {mode}": ("cost", {"self_hosted": HELD | PLAN | {"workload": LENGTHS | load | {"mode": mode}}})
        for mode, load in LOADS.items()
        if mode != "decode_step"
    },
    "cost of a rate": ("cost", {"self_hosted": HELD | {"tokens_per_s_output": 700}}),
    "cost of a rate and a plan": (
        "cost", {"self_hosted": HELD | PLAN | {"tokens_per_s_output": 700, "workload": LENGTHS}}
    ),
    "cost of a node": (
        "cost",
        {"self_hosted": {"price_per_node_hour": "20", "currency": "USD", "tokens_per_s_output": 700}},
    ),
    "cost by ratio": (
        "cost",
        {"self_hosted": HELD | PLAN | {
            "workload": LENGTHS, "allocation": "ratio", "output_input_cost_ratio": 4, "upfront": "1000",
        }},
    ),
    "cost of owned machines": ("cost", {"self_hosted": OWNED}),
    "bill": ("cost", {"api": {"price": PRICE, "usage": USED}}),
    "tiered bill": ("cost", {"api": TIERED | {"usage": USED}}),
    "listed bill": ("cost", {"api": {"price": "anthropic-claude-sonnet-4-5", "usage": USED}}),
    "cache": ("prompt-cache", PROMPT | {"api": {"price": PRICE}, "arrivals": {"requests_per_hour": 6},
                                        "policy": {"ttls_s": [300]}}),
    "cache of a record": ("prompt-cache", PROMPT | {"api": {"price": PRICE}, "arrivals": RECORD}),
    "cache with marks": ("prompt-cache", PROMPT | {"api": {"price": PRICE}, "marks": MARKS,
                                                   "arrivals": {"requests_per_hour": 6}}),
    "conversation": ("prompt-cache", {"prefix_tokens": 20000, "api": {"price": PRICE}, "turns": TURNS,
                                      "arrivals": {"requests_per_hour": 6}}),
    "engine's cache": (
        # The format of the cache is stated, since without it a first token that waits for room is not said.
        "prompt-cache",
        PROMPT | {"self_hosted": PLAN | {"workload": LOADS["closed_loop"], "precision": {"kv_cache": "bf16"}}},
    ),
    **{
        f"verdict of {mode}": (
            "verdict", HELD | PLAN | {"workload": LENGTHS | LOADS[mode] | {"mode": mode}, "slo": SLO, "changes": False}
        )
        for mode in ("closed_loop", "open_loop", "offline")
    },
    "sizing by concurrency": ("sizing", SIZING | {"demand": {"concurrency": 5000}}),
    "sizing by users": ("sizing", SIZING | {"demand": {"users": 5000, "think_time_s": 5}}),
    "sizing by rate": ("sizing", SIZING | {"demand": {"requests_per_s_peak": 90}, "budget": {"gpus": 100}}),
    "sizing at a price": (
        "sizing",
        SIZING | {
            "demand": {"concurrency": 5000}, "prices": {"h100-sxm5-80gb": HELD}, "objective": "min_cost",
            "budget": {"cost_per_month": "10000000", "currency": "USD"},
        },
    ),
    "sizing of owned GPUs": (
        "sizing",
        SIZING | {
            "demand": {"concurrency": 5000}, "objective": "min_cost",
            "prices": {"h100-sxm5-80gb": {"currency": "USD", "owned": OWNED_GPUS}},
        },
    ),
    "break-even of a rate": (
        "break-even",
        {"self_hosted": HELD | {"tokens_per_s_output": 2500}, "api": {"price": PRICE} | CONTRACT, "monthly": MONTH},
    ),
    "break-even of a plan": (
        "break-even",
        {"self_hosted": HELD | PLAN, "api": {"price": PRICE}, "monthly": [MONTH, MONTH | {"requests": 5}]},
    ),
    "break-even of owned machines": (
        "break-even",
        {"self_hosted": HELD | {"tokens_per_s_output": 2500, "gpus": 8}, "owned": OWNED, "provisioned": UNITS,
         "api": {"price": PRICE}, "monthly": MONTH},
    ),
    "break-even in two currencies": (
        "break-even",
        {"self_hosted": HELD | {"currency": "EUR", "tokens_per_s_output": 2500}, "api": {"price": PRICE},
         "monthly": MONTH,
         "exchange_rate": {"from_currency": "USD", "to_currency": "EUR", "rate": "0.9", "on": "2026-11-01"}},
    ),
    "tokens of words": ("tokens", {"words": 900, "max_output_tokens": 10, "context_window_tokens": 5000}),
    "tokens of a text": ("tokens", {"text": "as we sat in a room " * 50, "language": "en", "model": "llama-3.1-8b"}),
    "tokens that are known": ("tokens", {"input_tokens": 900}),
    "order": (
        "order",
        {"name": "r", "sweep": SWEEP, "slo": SLO, "pricing": {"price_per_gpu_hour": {"h100-sxm5-80gb": "2"}}},
    ),
    "order of owned GPUs": (
        "order", {"name": "r", "sweep": SWEEP, "slo": SLO, "pricing": {"owned": {"h100-sxm5-80gb": OWNED_GPUS}}},
    ),
    "order of loads": (
        "order",
        {"name": "r", "slo": {"ttft_s": 0.2, "tpot_s": 0.011}, "sweep": SWEEP | {
            "workloads": [
                LENGTHS | {"name": "swept"}, *(LENGTHS | load | {"mode": mode} for mode, load in LOADS.items()),
            ],
            "batch_sizes": [1, 4], "speculative": EXTRAS["speculative"], "lora": EXTRAS["lora"],
        }},
    ),
    "order of figures": (
        "order",
        {"name": "r", "sweep": {
            "models": [SHAPE | {"name": "mine"}], "gpus": [FIGURES | {"name": "my gpu"}],
            "engines": [{"slug": "vllm-0.19", "memory": {"utilization": 0.9}}],
            "workloads": [LENGTHS], "batch_sizes": {"from": 1, "to": 4},
        }, "pricing": {"price_per_gpu_hour": {"my gpu": "2"}}},
    ),
}  # fmt: skip
BY_SLUG = {endpoint.slug: endpoint for endpoint in ENDPOINTS}
# What the figures of a question really do not depend on, by question, path and why.
NO_DIFFERENCE = {
    ("single_stream", "workload.concurrency"): "a single stream has a concurrency of 1",
    ("cost of single_stream", "self_hosted.workload.concurrency"): "a single stream has a concurrency of 1",
    ("sizing by rate", "workload.mode"): "a peak rate is an open loop",
    ("tiered bill", "api.price.meters"): "the request is long enough for the tier",
    **{
        (f"sizing {of}", f"workload.traffic.{name}"): "the target of the first token is not what binds"
        for of in ("by concurrency", "by users", "at a price", "of owned GPUs")
        for name in ("statistic", "ttft_at")
    },
    **{
        (question, "self_hosted.workload.traffic.kind"): "one request in flight is sent alike by client and service"
        for question in ("cost by ratio", "break-even of a plan")
    },
    ("order of owned GPUs", "slo.band_side"): "both sides are within these targets",
    ("cache with marks", "api.price.tiers"): "no prompt reaches the tier",
    ("order", "slo.band_side"): "both sides are within these targets",
    ("order of figures", "sweep.models.0.context_window_tokens"): "a limit, which refuses what is beyond it",
    **{
        (cost, "self_hosted.memory.cudagraph_capture_sizes"): "the load fits beside all graphs and beside one"
        for cost in ("cost of closed_loop", "cost of static_batch", "cost of single_stream", "cost by ratio")
    },
    ("memory of a shape", "gpu.peak_flops_per_s"): "a GPU cannot be given without it",
    ("memory of a shape", "gpu.memory_bandwidth_bytes_per_s"): "a GPU cannot be given without it",
}


class RefusedError(Exception):
    """The places and sentences of a refusal, and whether it asks for what is missing."""

    def __init__(self, *places: str, incomplete: bool = False) -> None:
        self.places = places
        self.incomplete = incomplete


def answer_of(slug: str, body: dict[str, Any], facts: Any) -> tuple[dict[str, Any], list[str], Any]:
    """The figures of an answer, its warnings, and what it repeats of the question."""
    try:
        model = CreateReportRequest if slug == "order" else BY_SLUG[slug].request
        asked = parse_body(model, orjson.dumps(body), facts)
        if slug == "order":
            return rows_of(asked)
        answer = BY_SLUG[slug].answer(asked, Asked(facts=facts, explain=False)).model_dump()
    except ResolutionError as error:
        texts = [text for i in error.faults for text in (".".join(map(str, i.path)), i.detail)]
        raise RefusedError(*texts, incomplete=all(i.code == "required" for i in error.faults)) from None
    except EngineError as error:
        unknown = isinstance(error, MissingFigureError | UnpricedMeterError)
        raise RefusedError(error.field or "", str(error), incomplete=unknown) from None
    figures = {name: value for name, value in answer.items() if name not in _SURROUNDINGS}
    return figures, answer["warnings"], (answer.get("inputs"), answer["provenance"])


def rows_of(order: CreateReportRequest) -> tuple[dict[str, Any], list[str], Any]:
    made = prepare(sweep=plain(order.sweep), slo=plain(order.slo), pricing=plain(order.pricing))
    sweep = sweeps.load(made.inputs, made.snapshot)
    rows = sweep.rows(0, min(sweep.total_rows, 300))
    figures = {
        name: repr(getattr(values, "codes", values).tolist()) + repr(getattr(values, "labels", ""))
        for name, values in rows.items()
        if name not in _LABELS_OF_ROWS
    }
    repeated = {name: repr(rows[name].labels) for name in _LABELS_OF_ROWS}
    return figures, made.snapshot["warnings"], (repeated, order.name, order.tags)


def names(texts: Iterable[str], change: Change) -> bool:
    """Whether one of the texts names the field, or the part that holds it."""
    whole = change.name
    parts = [whole.rsplit(".", n)[0] for n in range(len(change.path))]
    parts += [re.sub(r"\.\d+", "", part) for part in parts]
    return any(re.search(rf"(?<![\w.]){re.escape(part)}(?![\w.])(?!\.\w)", text) for part in parts for text in texts)


def refuses(texts: Iterable[str], change: Change) -> bool:
    """Whether a refusal names the field, its part, something below it, or the field by its bare name."""
    texts = list(texts)
    below = any(text.startswith(f"{change.name}.") for text in texts)
    bare = f"{change.field}|{change.field.rpartition('_')[0].replace('_', ' ') or change.field}"
    return below or names(texts, change) or any(re.search(rf"\b({bare})\b", text) for text in texts)


def outcome(slug: str, change: Change, value: Any, plain: tuple[Any, ...], facts: Any) -> str:
    """What another value of a field does: moves, named, refused, misnamed (refused for another field) or silent."""
    try:
        figures, warnings, repeated = answer_of(slug, change.asked(value), facts)
    except RefusedError as refused:
        by_name = refused.incomplete or refuses(refused.places, change)
        return "refused" if by_name else f"misnamed {refused.places}"
    if figures != plain[0] or (is_a_label(change) and repeated != plain[2]):
        return "moves"
    by_key = isinstance(value, dict) and any(f"{change.name}.{key}" in text for key in value for text in warnings)
    return "named" if by_key or names(warnings, change) else "silent"


def is_a_label(change: Change) -> bool:
    return REPEATED in change.info.metadata


@pytest.fixture
def facts() -> Any:
    return current_facts()


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_field_is_ignored(question, facts):
    slug, body = QUESTIONS[question]
    model = CreateReportRequest if slug == "order" else BY_SLUG[slug].request
    # Parts that are left out may be refused where they are put in with the least; the question itself may not.
    plain_of: dict[bytes, Any] = {orjson.dumps(body): answer_of(slug, body, facts)}
    silent = []
    for change in changes(copy.deepcopy(body), model, facts):
        key = orjson.dumps(change.question)
        if key not in plain_of:
            try:
                plain_of[key] = answer_of(slug, change.question, facts)
            except RefusedError as refused:
                plain_of[key] = refused
        plain = plain_of[key]
        if isinstance(plain, RefusedError) or (question, change.name) in NO_DIFFERENCE:
            continue
        found = []
        for value in change.values:
            found.append(outcome(slug, change, value, plain, facts))
            if found[-1] in ("moves", "named"):
                break
        if not found or not ({"moves", "named"} & set(found) or set(found) == {"refused"}):
            silent.append((change.name, found))
    assert silent == []


def test_every_field_of_every_request_is_tried(facts):
    models = {slug: endpoint.request for slug, endpoint in BY_SLUG.items()} | {"order": CreateReportRequest}
    tried = {
        (change.owner, change.field)
        for slug, body in QUESTIONS.values()
        for change in changes(copy.deepcopy(body), models[slug], facts)
    }
    parts = {part for model in models.values() for part in parts_of(model)}
    missing = [
        f"{part.__name__}.{name}"
        for part in parts
        for name, info in part.model_fields.items()
        if (part, name) not in tried and not nested(info)
    ]
    assert missing == []
