"""Random questions asked of the estimates and as a sweep of one row: every figure that both say is the same."""

import random
from typing import Any

import numpy as np
import orjson
import pytest

from estimator.api.parsing import parse_body
from estimator.api.urls import ENDPOINTS
from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.engine.memory.ledger import LEDGER_COLUMNS
from estimator.estimates.endpoint import Asked
from estimator.estimates.sweep.compute import load, snapshot_of
from estimator.figures.speed import METRICS, SIDES
from estimator.resolvers.live import current_facts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
BY_SLUG = {endpoint.slug: endpoint for endpoint in ENDPOINTS}
AXES = {
    "model": "models", "gpu": "gpus", "engine": "engines", "precision": "precisions",
    "parallelism": "parallelism", "workload": "workloads",
}  # fmt: skip
PRICE = {"price_per_gpu_hour": "2.5", "currency": "USD"}

# What a part of a question may be; each is drawn as often as the others, and "left out" is one of them.
LEFT_OUT: dict[str, Any] = {}
MODES = {
    "closed_loop": [{"concurrency": n} for n in (1, 7, 64, 600)],
    "static_batch": [{"concurrency": n} for n in (1, 16, 300)],
    "open_loop": [{"requests_per_s": r, "burstiness_cv": cv} for r in (0.2, 3.0, 40.0) for cv in (0.0, 1.0, 4.0)],
    "decode_step": [{"context_tokens": n, "concurrency": 8} for n in (1, 5000.5)],
    "offline": [LEFT_OUT],
    "single_stream": [LEFT_OUT],
}
LENGTHS: dict[str, list[Any]] = {
    "input_tokens": [0, 1, 128, 921.6, 4000], "output_tokens": [1, 2, 100.5, 700],
    "prefix_cache_hit_rate": [0, 0, 0.25, 0.9],
}  # fmt: skip
TARGETS: dict[str, list[Any]] = {
    "ttft_s": [None, 0.05, 0.3, 5.0], "tpot_s": [None, 0.008, 0.015, 0.2], "e2e_s": [None, 0.5, 4.0, 60.0],
    "percentile": [None, 50, 90, 99], "band_side": ["mid", "conservative"],
}  # fmt: skip
PARTS: dict[str, list[Any]] = {
    "model": ["llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-12b"],
    "gpu": ["h100-sxm5-80gb", "l40s", "a100-sxm4-80gb"],
    "engine": ["vllm", "vllm-0.19", "sglang-0.5", "llama.cpp", "ideal"],
    "parallelism": [{"tp": 1}, {"tp": 2}],
    "precision": [LEFT_OUT, {"weights": "fp8", "kv_cache": "fp8"}, {"weights": "int4"}],
    "memory": [LEFT_OUT, {"utilization": 0.5}, {"kv_cache_tokens_observed": 60_000}, {"max_num_seqs": 20}],
    "speculative": [None, {"acceptance_rate": 0.7, "draft_tokens": 4, "draft_cost_ratio": 0.05}],
    "lora": [None, {"max_loras": 4, "max_rank": 64}],
    "power": [None, {"pue": 1.2, "price_per_kwh": "0.3", "currency": "EUR"}],
}


def question(draw: random.Random) -> dict[str, Any]:
    """A question of parts drawn at random."""

    def drawn(parts: dict[str, list[Any]]) -> dict[str, Any]:
        found = {name: draw.choice(choices) for name, choices in parts.items()}
        return {name: value for name, value in found.items() if value is not None}

    mode = draw.choice(list(MODES))
    workload = {"mode": mode} | drawn(LENGTHS) | draw.choice(MODES[mode])
    return drawn(PARTS) | {"workload": workload, "slo": drawn(TARGETS)}


def asked_of(slug: str, body: dict[str, Any], facts: Any) -> dict[str, Any] | None:
    """The answer of an estimate; None where it refuses the question."""
    endpoint = BY_SLUG[slug]
    try:
        parsed = parse_body(endpoint.request, orjson.dumps(body), facts)
        return endpoint.answer(parsed, Asked(facts=facts, explain=False)).model_dump()
    except (ResolutionError, EngineError):
        return None


def row_of(body: dict[str, Any], facts: Any) -> dict[str, Any] | None:
    """The one row of the same question as a sweep; None where it is refused or has no figures to say."""
    sweep = {AXES.get(name, name): [part] if name in AXES else part for name, part in body.items() if name != "slo"}
    prices = {body["gpu"]: PRICE}
    try:
        snapshot = orjson.loads(orjson.dumps(snapshot_of(sweep, facts) | {"prices": prices}))
        rows = load({"sweep": sweep, "slo": body.get("slo")}, snapshot).rows(0, 1)
    except (ResolutionError, EngineError):
        return None
    return {name: _value(values) for name, values in rows.items()}


def _value(values: Any) -> Any:
    if hasattr(values, "labels"):
        return values.labels[values.codes[0]] if values.codes[0] >= 0 else None
    found = float(values[0])
    return None if np.isnan(found) else found


def same(said: Any, found: Any, name: str) -> None:
    if said is None or found is None:
        assert (said, found) == (None, None), name
    else:
        assert float(found) == pytest.approx(float(said), rel=1e-9), name


@pytest.mark.parametrize("number", range(8))
def test_a_question_has_the_same_figures_whichever_way_it_is_asked(number):
    draw = random.Random(number)
    facts = current_facts()
    compared = 0
    for _ in range(40):
        compared += _compared(question(draw), facts)
        if compared == 6:
            return
    raise AssertionError(f"only {compared} of 40 questions were answered")


def _compared(body: dict[str, Any], facts: Any) -> bool:
    """Holds both answers against one another; False where the question is refused."""
    answer, row = asked_of("throughput", body, facts), row_of(body, facts)
    if row is None or answer is None or row["status"] == "unsupported":
        return False
    for name in METRICS:
        same(answer["ceiling"][name], row[f"{name}_ceiling"], name)
        for side in SIDES:
            same((answer["expected"][name] or {}).get(side), row[f"{name}_{side}"], f"{name}_{side}")
    good = answer["expected"]["goodput_requests_per_s"] or {}
    asks = any((body.get("slo") or {}).get(name) for name in ("ttft_s", "tpot_s", "e2e_s"))
    if asks:
        for side in SIDES:
            same(good.get(side), row[f"goodput_requests_per_s_{side}"], f"goodput {side}")
        same(answer["ceiling"]["goodput_requests_per_s"], row["goodput_requests_per_s_ceiling"], "goodput ceiling")
        met = (answer["meets_slo"] or {}).get("all")
        assert {None: -1, True: 1, False: 0}[met] == row["meets_slo"]
        same((answer["odds"] or {}).get("all"), row["chance_within_slo"], "chance")
    _memory(body, row, facts)
    _money(body, row, facts)
    return True


def _memory(body: dict[str, Any], row: dict[str, Any], facts: Any) -> None:
    """The ledger of a load whose sequences the question states."""
    if body["workload"]["mode"] not in ("closed_loop", "static_batch", "decode_step"):
        return
    fit = asked_of("memory-fit", body, facts)
    assert fit is not None
    for name in LEDGER_COLUMNS:
        same(fit["per_gpu"][name], row[name], name)
    assert float(fit["feasible"]) == row["fits"]


def _money(body: dict[str, Any], row: dict[str, Any], facts: Any) -> None:
    """What a million tokens cost at the load, and their electricity."""
    part = {name: value for name, value in body.items() if name != "slo"} | PRICE
    cost = asked_of("cost", {"self_hosted": part}, facts)
    if cost is None or body["workload"]["mode"] in ("open_loop", "decode_step"):
        return
    hosted = cost["self_hosted"]
    same(hosted["cost_per_hour"], row["price_per_hour"], "price_per_hour")
    if row["tokens_per_s_total_mid"] is None:
        return
    same(hosted["cost_per_mtok_output"], row["cost_per_mtok_output_mid"], "cost_per_mtok_output")
    columns = {"cost_per_hour": "electricity_per_hour", "cost_per_mtok_output": "electricity_per_mtok_output"}
    for name, column in columns.items():
        same((hosted["electricity"] or {}).get(name), row[column], column)
