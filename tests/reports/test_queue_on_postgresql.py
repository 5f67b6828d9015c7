"""Leases, the state table and the frozen triggers again where the services tier runs: on PostgreSQL."""

import pytest

from tests.reports.test_queue import *  # noqa: F403  the same tests, on the other database

pytestmark = [pytest.mark.services, pytest.mark.django_db]
