"""What a poll says: the phase, the place in the queue, and no end where none is known."""

import pytest

from reports import clock
from reports.models import ReportChunk, ReportVersion
from reports.selectors import progress, version_etag
from reports.services import versions
from reports.work import claims
from tests.reports.test_turns import PART, complete_one, order

pytestmark = pytest.mark.django_db


def told(version: ReportVersion) -> dict:
    version.refresh_from_db()
    return progress(version)


def test_no_end_is_given_in_the_last_step_and_never_zero_with_all_rows_done(ana, settings):
    settings.AFORO_SWEEP_CHUNK_ROWS = 10
    version = order(ana, rows=20)
    assert (told(version)["phase"], told(version)["eta_s"]) == ("queued", None)
    complete_one()
    ReportVersion.objects.filter(pk=version.pk).update(started_at=clock.after(-4))
    half = told(version)
    assert (half["phase"], half["done"]) == ("rows", 10)
    assert half["eta_s"] == pytest.approx(10 / half["rows_per_s"])
    last = claims.claim_chunk()
    ReportChunk.objects.filter(pk=last.pk).update(rows_done=10)
    assert (told(version)["phase"], told(version)["done"], told(version)["eta_s"]) == ("rows", 20, None)
    claims.complete_chunk(last, PART)
    assert (told(version)["phase"], told(version)["done"], told(version)["eta_s"]) == ("last_step", 20, None)
    assert claims.claim_finalize()
    assert told(version)["phase"] == "last_step"
    ReportVersion.objects.filter(pk=version.pk).update(state="complete", finished_at=clock.after(0))
    assert (told(version)["phase"], told(version)["eta_s"]) == ("complete", None)


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_what_has_ended_says_so(ana, state):
    version = order(ana, rows=20)
    ReportVersion.objects.filter(pk=version.pk).update(state=state)
    assert (told(version)["phase"], told(version)["queue_place"]) == (state, None)


def test_the_place_in_the_queue_counts_a_turn_for_each_owner(ana, berta, settings):
    settings.AFORO_SWEEP_CHUNK_ROWS = 10
    flood = [order(ana, rows=10) for _ in range(5)]
    assert [told(version)["queue_place"] for version in flood] == [1, 2, 3, 4, 5]
    other = order(berta, rows=10)
    assert told(other)["queue_place"] == 2, "behind one turn of ana, not behind five"
    assert [told(version)["queue_place"] for version in flood] == [2, 3, 4, 5, 6]
    claims.claim_chunk()
    assert [told(version)["queue_place"] for version in flood][:2] == [None, 3]
    versions.cancel(flood[1])
    assert told(flood[2])["queue_place"] == 3


def test_the_etag_of_a_poll_moves_with_the_place_and_the_phase(ana):
    first, second = order(ana, rows=10), order(ana, rows=10)
    before = version_etag(second, told(second))
    versions.cancel(first)
    assert version_etag(second, told(second)) != before
