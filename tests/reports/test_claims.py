"""Claims on PostgreSQL: nothing is claimed twice, nobody waits for another, and every guard is checked after a wait."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction

from estimator.engine.version import ESTIMATOR_VERSION
from reports.choices import State
from reports.models import Artifact, ReportChunk, ReportVersion
from reports.services import versions
from reports.work import claims
from reports.work.leases import Claim
from tests.live import HANGS_AFTER_S
from tests.reports.at_once import at_once

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("flushable")]
CLAIMS = {"chunk": claims.claim_chunk, "last step": claims.claim_finalize, "file": claims.claim_artifact}


def order(chunks: int = 1, owner: str = "dora") -> ReportVersion:
    person, _made = get_user_model().objects.get_or_create(username=owner)
    prepared = versions.Prepared(inputs={}, snapshot={}, total_rows=chunks, estimator_version=ESTIMATOR_VERSION)
    return versions.create_report(owner=person, name="r", prepared=prepared)


@pytest.fixture(autouse=True)
def one_row_a_chunk(settings: Any) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("two connections that hold their transactions need PostgreSQL: AFORO_TEST_DATABASE_URL")
    settings.AFORO_SWEEP_CHUNK_ROWS = 1


@contextmanager
def another_connection_claims(claim: Any) -> Iterator[Any]:
    """What another connection claimed; its transaction stays open until the block ends."""
    claimed, done = threading.Event(), threading.Event()
    taken: list[Any] = []

    def hold() -> None:
        try:
            with transaction.atomic():
                taken.append(claim())
                claimed.set()
                done.wait(HANGS_AFTER_S)
        finally:
            claimed.set()
            connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert claimed.wait(HANGS_AFTER_S)
    try:
        yield taken[0]
    finally:
        done.set()
        thread.join(HANGS_AFTER_S)


def work_for(kind: str) -> None:
    """One piece of work of this kind, and none of another."""
    version = order()
    if kind == "chunk":
        return
    version.chunks.update(state=State.COMPLETE)
    ReportVersion.objects.filter(pk=version.pk).update(state=State.RUNNING, remaining_rows=0)
    if kind == "file":
        ReportVersion.objects.filter(pk=version.pk).update(state=State.COMPLETE)
        Artifact.objects.create(version=version, format="csv")


@pytest.mark.parametrize("kind", CLAIMS)
def test_the_work_that_another_connection_is_claiming_is_neither_claimed_nor_waited_for(kind):
    work_for(kind)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '1ms'")
    try:
        with another_connection_claims(CLAIMS[kind]) as first:
            assert first is not None
            assert CLAIMS[kind]() is None
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert CLAIMS[kind]() is None
    assert set(ReportChunk.objects.values_list("attempts", flat=True)) <= {0, 1}
    assert set(ReportVersion.objects.values_list("finalize_attempts", flat=True)) <= {0, 1}
    assert set(Artifact.objects.values_list("attempts", flat=True)) <= {1}


def test_the_next_chunk_is_claimed_while_another_connection_claims_the_first():
    """What follows a claim (the version runs, its owner had a turn) is written once it is committed."""
    order(chunks=2)
    with another_connection_claims(lambda: claims.CHUNK._take(claims.CHUNK.wanted())) as first:
        second = claims.claim_chunk()
    assert second is not None
    assert first is not None
    assert first[1].pk != second.pk


@pytest.mark.parametrize(("owners", "reports"), [(1, 1), (3, 12)])
def test_a_herd_claims_each_chunk_once_and_with_few_statements(owners, reports):
    """16 threads that only claim, on 120 chunks; what finds nothing any more counts too."""
    for number in range(reports):
        order(chunks=120 // reports, owner=f"owner {number % owners}")
    statements: Counter[str] = Counter()
    lock = threading.Lock()

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        with lock:
            statements[sql.split()[0]] += 1
        return execute(sql, *rest)

    def claim_all() -> list[Claim]:
        taken = []
        with connection.execute_wrapper(count):
            while claim := claims.claim_chunk():
                taken.append(claim)
        return taken

    taken = [claim for some in at_once([claim_all] * 16) for claim in some]
    assert len(taken) == len({claim.pk for claim in taken}) == 120
    assert set(ReportChunk.objects.values_list("attempts", "state")) == {(1, State.RUNNING)}
    assert set(ReportVersion.objects.values_list("state", flat=True)) == {State.RUNNING}
    if reports == 1:  # of many small ones several threads begin the same at once, and each notes that it runs
        assert statements.total() <= 4 * 120, statements


def test_a_claim_alone_takes_at_most_four_statements(django_assert_max_num_queries):
    order(chunks=3)
    with django_assert_max_num_queries(4 + len(("BEGIN", "COMMIT"))):
        assert claims.claim_chunk()


def test_a_write_whose_guards_are_in_a_subquery_is_found_wherever_a_test_runs_it():
    order()
    with pytest.raises(AssertionError, match="in a subquery"):
        ReportChunk.objects.filter(version__state=State.QUEUED).update(attempts=1)


def order_huge(chunks: int) -> ReportVersion:
    """A version of so many queued chunks, made by the database: ours would take its time."""
    version = order()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO reports_reportchunk (version_id, index, first_row, rows, state, lease_token, attempts,"
            " rows_done, part_name, part_sha256, error)"
            " SELECT version_id, n, n, rows, state, '', 0, 0, '', '', '' FROM reports_reportchunk,"
            " generate_series(1, %s - 1) n WHERE version_id = %s",
            [chunks, version.pk],
        )
    ReportVersion.objects.filter(pk=version.pk).update(remaining_rows=chunks, total_rows=chunks)
    return version


def rows_read(plan: dict[str, Any]) -> float:
    """Rows that the nodes of a plan read, those that a filter threw away included."""
    own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return own + sum(rows_read(part) for part in plan.get("Plans", ()))


def buffers_read(plan: dict[str, Any]) -> int:
    """Pages of 8 KiB that a plan looked at, in memory or not."""
    return plan.get("Shared Hit Blocks", 0) + plan.get("Shared Read Blocks", 0)


def analyze() -> None:
    """As autovacuum does within a minute."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


@contextmanager
def explained() -> Iterator[list[dict[str, Any]]]:
    """The plans of the queries of a block, with what they read."""
    plans: list[dict[str, Any]] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SELECT"):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
                plans.append(cursor.fetchone()[0][0]["Plan"])
        return execute(sql, params, many, context)

    with transaction.atomic(), connection.execute_wrapper(explain):
        yield plans


@pytest.mark.parametrize("statistics", ["none", "of now"])
@pytest.mark.parametrize("chunks", [2_000, 40_000])
def test_a_claim_reads_few_rows_however_long_the_queue_is(settings, chunks, statistics):
    """Half of one version, a part of them done, half of as many versions of its owner; and another owner's.

    What a query reads is counted, for every kind of claim, alone and beside a connection that is claiming the same.
    """
    settings.AFORO_MAX_VERSIONS_IN_FLIGHT = chunks
    order_many(chunks // 2)
    order_huge(chunks // 2).chunks.filter(index__lt=chunks // 16).update(state=State.COMPLETE)
    order(owner="eva")
    if statistics == "none":
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE 'reports%'")
    if statistics == "of now":
        analyze()
    with explained() as plans:
        for _ in range(4):
            assert claims.claim_chunk()
        assert claims.claim_finalize() is None
        assert claims.claim_artifact() is None
    take = claims.CHUNK._take
    with another_connection_claims(lambda: [take(claims.CHUNK.wanted()) for _ in range(4)]), explained() as beside:
        assert claims.claim_chunk()
    assert len(beside) > 1
    for plan in [*plans, *beside]:
        assert rows_read(plan) < 300, json.dumps(plan, indent=1)
        assert buffers_read(plan) < 600, json.dumps(plan, indent=1)


def order_many(versions_more: int) -> None:
    """So many more versions of one chunk, copies of the last one."""
    version = order()
    columns = ", ".join(
        f'"{field.column}"' for field in ReportVersion._meta.concrete_fields if field.column not in ("id", "number")
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH made AS (INSERT INTO reports_reportversion ({columns}, number) SELECT {columns}, n + 1"
            " FROM reports_reportversion, generate_series(1, %s) n WHERE id = %s RETURNING id)"
            " INSERT INTO reports_reportchunk (version_id, index, first_row, rows, state, lease_token, attempts,"
            " rows_done, part_name, part_sha256, error)"
            " SELECT id, 0, 0, 1, 'queued', '', 0, 0, '', '', '' FROM made",
            [versions_more, version.pk],
        )
