"""Claims on PostgreSQL: nothing is claimed twice, nobody waits for another, and every guard is checked after a wait."""

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
def another_connection_claims(claim: Any) -> Iterator[Claim | None]:
    """What another connection claimed; its transaction stays open until the block ends."""
    claimed, done = threading.Event(), threading.Event()
    taken: list[Claim | None] = []

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
    ReportVersion.objects.filter(pk=version.pk).update(state=State.RUNNING, **all_rows_are_there())
    if kind == "file":
        ReportVersion.objects.filter(pk=version.pk).update(state=State.COMPLETE)
        Artifact.objects.create(version=version, format="csv")


def all_rows_are_there() -> dict[str, int]:
    return {}


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
    order(chunks=2)
    with another_connection_claims(claims.claim_chunk) as first:
        second = claims.claim_chunk()
    assert second is not None
    assert first is not None
    assert first.pk != second.pk


def test_a_herd_claims_each_chunk_once_and_with_few_statements():
    """16 threads that only claim, on 120 chunks of 12 versions."""
    for number in range(12):
        order(chunks=10, owner=f"owner {number % 3}")
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
    assert statements.total() <= 4 * 120, statements


def test_a_claim_alone_takes_at_most_four_statements(django_assert_max_num_queries):
    order(chunks=3)
    with django_assert_max_num_queries(4 + len(("BEGIN", "COMMIT"))):
        assert claims.claim_chunk()


def test_a_write_whose_guards_are_in_a_subquery_is_found_wherever_a_test_runs_it():
    order()
    with pytest.raises(AssertionError, match="in a subquery"):
        ReportChunk.objects.filter(version__state=State.QUEUED).update(attempts=1)
