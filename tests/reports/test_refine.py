"""A refined sweep finds the largest load within the targets, and nothing else of it changes."""

import numpy as np
import pytest

from estimator.estimates.sweep.loads import of_batches
from estimator.estimates.sweep.refining import with_refined
from reports.models import ReportVersion
from reports.work import worker
from tests.reports.asking import URL, fault
from tests.reports.conftest import SLO, SWEEP
from tests.reports.test_findings import rows_of

LISTED = [1, 4, 16, 64, 256]


@pytest.mark.parametrize("end", [0, 1, 3, 4, 5, 13, 15, 16, 63, 64, 200, 255, 256, 999])
def test_halving_finds_the_last_batch_that_holds(end):
    """By definition: the largest whole number up to `end`, where a larger one of the list misses."""
    asked = []

    def holds(points, batches):
        asked.append(len(batches))
        return (batches <= end).astype(np.int8)

    (found,) = with_refined([of_batches(LISTED)], np.array([0]), [holds])
    missed = any(batch > end for batch in LISTED)
    expected = sorted({*LISTED, end} if missed and end else LISTED)
    assert list(found.batch) == expected
    assert list(found.batch[found.refined]) == ([end] if end not in LISTED and missed and end else [])
    assert len(asked) <= 1 + 8  # the widest gap is 192: at most eight looks


def test_what_is_not_known_is_not_looked_into():
    unknown = lambda points, batches: np.where(batches > 16, 0, -1).astype(np.int8)  # noqa: E731
    (found,) = with_refined([of_batches(LISTED)], np.array([0]), [unknown])
    assert list(found.batch) == LISTED


@pytest.mark.django_db
def test_the_rows_of_a_refined_sweep_are_those_of_the_plain_one_and_the_ends(make_report, ana, api, settings):
    sweep = SWEEP | {"batch_sizes": LISTED}
    plain = rows_of(make_report(ana, sweep=sweep))
    settings.AFORO_SWEEP_CHUNK_ROWS = 5
    version = make_report(ana, sweep=sweep | {"refine": True})
    rows = rows_of(version)
    key = ("gpu", "precision", "workload", "batch_size")
    listed = {tuple(row[n] for n in key): row for row in rows if not row["refined"]}
    assert len(rows) == version.total_rows > len(plain)
    for row in plain:
        other = listed.pop(tuple(row[n] for n in key))
        assert {n: v for n, v in other.items() if n != "row_index"} == {
            n: v for n, v in row.items() if n != "row_index"
        }
    assert listed == {}
    for gpu, precision in {(row["gpu"], row["precision"]) for row in rows}:
        own = [row for row in rows if (row["gpu"], row["precision"]) == (gpu, precision)]
        safe = [row["batch_size"] for row in own if row["meets_slo"]]
        ask = SWEEP | {
            "gpus": [gpu],
            "precisions": [dict(zip(("weights", "kv_cache"), precision.split("/"), strict=True))],
        }
        answer = api(ana).post(
            URL, {"name": "next", "slo": SLO, "sweep": ask | {"batch_sizes": [max(safe), max(safe) + 1]}}
        )
        worker.run()
        pair = rows_of(ReportVersion.objects.get(report=answer.json()["report"]))
        # One user more misses them: the end is exact.
        assert [row["meets_slo"] for row in pair] == [True, max(safe) >= 256 and pair[1]["meets_slo"]]
    decided = version.decision
    assert decided["refined"] is True
    assert not any("loads between" in text for group in decided["groups"] for text in group["changes"])


@pytest.mark.django_db
def test_a_sweep_too_large_to_refine_is_refused_and_one_without_targets_says_that_it_is_not(
    api, ana, loaded_catalog, monkeypatch
):
    monkeypatch.setattr("estimator.estimates.sweep.compute.MAX_REFINED_ROWS", 10)
    answer = api(ana).post(URL, {"name": "r", "slo": SLO, "sweep": SWEEP | {"refine": True}})
    assert fault(answer) == {("#/sweep/refine", "out_of_range")}
    answer = api(ana).post(URL, {"name": "r", "sweep": SWEEP | {"refine": True}})
    version = ReportVersion.objects.get(report=answer.json()["report"])
    assert "Not used: sweep.refine; there are no targets." in version.snapshot["warnings"]
