"""A database of release 0.2.0 with versions in flight: each gets its place in the queue, what is complete stays."""

import pytest
from django.apps import apps as current_apps
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from estimator.engine.version import ESTIMATOR_VERSION
from reports import triggers
from reports.models import ReportVersion
from reports.work import claims

RELEASED = [("reports", "0001_initial")]
STATES = ("queued", "running", "complete", "failed", "cancelled")


@pytest.fixture
def released(flushable):
    """The apps of the released tables; the migrations run again at the end, whatever happened."""
    call_command("migrate", "reports", "0001", verbosity=0)
    yield MigrationExecutor(connection).loader.project_state(RELEASED).apps
    call_command("migrate", "reports", verbosity=0)


def test_versions_in_flight_are_placed_and_counted_and_no_other_is_touched(released):
    owner = get_user_model().objects.create_user("dora")
    report = released.get_model("reports", "Report").objects.create(owner_id=owner.pk, name="r")
    made = {}
    for number, state in enumerate(STATES, start=1):
        made[state] = released.get_model("reports", "ReportVersion").objects.create(
            report=report, number=number, state=state, created_by_id=owner.pk, inputs={}, snapshot={"b": number},
            inputs_sha256="0" * 64, snapshot_sha256="0" * 64, estimator_version=ESTIMATOR_VERSION, total_rows=30,
        ).pk  # fmt: skip
        for index in range(3):
            released.get_model("reports", "ReportChunk").objects.create(
                version_id=made[state],
                index=index,
                first_row=10 * index,
                rows=10,
                state="complete" if index == 0 and state == "running" else state,
            )
    triggers.ensure()
    call_command("migrate", "reports", verbosity=0)
    columns = ("state", "owner", "needs_estimator", "remaining_rows", "due_after_rows")
    placed = {row[0]: row[1:] for row in ReportVersion.objects.values_list(*columns)}
    assert placed["queued"] == (owner.pk, ESTIMATOR_VERSION, 30, 30)
    assert placed["running"] == (owner.pk, ESTIMATOR_VERSION, 20, 30)
    assert {placed[state] for state in ("complete", "failed", "cancelled")} == {(None, "", 0, 0)}
    taken = 0
    while claims.claim_chunk():
        taken += 1
    assert taken == 3, "those that were running hold no lease any more than they did"
    assert current_apps.get_model("reports", "ReportVersion").objects.get(state="complete").snapshot == {"b": 3}
