"""What cannot be true is refused with the reason and the place; what is only unusual is not."""

import json

import pytest

from receipts.checks import faults_of
from receipts.reading.recognise import read_receipt
from tests.receipts.doctored import files
from tests.receipts.files import FOLDER, text_of

DOCTORED = files()
# Examples of a form, filled with one number everywhere: no run was like this.
MADE_UP = {"llm-d-report-0.1.yaml", "llm-d-report-0.2.yaml"}


@pytest.mark.parametrize("name", DOCTORED)
def test_a_doctored_file_is_refused_for_what_was_changed(name):
    text, code = DOCTORED[name]
    faults = faults_of(read_receipt(text))
    assert code in [fault.code for fault in faults], faults
    assert all(fault.field and fault.detail for fault in faults)


def test_there_are_more_than_twenty_doctored_files():
    assert len(DOCTORED) > 20


@pytest.mark.parametrize("name", sorted({path.name for path in FOLDER.iterdir()} - {"sources.csv"} - MADE_UP))
def test_no_run_that_was_measured_is_refused(name):
    assert faults_of(read_receipt(text_of(name))) == ()


@pytest.mark.parametrize("name", sorted(MADE_UP))
def test_an_example_of_a_form_that_no_run_could_fill_is_refused(name):
    assert "rate_contradicts_counts" in {fault.code for fault in faults_of(read_receipt(text_of(name)))}


def test_a_run_of_one_token_an_answer_has_no_time_between_two():
    result = json.loads(text_of("vllm-0.25-opt-125m.json"))
    result |= {f"{name}_{what}_ms": 0.0 for name in ("mean", "median", "p99", "std") for what in ("tpot", "itl")}
    result |= {"total_output_tokens": 8, "output_throughput": 8 / result["duration"]}
    result |= {"total_token_throughput": 264 / result["duration"]}
    result |= {name.replace("ttft", "e2el"): value for name, value in result.items() if "_ttft_" in name}
    result |= {"request_throughput": 8 / result["duration"], "max_concurrency": None}
    assert faults_of(read_receipt(json.dumps(result))) == ()
