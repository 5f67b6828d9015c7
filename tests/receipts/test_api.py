"""Predict, measure, calibrate: the way of a person through the API."""

import json
import re
import uuid

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from config.access.models import User
from receipts.models import Calibration, Measurement, Prediction
from receipts.services.keeping import hash_of
from tests.receipts.conftest import SETTING, bench, program
from tests.receipts.files import text_of

pytestmark = pytest.mark.django_db


def load(concurrency, **more):
    traffic = {"kind": "benchmark", "requests": 10 * concurrency}
    return {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 200, "concurrency": concurrency,
            "traffic": traffic, **more}  # fmt: skip


@pytest.fixture
def said(call):
    """What the estimate says at a concurrency: the middles of first token and step."""

    def at(concurrency, query="", **more):
        answer = call("POST", f"estimates/throughput/{query}", SETTING | {"workload": load(concurrency)} | more)
        return {name: answer["expected"][name]["mid"] for name in ("ttft_s", "tpot_s")} | {"answer": answer}

    return at


@pytest.fixture
def measure(call, said):
    """Keeps a run that took `slower` times as long as said."""

    def keep(concurrency, slower, **more):
        text = bench(said(concurrency), concurrency=concurrency, slower=slower)
        return call("POST", "measurements/", SETTING | {"text": text} | more, status=201)

    return keep


def test_a_file_is_read_and_held_against_the_estimate(call, said):
    text = bench(said(16), concurrency=16, slower=1.2)
    answer = call("POST", "measurements/check/", SETTING | {"text": text})
    assert answer["read"]["format"] == "vllm-bench-serve"
    run = answer["runs"][0]
    by = {figure["name"]: figure for figure in run["figures"]}
    assert by["tpot_s"]["ratio"] == pytest.approx(1.2, rel=1e-6)
    assert by["ttft_s"]["ratio"] == pytest.approx(1.2, rel=1e-6)
    assert by["tpot_s"]["low"] < by["tpot_s"]["said"] < by["tpot_s"]["high"]
    assert by["tpot_s"]["ceiling"] < by["tpot_s"]["said"]
    parts = {part["part"]: part for part in run["where"]}
    assert parts["step"]["seconds"] == pytest.approx(199 * 0.2 * by["tpot_s"]["said"], rel=1e-4)
    assert sum(part["share"] for part in run["where"]) == pytest.approx(1.0, abs=0.05)
    assert Measurement.objects.count() == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"gpu": "b200-sxm-180gb", "text": "gpu"}, "another_gpu"),
        ({"output_tokens": 400}, "lengths_do_not_match"),
        ({"input_tokens": 100}, "lengths_do_not_match"),
    ],
)  # fmt: skip
def test_what_is_not_what_was_stated_is_refused(call, said, more, words):
    text = bench(said(16), concurrency=16)
    if more.get("text") == "gpu":
        text = json.dumps({
            "engine": {"model": "meta-llama/Llama-3.1-8B-Instruct", "version": "1.0"},
            "machine": {"name": "NVIDIA H100 80GB HBM3"}, "world_info": {"tp_size": 1, "world_size": 1},
            "request_info": {"num_requests": 100, "avg_input_length": 1000, "avg_output_length": 100},
            "performance": {"total_latency_ms": 10000.0, "request_throughput_req_s": 10.0},
        })  # fmt: skip
        more = {"gpu": "b200-sxm-180gb", "engine": "trtllm-bench"}
    problem = call("POST", "measurements/check/", SETTING | {"text": text} | more, status=400)
    assert words in problem["errors"][0]["detail"]


@pytest.mark.parametrize("figure", ["mean_tpot_ms", "mean_ttft_ms"])
def test_a_run_faster_than_physics_is_refused_with_the_ceiling(call, said, figure):
    fast = said(16)
    fast[figure.split("_")[1] + "_s"] /= 1000
    problem = call("POST", "measurements/check/", SETTING | {"text": bench(fast, concurrency=16)}, status=400)
    assert any("above_ceiling" in error["detail"] and figure in error["detail"] for error in problem["errors"])


@pytest.mark.parametrize("written", ["NaN", "Infinity", "1e999", "1e308", "5e-324", '"NaN"', '"1e999"'])
def test_a_number_that_no_run_has_is_refused_or_left_and_nothing_breaks(call, said, written):
    plain = bench(said(16), concurrency=16)
    file = json.loads(plain)
    # Without counts over time nothing but the number itself can be strange.
    short = json.dumps({name: file[name] for name in ("model_id", "max_concurrency", "completed", "mean_ttft_ms",
                                                      "mean_tpot_ms", "output_throughput", "num_prompts")})  # fmt: skip
    for text in (plain, short):
        for name in (*json.loads(text), "burstiness", "max_num_seqs", "gpu_memory_utilization", "request_rate"):
            held = json.dumps(json.loads(text) | {name: "HERE"}).replace('"HERE"', written)
            receipt = SETTING | {"text": held}
            kept = call("POST", "measurements/", receipt, status=None)
            assert kept.status_code in (201, 400), (name, kept.content[:500])
            if kept.status_code == 400:
                assert {one["pointer"].split("/")[1] for one in kept.json()["errors"]} <= {"text", *SETTING}, name


def test_what_neither_file_nor_request_says_is_asked_for(call):
    problem = call("POST", "measurements/check/", {"text": text_of("vllm-0.6-llama-3.1-8b-fp8.json")}, status=400)
    assert {error["pointer"] for error in problem["errors"]} >= {"#/gpu", "#/engine"}


def test_a_start_up_log_stands_beside_the_ledger(call):
    log = text_of("startup-vllm-0.19-qwen3.5.log")
    answer = call("POST", "measurements/check/", SETTING | {"text": log})
    by = {figure["name"]: figure for figure in answer["runs"][0]["figures"]}
    assert by["kv_cache_bytes"]["measured"] == pytest.approx(6.9 * 2**30)
    assert by["kv_cache_bytes"]["said"] > 0
    assert by["kv_cache_bytes"]["inside_band"] is False
    assert answer["runs"][0]["where"][0]["part"] == "cache"


def test_the_card_of_a_llama_bench_is_found_and_each_test_is_said(call):
    body = {"text": text_of("llama-bench-qwen2.5-7b.json"), "model": "qwen2.5-7b-instruct", "engine": "llama.cpp",
            "precision": {"weights": "q4_k_m"}}  # fmt: skip
    answer = call("POST", "measurements/check/", body)
    assert answer["setting"]["gpu"] == "rtx-4080"
    prefill, decode = (run["figures"][0] for run in answer["runs"])
    assert prefill["name"] == "prefill_tokens_per_s"
    assert 0.4 < prefill["ratio"] < 2.5
    assert 0.5 < decode["ratio"] < 1.5


def test_a_prediction_is_hashed_and_dated_and_answered_by_a_measurement(call, said):
    body = SETTING | {"workload": load(16)}
    kept = call("POST", "predictions/", {"estimate": "throughput", "body": body, "name": "before"}, status=201)
    row = Prediction.objects.get(pk=kept["id"])
    assert kept["sha256"] == row.sha256 == hash_of(row)
    assert kept["figures"]["tpot_s"]["mid"] == said(16)["tpot_s"]
    text = bench(said(16), concurrency=16, slower=1.1)
    more = {"text": text, "prediction": kept["id"], "public": True}
    measured = call("POST", "measurements/", SETTING | more, status=201)
    assert measured["predicted_before"] is True
    by = {figure["name"]: figure for figure in measured["runs"][0]["predicted"]}
    assert by["tpot_s"]["ratio"] == pytest.approx(1.1, rel=1e-6)
    assert by["tpot_s"]["inside_band"] is True
    assert call("GET", f"predictions/{kept['id']}/")["measurements"] == [measured["id"]]


def test_a_list_asks_the_database_as_often_for_many_rows_as_for_one(call, said, measure, client):
    body = SETTING | {"workload": load(16)}
    kept = call("POST", "predictions/", {"estimate": "throughput", "body": body, "public": True}, status=201)
    measured = measure(16, 1.1, prediction=kept["id"], public=True)
    row = Measurement.objects.get(pk=measured["id"])
    Calibration.objects.create(owner=row.owner, name="rack", scope=row.scope, metrics=[], points=[], gains={})
    Calibration.objects.get().measurements.set([row])
    lists = [f"/api/v1/{name}/" for name in ("predictions", "measurements", "calibrations")]
    reader = program(row.owner)

    def asked(address):
        with CaptureQueriesContext(connection) as queries:
            answer = (client if address == "/receipts/" else reader).get(address)
        assert answer.status_code == 200
        return len(queries), answer

    # The first use of the token is written, the second reads it anew; then it is kept.
    # So are the names of the catalog.
    asked(lists[0]), asked(lists[0]), asked("/receipts/")
    once = {address: asked(address)[0] for address in (*lists, "/receipts/")}
    for model in (Prediction, Measurement, Calibration):
        for _ in range(3):
            more = model.objects.order_by("created_at")[0]
            more.pk, more._state.adding = uuid.uuid4(), True
            more.save(force_insert=True)
            if model is Calibration:
                more.measurements.set([row])
    for address, count in once.items():
        again, answer = asked(address)
        assert again == count, address
        assert address == "/receipts/" or answer.json()["count"] == 4
    by = {one["id"]: one["measurements"] for one in reader.get(lists[0]).json()["results"]}
    assert [len(by.pop(kept["id"])), *map(len, by.values())] == [4, 0, 0, 0]
    assert [one["measurements"] for one in reader.get(lists[2]).json()["results"]] == [[measured["id"]]] * 4
    # Another sees a public prediction without the measurements that are not theirs to read.
    other = User.objects.create_user("other", password="x")
    assert len(call("GET", f"predictions/{kept['id']}/", by=other)["measurements"]) == 4
    measure(16, 1.2, prediction=kept["id"])
    assert len(call("GET", f"predictions/{kept['id']}/", by=other)["measurements"]) == 4
    assert len(call("GET", f"predictions/{kept['id']}/")["measurements"]) == 5


def test_public_measurements_stand_on_the_page_and_others_do_not(call, measure, client):
    measure(16, 1.5, public=True)
    measure(32, 1.25)
    shown = " ".join(re.sub(r"<[^>]+>", " ", client.get("/receipts/").content.decode()).split())
    assert "Each further token" in shown
    assert "16 users at once, 1,000 in, 200 out" in shown
    assert "32 users" not in shown
    # 1.5 times as long as said: said is a third below measured.
    assert "33 % +50 %" in shown
    assert "+25 %" not in shown
    assert "mira" not in shown


def test_the_page_says_that_nothing_is_public_yet(call, measure, client):
    measure(16, 1.5)
    assert "Nobody made a measurement public yet." in client.get("/receipts/").content.decode()


@pytest.mark.parametrize("kind", ["predictions", "measurements"])
def test_what_was_kept_never_changes(call, measure, kind):
    if kind == "predictions":
        kept = call(
            "POST", "predictions/", {"estimate": "throughput", "body": SETTING | {"workload": load(4)}}, status=201
        )
    else:
        kept = measure(16, 1.0)
    for method in ("PUT", "PATCH", "DELETE"):
        call(method, f"{kind}/{kept['id']}/", {}, status=409)
    model = {"predictions": Prediction, "measurements": Measurement}[kind]
    for change in (lambda: model.objects.update(name="other"), lambda: model.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    assert model.objects.get().name != "other"


def test_a_kept_measurement_holds_no_text_of_the_file(call, said):
    result = json.loads(bench(said(16), concurrency=16)) | {"generated_texts": ["a secret"]}
    kept = call("POST", "measurements/", SETTING | {"text": json.dumps(result)}, status=201)
    row = Measurement.objects.get(pk=kept["id"])
    assert "a secret" not in json.dumps([row.read, row.runs, row.stated, kept])


def test_a_calibration_of_three_runs_moves_the_answers_of_its_setting_alone(call, said, measure):
    before = {count: said(count) for count in (8, 32)}
    ids = [measure(count, 1.25)["id"] for count in (4, 16, 64)]
    made = call("POST", "calibrations/", {"name": "my rack", "measurements": ids}, status=201)
    assert made["gains"]["tpot_s"]["after"] < made["gains"]["tpot_s"]["before"]
    assert "tpot_s" in made["metrics"]
    assert made["invalid"] is None
    for count in (8, 32):
        after = said(count)
        assert 1.1 < after["tpot_s"] / before[count]["tpot_s"] < 1.26
        assert any("my rack" in text for text in after["answer"]["assumptions"])
        expected = after["answer"]["expected"]
        whole = expected["ttft_s"]["mid"] + 199 * expected["tpot_s"]["mid"]
        assert expected["e2e_s"]["mid"] == pytest.approx(whole, rel=1e-6)
        assert expected["tokens_per_s_total"]["mid"] == pytest.approx(count * 200 / whole, rel=1e-6)
    assert said(8, "?calibrated=false")["tpot_s"] == before[8]["tpot_s"]
    for other in ({"parallelism": {"tp": 2}}, {"precision": {"weights": "fp8"}}, {"engine": "vllm-0.12"},
                  {"engine_settings": {"max_num_batched_tokens": 4096}}, {"memory": {"max_num_batched_tokens": 4096}},
                  {"memory": {"enforce_eager": True}}, {"power_cap_w": 300},
                  {"lora": {"max_loras": 2, "max_rank": 16}},
                  {"workload": load(8, prefix_cache_hit_rate=0.5)}):  # fmt: skip
        assert not any("my rack" in text for text in said(8, **other)["answer"]["assumptions"])


def test_runs_whose_prompts_were_in_a_cache_calibrate_nothing(call, said):
    load = {"workload": {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 200, "concurrency": 16,
                         "prefix_cache_hit_rate": 0.9, "traffic": {"kind": "benchmark", "requests": 160}}}  # fmt: skip
    text = bench(said(16, **load), concurrency=16, slower=1.2)
    kept = call("POST", "measurements/", SETTING | {"text": text, "prefix_cache_hit_rate": 0.9}, status=201)
    assert [run["can_calibrate"] for run in kept["runs"]] == [False]


@pytest.mark.parametrize(
    ("change", "word"), [({"model": "llama-3.3-70b"}, "model"), ({"gpu": "h200-sxm-141gb"}, "gpu"),
                         ({"parallelism": {"tp": 2}}, "tp")],
)  # fmt: skip
def test_a_file_answers_no_prediction_of_another_setting(call, said, change, word):
    body = SETTING | {"workload": load(16)} | change
    kept = call("POST", "predictions/", {"estimate": "throughput", "body": body, "name": "other"}, status=201)
    text = bench(said(16), concurrency=16)
    refused = call("POST", "measurements/", SETTING | {"text": text, "prediction": kept["id"]}, status=400)
    (fault,) = refused["errors"]
    assert fault["pointer"] == "#/prediction"
    assert f"its {word} is" in fault["detail"]


def test_a_calibration_is_its_owners_until_an_editor_shares_it(call, said, measure, django_user_model):
    other = User.objects.create_user("other", password="x")
    editor = User.objects.create_superuser("editor", password="x")
    before = said(8)["tpot_s"]
    ids = [measure(count, 1.25)["id"] for count in (4, 16, 64)]
    made = call("POST", "calibrations/", {"name": "rack", "measurements": ids}, status=201)
    body, address = SETTING | {"workload": load(8)}, f"calibrations/{made['id']}/"

    def seen(by=None):
        return call("POST", "estimates/throughput/", body, by=by)["expected"]["tpot_s"]["mid"]

    assert seen() > before
    assert seen(other) == before
    call("GET", address, by=other, status=404)
    call("POST", address + "share/", {"shared": True}, by=other, status=403)
    call("POST", address + "share/", {"shared": True}, status=403)
    call("POST", address + "share/", {"shared": True}, by=editor)
    assert seen(other) == seen() > before
    call("PATCH", address, {"enabled": False}, by=other, status=403)
    call("PATCH", address, {"enabled": False})
    assert seen(other) == seen() == before


def test_runs_that_say_no_gain_calibrate_nothing(call, measure):
    ids = [measure(count, slower)["id"] for count, slower in ((4, 1.3), (16, 0.97), (64, 1.35))]
    left = [measure(32, 1.0)["id"], measure(8, 1.0)["id"]]
    problem = call("POST", "calibrations/", {"name": "n", "measurements": ids, "left_out": left}, status=400)
    assert "no figure gets better" in problem["errors"][0]["detail"]


def test_two_runs_are_too_few_and_two_settings_are_one_too_many(call, said, measure):
    ids = [measure(count, 1.2)["id"] for count in (4, 16)]
    assert (
        "3 runs" in call("POST", "calibrations/", {"name": "n", "measurements": ids}, status=400)["errors"][0]["detail"]
    )
    other = measure(8, 1.2, parallelism={"tp": 2})["id"]
    problem = call("POST", "calibrations/", {"name": "n", "measurements": [*ids, other]}, status=400)
    assert "parallelism" in problem["errors"][0]["detail"]


def test_a_calibration_ends_by_itself_when_the_gpu_is_another(call, said, measure):
    from catalog.models import Gpu

    before = said(8)["tpot_s"]
    ids = [measure(count, 1.25)["id"] for count in (4, 16, 64)]
    made = call("POST", "calibrations/", {"name": "rack", "measurements": ids}, status=201)
    gpu = Gpu.objects.get(slug=SETTING["gpu"])
    gpu.memory_bandwidth_bytes_per_s = int(gpu.memory_bandwidth_bytes_per_s * 1.2)
    gpu.save()
    assert said(8)["tpot_s"] < before
    assert "gpu_figures" in call("GET", f"calibrations/{made['id']}/")["invalid"]


def test_only_the_scopes_of_a_token_open_the_doors(person):
    reader, estimator = program(person, "read"), program(person, "estimate")
    body = {"data": json.dumps(SETTING | {"text": "x"}), "content_type": "application/json"}
    assert reader.get("/api/v1/measurements/").status_code == 200
    assert reader.post("/api/v1/measurements/", **body).status_code == 403
    assert estimator.post("/api/v1/measurements/check/", **body).status_code == 400
    assert estimator.post("/api/v1/measurements/", **body).status_code == 403
