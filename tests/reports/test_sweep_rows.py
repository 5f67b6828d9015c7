"""Rows of a sweep: equal to the endpoints, independent of how they are cut, honest about what has no figures."""

import numpy as np
import orjson
import pytest

from estimator.estimates.sweep import compute as sweeps
from estimator.estimates.sweep.columns import COLUMNS, TextValues
from estimator.estimates.sweep.costs import rounded
from estimator.resolvers.live import current_facts
from reports.api import examples, schemas

pytestmark = pytest.mark.django_db


def sweep_of(**changes):
    body = schemas.Sweep.model_validate_json(orjson.dumps(examples.SWEEP | changes))
    definition = schemas.plain(body)
    snapshot = orjson.loads(orjson.dumps(sweeps.snapshot_of(definition, current_facts())))
    return sweeps.load({"sweep": definition, "slo": None}, snapshot)


def values(rows, name):
    column = rows[name]
    if isinstance(column, TextValues):
        return [None if code < 0 else column.labels[code] for code in column.codes]
    return [None if number != number else float(number) for number in np.asarray(column, dtype=float)]


GRID = {
    "models": ["llama-3.1-8b", "mixtral-8x7b-v0.1"],
    "gpus": ["h100-sxm5-80gb", "a100-sxm4-80gb"],
    "engines": ["vllm", "ideal"],
    "precisions": [{"weights": "bf16"}, {"weights": "fp8", "kv_cache": "fp8"}],
    "parallelism": [{"tp": 1}, {"tp": 2}],
    "batch_sizes": [1, 16, 256],
}


def test_weights_left_out_are_those_of_each_model(loaded_catalog):
    """A mixed sweep calls them own; where all models agree the label is the format itself."""
    mixed = sweep_of(models=["llama-3.1-8b", "gpt-oss-20b"], precisions=[{"kv_cache": "bf16"}], batch_sizes=[8])
    rows = mixed.rows(0, mixed.total_rows)
    assert set(values(rows, "precision")) == {"own/bf16"}
    for model, weights in (("llama-3.1-8b", "bf16"), ("gpt-oss-20b", "mxfp4")):
        alone = sweep_of(models=[model], precisions=[{"kv_cache": "bf16"}], batch_sizes=[8])
        named = sweep_of(models=[model], precisions=[{"weights": weights, "kv_cache": "bf16"}], batch_sizes=[8])
        one, other = (sweep.rows(0, sweep.total_rows) for sweep in (alone, named))
        assert set(values(one, "precision")) == {f"{weights}/bf16"}
        held = [
            value
            for value, name in zip(values(rows, "weights_bytes"), values(rows, "model"), strict=True)
            if name == model
        ]
        assert values(one, "weights_bytes") == values(other, "weights_bytes") == held


@pytest.fixture(scope="module")
def grid_rows(loaded_catalog):
    sweep = sweep_of(**GRID)
    return sweep, sweep.rows(0, sweep.total_rows)


def test_every_row_equals_the_answers_of_the_endpoints(api, ana, grid_rows):
    sweep, rows = grid_rows
    client = api(ana)
    columns = {column.name: values(rows, column.name) for column in COLUMNS if column.name in rows}
    for number in range(0, sweep.total_rows, 7):
        row = {name: column[number] for name, column in columns.items()}
        weights, kv_cache = row["precision"].split("/")
        body = {
            "model": row["model"],
            "gpu": row["gpu"],
            "engine": row["engine"],
            "precision": {"weights": weights, "kv_cache": kv_cache},
            "parallelism": {"tp": int(row["tp"])},
            "workload": {
                "input_tokens": int(row["input_tokens"]),
                "output_tokens": int(row["output_tokens"]),
                "concurrency": int(row["batch_size"]),
            },
        }
        fit = client.post("/api/v1/estimates/memory-fit/", body).json()
        for name in ("memory_bytes", "weights_bytes", "activation_bytes", "kv_cache_bytes", "slack_bytes"):
            assert row[name] == pytest.approx(fit["per_gpu"][name], rel=1e-9, abs=2), (name, body)
        assert bool(row["fits"]) is fit["feasible"], body
        assert row["full_length_sequences"] == fit["kv_cache"]["max_sequences"], body
        speed = client.post("/api/v1/estimates/throughput/", body).json()
        for name in ("max_sequences", "full_length_sequences"):
            assert row[name] == speed["concurrency"][name], (name, body)
        for name in ("tpot_s", "tokens_per_s_total", "ttft_s"):
            expected = speed["expected"][name]
            for side in ("low", "mid", "high"):
                told = expected[side] if expected else None
                assert row[f"{name}_{side}"] == (told if told is None else pytest.approx(told, rel=1e-12)), (name, body)


def test_rows_do_not_depend_on_how_they_are_cut(grid_rows):
    sweep, whole = grid_rows
    pieces = [sweep.rows(first, 5) for first in range(0, sweep.total_rows, 5)]
    for column in COLUMNS:
        joined = [value for piece in pieces for value in values(piece, column.name)]
        assert joined == values(whole, column.name), column.name


def test_the_ledger_of_every_row_adds_up(grid_rows):
    _sweep, rows = grid_rows
    parts = (
        "unmanaged_bytes",
        "weights_bytes",
        "runtime_overhead_bytes",
        "activation_bytes",
        "cuda_graph_bytes",
        "kv_cache_bytes",
        "slack_bytes",
    )
    total = sum(np.asarray(rows[name], dtype=float) for name in parts)
    assert np.allclose(total, np.asarray(rows["memory_bytes"], dtype=float), atol=8)


def test_nothing_is_faster_than_the_ceiling_and_bands_are_ordered(grid_rows):
    _sweep, rows = grid_rows
    for name in ("ttft_s", "tpot_s"):
        low, mid, high, ceiling = (np.asarray(rows[f"{name}_{s}"]) for s in ("low", "mid", "high", "ceiling"))
        said = ~np.isnan(mid)
        assert np.all(low[said] <= mid[said])
        assert np.all(mid[said] <= high[said])
        assert np.all(low[said] >= ceiling[said] * (1 - 1e-9))


def test_a_setting_that_does_not_go_together_is_a_row_with_its_reason(loaded_catalog):
    sweep = sweep_of(models=["llama-3.1-8b", "mixtral-8x7b-v0.1"], parallelism=[{"tp": 1}, {"tp": 2, "ep": 2}])
    rows = sweep.rows(0, sweep.total_rows)
    found = dict(zip(zip(values(rows, "model"), values(rows, "parallelism"), strict=True),
                     zip(values(rows, "status"), values(rows, "reason"), strict=True), strict=True))  # fmt: skip
    status, reason = found["llama-3.1-8b", "tp2-pp1-ep2-dp1"]
    assert status == "unsupported"
    assert "experts" in reason
    assert found["mixtral-8x7b-v0.1", "tp2-pp1-ep2-dp1"][0] == "ok"


def test_what_does_not_fit_has_no_figures_and_says_what_binds(loaded_catalog):
    sweep = sweep_of(models=["llama-3.1-405b"], batch_sizes=[1])
    rows = sweep.rows(0, 1)
    assert values(rows, "status") == ["does_not_fit"]
    assert values(rows, "binding_term") == ["weights"]
    assert values(rows, "tpot_s_mid") == [None]
    assert values(rows, "slack_bytes")[0] < 0


def test_no_column_holds_infinity(grid_rows):
    _sweep, rows = grid_rows
    for name, column in rows.items():
        if not isinstance(column, TextValues):
            assert not np.isinf(np.asarray(column, dtype=float)).any(), name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([4, 1, 4], [1, 4]),
        ({"from": 3, "to": 6, "scale": "linear"}, [3, 4, 5, 6]),
        ({"from": 1, "to": 8, "scale": "powers_of_two"}, [1, 2, 4, 8]),
        ({"from": 3, "to": 20, "scale": "powers_of_two"}, [3, 4, 8, 16, 20]),
        ({"from": 7, "to": 7, "scale": "powers_of_two"}, [7]),
    ],
)
def test_batch_sizes(given, expected):
    asked = schemas.Sweep.stored(examples.SWEEP | {"batch_sizes": given}).batch_sizes
    assert sweeps.batch_sizes_of(asked) == expected


def test_money_is_rounded_to_nine_digits_half_to_even():
    amounts = np.array([2.8370361234567, 0.000218345678951, 123456789.5, 123456788.5, np.nan, 0.0])
    got = rounded(amounts)
    assert list(got[:4]) == [2.83703612, 0.000218345679, 123456790.0, 123456788.0]
    assert np.isnan(got[4])
    assert got[5] == 0
