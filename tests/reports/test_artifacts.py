"""The same version in every form holds equal values, and no form carries a formula or a script of its reader's."""

import csv as csv_reader
import json
import math
from decimal import Decimal
from pathlib import Path
from tempfile import NamedTemporaryFile

import duckdb
import numpy as np
import openpyxl
import orjson
import pytest

from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.sweep.columns import COLUMNS, TextValues
from estimator.figures.written import money
from reports.api import examples, schemas
from reports.artifacts import json as json_artifact
from reports.artifacts import xlsx
from reports.choices import FileFormat, State
from reports.diff.compare import compare
from reports.errors import PermanentReportError, explain
from reports.models import ReportVersion
from reports.rows import hashing, tables
from reports.services import versions
from reports.storage import get_storage, rows_parts, rows_path
from reports.work import derive, worker
from tests.reports import fake_sweep

pytestmark = pytest.mark.django_db


@pytest.fixture
def complete(ana, settings, monkeypatch) -> ReportVersion:
    settings.AFORO_SWEEP_CHUNK_ROWS = 30
    monkeypatch.setattr("estimator.estimates.sweep.compute.load", fake_sweep.load)
    worker.forget_plans()
    asked = schemas.plain(schemas.Sweep.model_validate_json(orjson.dumps(examples.SWEEP)))
    inputs = {"rows": 96, "slo": {"ttft_s": 1.0}, "sweep": asked}
    snapshot = {"prices": fake_sweep.PRICES, "catalog_revision": 3}
    prepared = versions.Prepared(inputs=inputs, snapshot=snapshot, total_rows=96, estimator_version=ESTIMATOR_VERSION)
    version = versions.create_report(owner=ana, name="Größe </script><b>", prepared=prepared)
    assert worker.run() is False
    version.refresh_from_db()
    assert version.state == State.COMPLETE, version.error
    return version


def made(version: ReportVersion, file_format: str):
    derive.order(version, file_format)
    worker.run()
    artifact = version.artifacts.get(format=file_format)
    assert artifact.state == State.COMPLETE, artifact.error
    return get_storage().path(artifact.file_name)


def parquet_rows(version: ReportVersion) -> list[tuple]:
    return duckdb.execute(f"SELECT * FROM {tables.source(rows_path(version))}").fetchall()


def test_the_parts_are_the_rows_in_their_order(complete, artifact_dir):
    rows = parquet_rows(complete)
    assert [row[0] for row in rows] == list(range(96))
    kept = {path.relative_to(artifact_dir).as_posix() for path in artifact_dir.rglob("*.parquet")}
    assert kept == {part.name for part, _rows in rows_parts(complete)}
    assert [window for _part, window in rows_parts(complete)] == [range(a, min(a + 30, 96)) for a in range(0, 96, 30)]
    some = rows_path(complete, range(29, 31))
    assert some == rows_path(complete)[:2]
    assert len(complete.content_sha256) == 64


def test_a_parquet_file_of_several_parts_is_made_when_it_is_asked_for(complete):
    merged = made(complete, FileFormat.PARQUET)
    assert duckdb.execute(f"SELECT * FROM read_parquet('{merged}')").fetchall() == parquet_rows(complete)


def test_the_content_hash_tells_each_value_and_block_of_rows(complete, monkeypatch):
    """By what each cell holds: changed anywhere, or moved to another row, it is another hash."""
    monkeypatch.setattr(hashing, "LEAF_ROWS", 20)
    [path, *_others] = rows_path(complete)
    rows = fake_sweep.FakeSweep(96, fake_sweep.PRICES).rows(0, 30)
    leaves = hashing.leaves_of(path, 0, 30)
    assert len(leaves) == 2
    assert hashing.leaves_of(path, 10, 30)[0] != leaves[0]  # blocks begin at multiples: 10 rows, then 20
    seen = {tuple(leaves)}
    for column in COLUMNS:
        values = rows[column.name]
        kept = values.codes if isinstance(values, TextValues) else values
        moved = np.where(np.isnan(kept), 1, np.nan) if kept.dtype.kind == "f" else kept[::-1].copy()
        if (kept == moved).all():
            moved[25] = -1 if moved[25] >= 0 else 0
        changed = TextValues(codes=moved, labels=values.labels) if isinstance(values, TextValues) else moved
        file = path.with_name(f"changed-{column.name}.parquet")
        tables.write_rows(rows | {column.name: changed}, file)
        other = tuple(hashing.leaves_of(file, 0, 30))
        assert other not in seen, column.name
        seen.add(other)
    tables.write_rows(rows, path.with_name("again.parquet"))
    assert hashing.leaves_of(path.with_name("again.parquet"), 0, 30) == leaves


def test_the_content_hash_depends_on_neither_chunks_nor_version(complete, ana, settings, monkeypatch):
    """As long as chunks are whole blocks."""
    monkeypatch.setattr(hashing, "LEAF_ROWS", 30)
    settings.AFORO_SWEEP_CHUNK_ROWS = 60
    prepared = versions.Prepared(
        inputs=complete.inputs, snapshot=complete.snapshot, total_rows=96, estimator_version=ESTIMATOR_VERSION
    )
    other = versions.create_report(owner=ana, name="other", prepared=prepared)
    worker.run()
    other.refresh_from_db()
    assert other.content_sha256 == complete.content_sha256
    settings.AFORO_SWEEP_CHUNK_ROWS = 50
    cut = versions.create_report(owner=ana, name="cut across blocks", prepared=prepared)
    worker.run()
    cut.refresh_from_db()
    assert cut.content_sha256 != complete.content_sha256
    assert compare(complete, cut)["same_content"]  # their rows are compared, as those of two releases are


def same(left, right) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=0, abs_tol=0)
    return left == right


def test_csv_holds_the_same_values_after_rfc_4180(complete):
    path = made(complete, FileFormat.CSV)
    raw = path.read_bytes()
    assert raw.count(b"\r\n") == raw.count(b"\n") == 97
    with path.open(newline="", encoding="utf-8") as file:
        header, *lines = csv_reader.reader(file)
    assert header == [column.name for column in COLUMNS]
    for line, row in zip(lines, parquet_rows(complete), strict=True):
        for column, text, value in zip(COLUMNS, line, row, strict=True):
            if value is None:
                assert text == ""
            elif column.kind == "text":
                assert text in (value, "'" + value)
            elif column.kind == "money":
                assert Decimal(text) == value
                assert not text.endswith("0") or "." not in text
            elif column.kind == "boolean":
                assert text == str(value).lower()
            else:
                assert same(type(value)(text), value), column.name


def test_text_that_could_be_a_formula_is_neutralised_and_numbers_stay_numbers(complete):
    text = made(complete, FileFormat.CSV).read_text()
    assert "'=cmd|" in text
    assert ",=cmd" not in text
    assert ",-1000000000," in text


@pytest.mark.parametrize("rows_at_once", [1, 40, 48, 96, 16_384])
def test_json_holds_the_same_values_and_meets_its_schema(complete, monkeypatch, rows_at_once):
    monkeypatch.setattr(json_artifact, "_ROWS_AT_ONCE", rows_at_once)
    document = json.loads(made(complete, FileFormat.JSON).read_text())
    for row, stored in zip(document["rows"], parquet_rows(complete), strict=True):
        for column, value in zip(COLUMNS, stored, strict=True):
            got = row[column.name]
            assert (Decimal(got) if isinstance(value, Decimal) else got) == value
    assert document["content_sha256"] == complete.content_sha256
    assert document["report"]["name"] == "Größe </script><b>"


def test_json_of_more_rows_than_memory_holds_as_text_is_written(complete, artifact_dir):
    rows, target = artifact_dir / "many.parquet", artifact_dir / "many.json"
    complete.total_rows = 123_000  # one row group and a little more
    tables.write_rows(fake_sweep.FakeSweep(complete.total_rows, fake_sweep.PRICES).rows(0, complete.total_rows), rows)
    json_artifact.write(complete, (rows,), target)
    text = target.read_bytes()
    assert text.partition(b'"rows":[')[2].count(b'{"row_index":') == complete.total_rows
    assert text.endswith(b"}]}\n")


def test_memory_that_runs_out_is_said_in_words():
    assert explain(duckdb.OutOfMemoryException("failed to allocate"))[0] == "out_of_memory"


def test_xlsx_holds_the_same_values_typed_under_a_frozen_header(complete):
    book = openpyxl.load_workbook(made(complete, FileFormat.XLSX))
    assert book.sheetnames == ["Decision", "Summary", "Assumptions", "Rows", "Chart data", "Charts"]
    sheet = book["Rows"]
    assert sheet.freeze_panes == "C3"
    said, header, *lines = sheet.iter_rows(values_only=True)
    assert list(header) == [column.name for column in COLUMNS]
    # People read words with units: no two columns have the same, none has the name of a machine.
    assert len(set(said)) == len(COLUMNS)
    assert not [words for words in said if "_" in words]
    assert said[header.index("ttft_s_p95")] == "First token, 95th percentile, s"
    for line, row in zip(lines, parquet_rows(complete), strict=True):
        for column, cell, value in zip(COLUMNS, line, row, strict=True):
            if value is None:
                assert cell is None
            elif column.kind == "text":
                assert cell in (value, "'" + value)
            else:
                assert cell == pytest.approx(float(value), rel=1e-15), column.name
    assert all(cell.data_type != "f" for sheet in book for line in sheet.iter_rows() for cell in line)
    assert len(book["Charts"]._charts) == 3
    texts = [str(cell.value) for name in ("Summary", "Chart data") for row in book[name].iter_rows() for cell in row]
    assert not [text for text in texts if text in complete.summary or text in header]
    assert any(cell.is_date for cell in book["Summary"]["B"])


def title(chart):
    return "".join(run.t for paragraph in chart.title.tx.rich.p for run in paragraph.r)


def test_a_chart_of_the_workbook_is_of_one_workload_and_says_what_it_leaves_out(make_report, ana, monkeypatch):
    monkeypatch.setattr("reports.artifacts.chart_sheet.MOST_SERIES", 1)
    version = make_report(ana, sweep=examples.SWEEP | {
        "gpus": ["h100-sxm5-80gb", "l40s"],
        "workloads": [*examples.SWEEP["workloads"], {"name": "long", "input_tokens": 6000, "output_tokens": 500}],
    })  # fmt: skip
    with NamedTemporaryFile(suffix=".xlsx") as file:
        xlsx.write(version, rows_path(version), Path(file.name))
        book = openpyxl.load_workbook(file.name)
    titles = [title(chart) for chart in book["Charts"]._charts]
    assert [name for text in titles for name in ("chat", "long") if f"{name}:" in text] == ["chat"] * 3 + ["long"] * 3
    assert all("the 1 of 2 settings with the most tokens/s per GPU" in text for text in titles)
    assert titles[1].startswith("Cost per million output tokens · Llama-3.1-8B, chat: 1,000 in, 300 out tokens")
    assert book["Chart data"]["A1"].value == "H100 SXM5 80GB"


def test_the_workbook_opens_with_the_decision_in_words_and_numbers(complete):
    complete.snapshot["prices"]["h100"] |= {"date": "2026-10-24", "seller": "=cmd"}
    complete.decision = None
    from reports.decision import stored

    stored._derived.clear()
    with NamedTemporaryFile(suffix=".xlsx") as file:
        xlsx.write(complete, rows_path(complete), Path(file.name))
        sheet = openpyxl.load_workbook(file.name).worksheets[0]
    stored._derived.clear()
    assert sheet.title == "Decision"
    lines = {row[0].value: row for row in sheet.iter_rows()}
    head = [cell.value for cell in lines["GPU"]]
    h100 = dict(zip(head, lines["h100"], strict=True))
    assert h100["Price per GPU and hour"].value == 2
    assert h100["Per month (730 h)"].value == 2 * 730 * h100["GPUs"].value
    assert h100["Price seen on"].is_date
    assert h100["Price seen on"].value.date().isoformat() == "2026-10-24"
    assert h100["Seller"].value == "'=cmd"
    assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)


def test_html_asks_nothing_of_the_network_and_escapes_what_people_wrote(complete):
    text = made(complete, FileFormat.HTML).read_text()
    assert "</script><b>" not in text
    assert "src=" not in text.replace("img-src", "").replace("script-src", "").replace("style-src", "")
    assert "@import" not in text
    block = text.split('id="report-data">')[1].split("</script>")[0]
    data = json.loads(block)
    assert "<" not in block
    assert len(data["table"]["rows"]) == 96
    (group,) = data["groups"]
    # Two cards, each in two formats and two splits: all eight settings are drawn.
    assert len(group["series"]) == 8
    assert [one["name"] for one in group["gpus"]] == ["h100", "a100"]
    assert all(len(one["points"]) == 9 for one in group["series"])  # batches to 256 fit, larger ones do not
    assert group["left"] == "Not drawn: 24 rows that do not fit; the table has them."


def test_html_says_in_words_what_was_asked_and_what_is_cheapest(complete):
    text = " ".join(made(complete, FileFormat.HTML).read_text().split('id="report-data">')[0].split())
    assert "chat: 1,000 in, 300 out tokens" in text
    assert "first token ≤ 1 s (slow end of the band; arrivals at the 95th percentile)" in text
    assert "1 to 256, powers of two" in text
    assert "h100-sxm5-80gb none known" in text  # the sweep's card has no price here: said, not left out
    (group,) = complete.decision["groups"]
    h100, a100 = group["lines"]
    assert f'<p class="who">{group["sentence"]}</p>' in text
    per_hour = 2.0 * h100["setting"]["gpus"]
    assert f">{per_hour * 730:,.0f}<" in text
    assert f"<b>{money(Decimal(h100['cost_per_mtok_output']['mid']))}</b>" in text
    assert a100["price"] is None
    assert "No seller on demand in USD is known." in text


def test_findings_prove_themselves_by_their_rows(complete):
    found = {}
    for entry in complete.findings:
        found.setdefault(entry["kind"], entry)
        assert entry["row"]["row_index"] == entry["row_index"]
        assert entry["text"]
    assert found["largest_batch_that_fits"]["row"]["batch_size"] == 256
    # total = 1000·b/(1 + b/40)·…: from batch 32 to 64 it grows by ln(24.6/17.8)/ln 2 = 0.47 of the batch's growth.
    assert found["knee"]["row"]["batch_size"] == 32
    rows = [dict(zip([c.name for c in COLUMNS], row, strict=True)) for row in parquet_rows(complete)]
    fitting = [row for row in rows if row["status"] == "ok"]
    assert (
        found["cheapest_feasible"]["row_index"]
        == min(
            (row for row in fitting if row["cost_per_mtok_output_mid"] is not None),
            key=lambda row: (row["cost_per_mtok_output_mid"], row["row_index"]),
        )["row_index"]
    )
    frontier = set(found["pareto_frontier"]["row_indices"])
    for row in fitting:
        beaten = any(
            other["tokens_per_s_per_user_mid"] >= row["tokens_per_s_per_user_mid"]
            and other["tokens_per_s_per_gpu_mid"] > row["tokens_per_s_per_gpu_mid"]
            for other in fitting
        )
        assert not (row["row_index"] in frontier and beaten)
        assert (
            row["row_index"] in frontier
            or beaten
            or row["tokens_per_s_per_gpu_mid"]
            in {other["tokens_per_s_per_gpu_mid"] for other in fitting if other["row_index"] in frontier}
        )


def test_an_excel_sheet_too_long_says_so_and_offers_the_others(complete, ana):
    ReportVersion.objects.filter(pk=complete.pk)
    huge = ReportVersion(total_rows=1_048_576)
    with pytest.raises(PermanentReportError, match="CSV, JSON or Parquet"):
        xlsx.write(huge, None, None)
