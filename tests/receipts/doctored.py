"""Files that cannot be true, each made from a public one by one change."""

import json
from collections.abc import Callable
from typing import Any

from tests.receipts.files import text_of

Change = Callable[[Any], Any]


def _set(**values: Any) -> Change:
    return lambda value: value.update(values)


def _in(name: str, **values: Any) -> Change:
    return lambda value: value[name].update(values)


def _drop_requests(value: Any) -> None:
    value.update(completed=8, num_prompts=8, failed=0, max_concurrency=64)


def _scaled(value: Any) -> None:
    """Milliseconds written as seconds."""
    for name in list(value):
        if name.endswith("_tpot_ms"):
            value[name] /= 1000


VLLM, AIPERF = "vllm-0.25-opt-125m.json", "aiperf-0.11-qwen3-4b.json"
JSON = {
    "a negative time": (VLLM, _set(mean_tpot_ms=-8.2), "negative"),
    "a negative count": (VLLM, _set(total_output_tokens=-128), "negative"),
    "no time at all": (VLLM, _set(duration=0), "zero_duration"),
    "a first token at once": (VLLM, _set(mean_ttft_ms=0), "zero"),
    "one of twenty failed": (VLLM, _set(completed=7, failed=1), "failed_requests"),
    "none was completed": (VLLM, _set(completed=0, failed=8), "no_requests"),
    "more came than were sent": (VLLM, _set(num_prompts=4), "more_requests_than_sent"),
    "some are missing": (VLLM, _set(num_prompts=100), "requests_missing"),
    "fewer requests than in flight": (VLLM, _drop_requests, "fewer_requests_than_concurrency"),
    "half a request": (VLLM, _set(completed=7.5, failed=0.5), "not_whole"),
    "p99 below the median": (VLLM, _set(p99_tpot_ms=1.0), "percentiles_out_of_order"),
    "more tokens than were counted": (VLLM, _set(output_throughput=187.5), "rate_contradicts_counts"),
    "more requests than were counted": (VLLM, _set(request_throughput=58.6), "rate_contradicts_counts"),
    "a run ten times as short": (VLLM, _set(duration=0.13653671270003542), "rate_contradicts_counts"),
    "the first token after the last": (VLLM, _set(mean_ttft_ms=900.0), "times_contradict"),
    "seconds written as milliseconds": (AIPERF, _in("inter_token_latency", unit="s"), "times_contradict"),
    "milliseconds written as seconds": (VLLM, _set(mean_e2el_ms=34034.1), "times_contradict"),
    "more in flight than asked": (AIPERF, lambda value: value["input_config"]["phases"][0].update(concurrency=8),
                                  "more_in_flight_than_asked"),
    "concurrency never reached": (AIPERF, lambda value: value["input_config"]["phases"][0].update(concurrency=256),
                                  "load_not_reached"),
    "mean beyond the largest": (AIPERF, _in("time_to_first_token", max=30.0), "percentiles_out_of_order"),
    "p95 below p90": (AIPERF, _in("request_latency", p95=5000.0), "percentiles_out_of_order"),
    "lengths of other requests": (AIPERF, lambda value: value["total_output_tokens"].update(avg=8769870.0),
                                  "lengths_do_not_match"),
    "answers shorter than asked": ("sglang-deepseek-offline.jsonl", _set(random_output_len=1024),
                                   "lengths_do_not_match"),
    "a rate never reached": ("sglang-deepseek-offline.jsonl", _set(request_rate=100.0), "load_not_reached"),
}  # fmt: skip
TEXTS = {
    "a report of more tokens than time allows": ("trtllm-0.17-llama-3.1-8b.txt", "28390.4265", "283904.265",
                                                 "rate_contradicts_counts"),
    "a printed rate below zero": ("trtllm-0.16-llama-3.1-70b.txt", "10.6385", "-10.6385", "negative"),
    "a table with a rate below zero": ("llama-bench-strix-halo.txt", "274.97", "-274.97", "negative"),
    "a log whose cache is larger than its memory": ("startup-trtllm-1.1-tinyllama.log", "max tokens: 39.26",
                                                    "max tokens: 139.26", "contradiction"),
    "a CSV with percentiles in another order": ("genai-perf-dynamo.csv", "27.59,35.60,35.23", "27.59,35.60,36.23",
                                                "percentiles_out_of_order"),
}  # fmt: skip


def files() -> dict[str, tuple[str, str]]:
    """Text and expected code by the name of the fault."""
    found = {}
    for name, (file, change, code) in JSON.items():
        value = json.loads(text_of(file))
        change(value)
        found[name] = (json.dumps(value), code)
    for name, (file, before, after, code) in TEXTS.items():
        text = text_of(file)
        assert before in text, name
        found[name] = (text.replace(before, after, 1), code)
    return found
