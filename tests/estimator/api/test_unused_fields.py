"""No field is silently ignored: given another value it changes the answer, is refused, or a warning names it.

Each estimate is asked once, and once more for every change of one field. `inputs` and `provenance` only repeat what was
asked, so they do not count as a change.
"""

import copy

import orjson
import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
GPU, OTHER_GPU, MODEL = "h100-sxm5-80gb", "l40s", "llama-3.1-8b"
SLO = {"ttft_s": 1, "tpot_s": 0.05, "e2e_s": 10}
# Values far enough away to matter: memory is made short where it would not bind.
PLAN = {
    "engine": "sglang-0.5",
    "gpu": OTHER_GPU,
    "parallelism": {"tp": 2},
    "precision": {"weights": "fp8"},
    "precision.kv_cache": "fp8",
    "precision.attention_weights": "fp8",
    "precision.expert_weights": "fp8",
    "memory": {"utilization": 0.15},
    "memory.runtime_overhead_bytes": 80e9,
    "memory.max_batched_tokens": 256,
    "memory.max_num_seqs": 4,
    "memory.kv_cache_tokens_observed": 500,
    "slo": {"ttft_s": 0.001, "percentile": 99},
    "speculative": {"acceptance_rate": 0.7, "draft_tokens": 4, "draft_cost_ratio": 0.1},
    "lora": {"max_loras": 64, "max_rank": 256},
    "mtp_layers_loaded": 1,
    "power": {"pue": 1.5, "price_per_kwh": "0.3", "currency": "USD"},
    "workload.input_tokens": 3000,
    "workload.output_tokens": 900,
    "workload.context_tokens": 7000,
    "workload.concurrency": 64,
    "workload.requests_per_s": 3,
    "workload.burstiness_cv": 3,
    "workload.prefix_cache_hit_rate": 0.5,
    "workload.batch_sizes": [1, 2],
}
MACHINES = {
    "price_per_gpu_hour": "3",
    "currency": "EUR",
    "gpus": 2,
    "billing": "scale_to_zero",
    "load_fraction": 0.5,
    "tokens_per_s_output": 100,
    "allocation": "by_time",
    "output_input_cost_ratio": 4,
}
API = {
    "channel": "batch",
    "endpoint_class": "eu",
    "on": "2020-01-01",
    "at": "2020-01-01T00:00:00Z",
    "usage": {"input_tokens": 5},
    "usage_convention": "inclusive",
    "requests": 5,
}
CACHE = {
    "prefix_tokens": 100,
    "suffix_tokens": 1,
    "output_tokens": 1,
    "variable_part_first": True,
    "ttl_s": 900,
    "shards": 3,
    "horizon_s": 36000,
    "turns": [{"input_tokens": 10, "output_tokens": 10}],
    "policy": {"min_tokens": 30000},
    "policy.hit_quality": 0.5,
    "marks": [{"prefix_tokens": 9000, "ttl_s": 300}],
    "arrivals.kind": "recorded",
    "arrivals.requests_per_hour": 50,
    "arrivals.times_s": [1, 2],
}


def below(prefix, fields):
    return {f"{prefix}.{path}": value for path, value in fields.items()}


LOADS = {
    "closed_loop": {"concurrency": 16},
    "open_loop": {"requests_per_s": 5},
    "offline": {},
    "static_batch": {"concurrency": 16},
    "single_stream": {},
    "decode_step": {"context_tokens": 500, "concurrency": 4},
}
LENGTHS = {"input_tokens": 1000, "output_tokens": 200}
FULL = {"memory": {"utilization": 0.28}}
HELD = {"price_per_gpu_hour": "2", "currency": "USD"}
PRICE = {"currency": "USD", "meters": {"input": "3", "output": "15", "cache_read": "0.3", "cache_write_5m": "3.75"}}
USED = {"input_tokens": 1000, "cache_read_tokens": 9}
MONTH = {"requests": 1_000_000, "input_tokens": 1000, "output_tokens": 400, "cached_fraction": 0.5}
PLANNED = {"model": MODEL, "gpu": GPU}
SHORT = HELD | PLANNED | FULL
PROMPT = {"prefix_tokens": 20000, "suffix_tokens": 1000, "output_tokens": 500}
TURNS = [{"input_tokens": 300, "output_tokens": 400}] * 4
RECORD = {"kind": "recorded", "times_s": [0, 100, 200, 5000]}
SIZING = {
    "model": MODEL,
    "workload": LENGTHS,
    "candidates": {"gpus": [GPU, OTHER_GPU], "tp": [1, 2, 4]},
    "slo": SLO,
}
SIZED = {
    "demand.think_time_s": 20,
    "demand.requests_per_s_mean": 1,
    "demand.burstiness_cv": 4,
    "demand.headroom": 0.9,
    "candidates.precisions": ["fp8"],
    "candidates.kv_cache": "fp8",
    "objective": "max_goodput_per_gpu",
    "gpus_per_node": 2,
    "budget": {"gpus": 1},
    "prices": {"b200-sxm-192gb": {"price_per_gpu_hour": "2.5", "currency": "USD"}},
    **{path: value for path, value in PLAN.items() if path.split(".")[0] in ("engine", "memory", "workload", "slo")},
}
HOSTED_FIELDS = below("self_hosted", PLAN | MACHINES)
CASES = {
    "memory": ("memory-fit", PLANNED | {"workload": LENGTHS | LOADS["closed_loop"]}, PLAN),
    **{
        mode: ("throughput", PLANNED | FULL | {"workload": LENGTHS | load | {"mode": mode}, "slo": SLO}, PLAN)
        for mode, load in LOADS.items()
    },
    **{
        f"cost of {mode}": (
            "cost", {"self_hosted": SHORT | {"workload": LENGTHS | load | {"mode": mode}}}, HOSTED_FIELDS
        )
        for mode, load in LOADS.items()
        if mode != "decode_step"
    },
    "cost of a rate": ("cost", {"self_hosted": HELD | {"tokens_per_s_output": 700}}, HOSTED_FIELDS),
    "cost of a rate and a plan": (
        "cost", {"self_hosted": HELD | PLANNED | {"tokens_per_s_output": 700, "workload": LENGTHS}}, HOSTED_FIELDS
    ),
    "bill": ("cost", {"api": {"price": PRICE, "usage": USED}}, below("api", API)),
    "cache": ("prompt-cache", PROMPT | {"api": {"price": PRICE}, "arrivals": {"requests_per_hour": 6}},
              CACHE | below("api", API)),
    "cache of a record": ("prompt-cache", PROMPT | {"api": {"price": PRICE}, "arrivals": RECORD},
                          CACHE | below("api", API)),
    "conversation": ("prompt-cache", {"prefix_tokens": 20000, "api": {"price": PRICE}, "turns": TURNS,
                                      "arrivals": {"requests_per_hour": 6}}, CACHE | below("api", API)),
    "engine's cache": (
        "prompt-cache", PROMPT | {"self_hosted": PLANNED | FULL | {"workload": LOADS["closed_loop"]}},
        CACHE | below("self_hosted", PLAN | {"hit_rate": 0.5}),
    ),
    "sizing by concurrency": ("sizing", SIZING | {"demand": {"concurrency": 5000}},
                              SIZED | {"demand.concurrency": 9000}),
    "sizing by users": ("sizing", SIZING | {"demand": {"users": 5000, "think_time_s": 5}},
                        SIZED | {"demand.users": 9000}),
    "sizing by rate": ("sizing", SIZING | {"demand": {"requests_per_s_peak": 90}},
                       SIZED | {"demand.requests_per_s_peak": 200}),
    "break-even of a rate": (
        "break-even",
        {"self_hosted": HELD | {"tokens_per_s_output": 2500}, "api": {"price": PRICE}, "monthly": MONTH},
        HOSTED_FIELDS | below("api", API) | below("monthly", dict.fromkeys(("requests", "input_tokens"), 5)),
    ),
    "break-even of a plan": (
        "break-even", {"self_hosted": HELD | PLANNED, "api": {"price": PRICE}, "monthly": MONTH},
        HOSTED_FIELDS | below("api", API),
    ),
}  # fmt: skip
# What the figures of a load really do not depend on, by case, path and why.
NO_DIFFERENCE = {
    ("cost of single_stream", "self_hosted.memory.max_num_seqs"): "one request is in flight",
    ("cost of single_stream", "self_hosted.memory.max_batched_tokens"): "one prompt is no batch",
}


def changed(body, path, value):
    body = copy.deepcopy(body)
    *parents, name = path.split(".")
    part = body
    for parent in parents:
        part = part.setdefault(parent, {})
    if part.get(name) == value:
        return None
    part[name] = value
    return body


@pytest.mark.parametrize("case", CASES)
def test_every_field_changes_the_answer_is_refused_or_is_named_in_a_warning(client, case):
    slug, body, fields = CASES[case]

    def ask(asked):
        response = client.post(f"/api/v1/estimates/{slug}/", orjson.dumps(asked), content_type="application/json")
        answer = response.json()
        for name in ("inputs", "provenance"):
            answer.pop(name, None)
        return response.status_code, answer

    status, plain = ask(body)
    assert status == 200, plain
    silent = []
    for path, value in fields.items():
        other = changed(body, path, value)
        if other is None or (case, path) in NO_DIFFERENCE:
            continue
        status, answer = ask(other)
        assert status in (200, 400, 422), (path, answer)
        if answer == plain and not any(path in text for text in plain["warnings"]):
            silent.append(path)
    assert silent == []
