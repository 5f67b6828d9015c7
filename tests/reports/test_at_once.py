"""Two orders at the same moment: one report under one key, and a number of its own for every version."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model

from estimator.engine.version import ESTIMATOR_VERSION
from reports.models import IdempotencyKey, Report, ReportVersion
from reports.services import idempotency, versions
from tests.reports.at_once import at_once

pytestmark = pytest.mark.services


def prepared() -> versions.Prepared:
    return versions.Prepared(inputs={}, snapshot={}, total_rows=5, estimator_version=ESTIMATOR_VERSION)


def test_one_key_sent_four_times_at_once_makes_one_report(flushable):
    dora = get_user_model().objects.create_user("dora", password="x")

    def make() -> dict[str, Any]:
        return {"version": versions.create_report(owner=dora, name="x", prepared=prepared()).pk}

    order = lambda: idempotency.once(owner=dora, key="k", body_sha256="a" * 64, make=make)  # noqa: E731
    answers = at_once([order] * 4)
    assert len({result["version"] for result, _made in answers}) == 1
    assert sorted(made for _result, made in answers) == [False, False, False, True]
    assert (Report.objects.count(), ReportVersion.objects.count(), IdempotencyKey.objects.count()) == (1, 1, 1)
    with pytest.raises(idempotency.KeyReusedError):
        idempotency.once(owner=dora, key="k", body_sha256="b" * 64, make=make)


def test_rebuilds_at_once_get_a_number_each(flushable):
    dora = get_user_model().objects.create_user("dora", password="x")
    report = versions.create_report(owner=dora, name="x", prepared=prepared()).report
    add = lambda: versions.add_version(report=report, created_by=dora, prepared=prepared()).number  # noqa: E731
    assert sorted(at_once([add] * 4)) == [2, 3, 4, 5]
