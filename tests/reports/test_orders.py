"""What a report is ordered with: what is refused, by field, and that an order counts once."""

import json

import pytest

from reports.models import Report
from reports.work import worker
from tests.reports.asking import URL, fault, order
from tests.reports.conftest import SWEEP
from tests.reports.test_sweep_entries import CONFIG

pytestmark = pytest.mark.django_db


def test_the_same_key_orders_once_and_another_body_is_422(api, ana, berta, loaded_catalog):
    client = api(ana)
    first = client.post(URL, order(), HTTP_IDEMPOTENCY_KEY="k-1")
    again = client.post(URL, order(), HTTP_IDEMPOTENCY_KEY="k-1")
    assert first.json() == again.json()
    assert Report.objects.count() == 1
    other = client.post(URL, order(name="other"), HTTP_IDEMPOTENCY_KEY="k-1")
    assert other.status_code == 422
    assert other.json()["type"].endswith("idempotency-key-reused")
    assert api(berta).post(URL, order(name="other"), HTTP_IDEMPOTENCY_KEY="k-1").status_code == 202
    assert client.post(URL, order(), HTTP_IDEMPOTENCY_KEY="k" * 129).status_code == 400


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"models": ["llama-3.1-8c"]}, {("#/sweep/models/0", "unknown_slug")}),
        ({"gpus": ["h100-sxm5-80gb", "h1000"]}, {("#/sweep/gpus/1", "unknown_slug")}),
        ({"engines": ["vllm-9"]}, {("#/sweep/engines/0", "unknown_slug")}),
        ({"parallelism": [{"tp": 1}, {"tp": 3}]}, {("#/sweep/parallelism/1", "not_supported")}),
        (
            {"gpus": ["a100-sxm4-80gb"], "precisions": [{"weights": "fp8", "activations": "fp8"}]},
            {("#/sweep/precisions/0", "not_supported")},
        ),
        ({"batch_sizes": {"from": 8, "to": 4}}, {("#/sweep/batch_sizes/to", "out_of_range")}),
        ({"batch_sizes": [0]}, {("#/sweep/batch_sizes/0", "out_of_range")}),
        ({"batch_sizes": "all"}, {("#/sweep/batch_sizes", "invalid")}),
        ({"batch_sizes": []}, {("#/sweep/batch_sizes", "out_of_range")}),
        ({"models": []}, {("#/sweep/models", "out_of_range")}),
        ({"models": ["llama-3.1-8b", "llama-3.1-8b"]}, {("#/sweep/models/1", "ambiguous")}),
        ({"nothing": 1}, {("#/sweep/nothing", "unknown_field")}),
        (
            {"workloads": [{"input_tokens": -1, "output_tokens": 1}]},
            {("#/sweep/workloads/0/input_tokens", "out_of_range")},
        ),
        (
            {"workloads": [{"input_tokens": 1_000_000, "output_tokens": 1}]},
            {("#/sweep/workloads/0", "out_of_range")},
        ),
    ],
)
def test_a_bad_sweep_is_400_by_field_and_nothing_is_stored(api, ana, loaded_catalog, change, expected):
    answer = api(ana).post(
        URL,
        order(
            sweep=SWEEP | change,
        ),
    )
    assert answer.status_code == 400, answer.json()
    assert fault(answer) >= expected
    assert Report.objects.count() == 0


@pytest.mark.parametrize("length", [10**30, -(2**63) - 1])
def test_a_config_with_a_whole_number_over_64_bits_is_kept_and_computed(api, ana, loaded_catalog, length):
    given = {"config": CONFIG | {"model_max_length": length}, "name": "ours"}
    body = json.dumps(order(sweep=SWEEP | {"models": [given]}))
    address = api(ana).post(URL, body, content_type="application/json").json()["url"]
    worker.run()
    answer = api(ana).get(address).json()
    assert answer["state"] == "complete"
    assert answer["inputs"]["sweep"]["models"][0]["config"]["model_max_length"] == float(length)
    assert api(ana).get(f"{address}download/", {"format": "json"}).status_code == 200


def test_near_matches_are_named(api, ana, loaded_catalog):
    answer = api(ana).post(URL, order(sweep=SWEEP | {"models": ["llama-3.1-8c"]}))
    assert "llama-3.1-8b" in answer.json()["errors"][0]["near"]


def test_names_as_people_write_them_are_stored_as_slugs(api, ana, loaded_catalog):
    sweep = SWEEP | {"models": ["meta-llama/Llama-3.1-8B"], "gpus": ["NVIDIA H100 80GB HBM3"], "engines": ["vLLM 0.19"]}
    assert api(ana).post(URL, order(sweep=sweep, pricing=None)).status_code == 202
    stored = Report.objects.get().versions.get().inputs["sweep"]
    assert (stored["models"], stored["gpus"], stored["engines"]) == (
        ["llama-3.1-8b"],
        ["h100-sxm5-80gb"],
        ["vllm-0.19"],
    )
    twice = api(ana).post(URL, order(sweep=SWEEP | {"models": ["llama-3.1-8b", "Llama 3.1 8B"]}))
    assert fault(twice) == {("#/sweep/models/1", "ambiguous")}


def test_creating_takes_no_parameters(api, ana, loaded_catalog):
    answer = api(ana).post(f"{URL}?dry_run=true", order())
    assert [error["parameter"] for error in answer.json()["errors"]] == ["dry_run"]
    assert Report.objects.count() == 0


def test_a_sweep_over_the_row_limit_is_refused_before_it_costs_anything(api, ana, loaded_catalog):
    batches = {"from": 1, "to": 1_000_000, "scale": "linear"}
    answer = api(ana).post(URL, order(sweep=SWEEP | {"batch_sizes": batches}))
    assert fault(answer) == {("#/sweep", "out_of_range")}
    assert "2000000" in answer.json()["errors"][0]["detail"]


def test_malformed_json_and_nan_are_refused(api, ana):
    for raw in ("{", '{"name": NaN}', "[]"):
        answer = api(ana).post(URL, raw, content_type="application/json")
        assert answer.status_code == 400, raw
    assert Report.objects.count() == 0
