"""The shipped measurements: readable, attributed, and the same figures as the founders' file."""

import csv

import pytest

from estimator.resolvers.engine_settings import check_settings
from estimator.validation.launches import launch_of, launches
from estimator.validation.open_rows import read_open_runs
from estimator.validation.rows import Metric, is_kept_out, kept_out, read_measurements, read_sources, used
from estimator.validation.rules import RULES, excluded
from estimator.validation.shipped import profile as shipped_profile
from tests.shared_data import shared_dir


def test_every_row_names_a_source_with_attribution_and_a_date():
    sources = {source.key: source for source in read_sources()}
    for row in read_measurements():
        assert row.source in sources, row.id
        assert (row.date or sources[row.source].seen)[:2] == "20", row.id
    assert all(source.attribution and source.where and source.licence for source in sources.values())


def test_the_shipped_figures_are_those_of_the_published_rows():
    truth = {}
    for name in ("measurements.csv", "measurements_2.csv"):
        with (shared_dir() / "truth" / name).open(encoding="utf-8", newline="") as stream:
            truth |= {(row["row_id"], row["metric"]): row for row in csv.DictReader(stream)}
    shipped = {(row.id, row.metric.value): row for row in read_measurements()}
    assert shipped.keys() == truth.keys()
    for key, row in shipped.items():
        other = truth[key]
        assert row.value == float(other["value"]), key
        # A launch states the client's own concurrency; a row without one has the mean that was measured.
        if not row.launch:
            assert row.concurrency == float(other["concurrency"] or 1), key
        assert not row.core or other["core"] == "1", key
        assert bool(row.excluded_by) == (other["use"] != "ok"), key


def test_a_launch_is_of_the_engine_of_its_rows_and_states_only_settings_that_it_has():
    for row in read_measurements():
        launch = launch_of(row)
        if launch is None:
            continue
        engine = shipped_profile(row.engine)
        stated = launch.settings_for(row)
        assert launch.engine == engine.engine, row.id
        check_settings(stated, engine)
        assert row.requests >= row.concurrency, row.id
        longest = stated.get("max_num_tokens")
        # Whole prompts have to fit into a pass.
        assert longest is None or longest >= row.input_tokens, row.id


def test_every_launch_has_rows():
    assert {row.launch for row in read_measurements() if row.launch} == set(launches())


def test_open_runs_are_those_of_the_published_file():
    with (shared_dir() / "truth" / "open_loop.csv").open(encoding="utf-8", newline="") as stream:
        truth = list(csv.DictReader(stream))
    runs = read_open_runs()
    assert [run.experiment for run in runs] == [row["experiment"] for row in truth]
    for run, row in zip(runs, truth, strict=True):
        assert run.requests_per_s == float(row["request_rate_per_s"])
        assert run.measured["ttft_s"] == pytest.approx(float(row["ttft_mean_ms"]) / 1e3)
        assert run.measured["e2e_s"] == pytest.approx(float(row["e2e_mean_ms"]) / 1e3)


def test_rows_are_kept_out_only_by_a_rule_that_has_words():
    rows = read_measurements()
    counts = {count.rule: count.rows for count in excluded(rows)}
    assert counts == {
        "unlabelled_mtp": 218,
        "weights_do_not_fit": 26,
        "sharegpt_burst": 26,
        "unusable_kernel": 20,
        "power_cap": 1,
        "gpu_unknown": 1,
        "mfu_above_0.6": 10,
    }
    assert len(used(rows)) == len(rows) - sum(counts.values())
    assert all(RULES.values())


def test_a_row_excluded_by_something_that_is_no_rule_is_refused(tmp_path):
    line = read_measurements.__globals__["DATA_DIR"] / "measurements.csv"
    header, first = line.read_text(encoding="utf-8").splitlines()[:2]
    path = tmp_path / "rows.csv"
    path.write_text(f"{header}\n{first.replace(',,xiongjiedai', ',too_far_off,xiongjiedai')}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="too_far_off"):
        excluded(read_measurements(path))


def test_a_broken_row_is_named(tmp_path):
    source = read_measurements.__globals__["DATA_DIR"] / "measurements.csv"
    header, first = source.read_text(encoding="utf-8").splitlines()[:2]
    path = tmp_path / "rows.csv"
    path.write_text(f"{header}\n{first.replace('72.79', 'fast')}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="t00001"):
        read_measurements(path)


def test_seconds_and_rates_are_told_apart():
    assert {metric for metric in Metric if not metric.is_rate} == {Metric.TPOT, Metric.TTFT, Metric.TTFT_ALONE}


def test_families_that_are_kept_out_follow_from_their_names_and_are_about_a_fifth():
    sources = read_sources()
    assert {source.key for source in sources if source.kept_out} == {s.key for s in sources if is_kept_out(s.key)}
    assert 0.1 <= len(kept_out()) / len(sources) <= 0.3
