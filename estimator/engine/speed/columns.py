"""What the columns of a sweep are called.

Columns of `Sweep.evaluate` (float64 unless said otherwise, NaN where a figure is not said):

| column | unit | meaning |
|---|---|---|
| `ttft_s_low/mid/high/ceiling`, `tpot_s_…`, `e2e_s_…` | s | times; open loop: mean TTFT; no TPOT of one token |
| `tokens_per_s_per_user_…`, `…_total_…`, `…_per_gpu_…`, `requests_per_s_…` | 1/s | rates; low is the slow end |
| `max_sequences` | sequences | most that run at once: what the cache holds of running ones, and the engine's limit |
| `full_length_sequences` | sequences | what the cache holds when each has its whole answer in it (memory fit) |
| `effective_concurrency`, `decoding_sequences` | sequences | inside the engine; decoding at a time |
| `prefill_s`, `step_s` | s | one prompt alone; one decode step |
| `step_memory_bandwidth_s`, `step_compute_s`, `step_interconnect_s`, `step_overhead_s` | s | parts of a step; add up |
| `step_cache_s` | s | reading the KV cache, inside memory bandwidth |
| `ttft_s_p50/p90/p95/p99` | s | percentiles over requests; closed and open loop |
| `ttft_outside_s`, `ttft_waiting_s`, `ttft_forward_s` | s | mean TTFT: client and server; waits; own passes |
| `watts_per_gpu_low/mid/high`, `joules_per_token_…`, `joules_per_request_…` | W, J | power and energy |
| `utilization`, `max_stable_requests_per_s` | 1, 1/s | open loop only |
| `saturated` | bool | more concurrency asked for than admitted |
| `binding_term`, `reason` | int8 | codes of `codes.Binding` and `codes.Reason` |
"""

from estimator.engine.serving.queue_table import PERCENTILES
from estimator.figures.energy import ENERGY_COLUMNS
from estimator.figures.speed import CEILING_COLUMNS, EXPECTED_COLUMNS

GAP_COLUMNS = tuple(
    f"{name}_{side}" for name in ("tpot_s", "tokens_per_s_per_user") for side in ("low", "mid", "high", "ceiling")
)
STATE_COLUMNS = (
    "effective_concurrency",
    "decoding_sequences",
    "prefill_s",
    "step_s",
    "step_memory_bandwidth_s",
    "step_compute_s",
    "step_interconnect_s",
    "step_overhead_s",
    "step_cache_s",
    "ttft_outside_s",
    "ttft_waiting_s",
    "ttft_forward_s",
)
OPEN_COLUMNS = (
    *(f"ttft_s_p{percentile}" for percentile in PERCENTILES),
    "utilization",
    "max_stable_requests_per_s",
)
CAPACITY_COLUMNS = ("max_sequences", "full_length_sequences")
# What a slower clock makes longer, and smaller.
TIME_COLUMNS = (
    *(name for name in EXPECTED_COLUMNS if "_s_" in name and "per_s" not in name),
    *(name for name in STATE_COLUMNS if name.endswith("_s")),
    *(name for name in OPEN_COLUMNS if name.startswith("ttft_s")),
)
RATE_COLUMNS = tuple(name for name in EXPECTED_COLUMNS if "per_s" in name)
FLOAT_COLUMNS = (
    *EXPECTED_COLUMNS, *CEILING_COLUMNS, *STATE_COLUMNS, *ENERGY_COLUMNS, *CAPACITY_COLUMNS, *OPEN_COLUMNS,
)  # fmt: skip
