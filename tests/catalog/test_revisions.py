"""The catalog revision rises with every write, in its transaction, and never twice for one."""

import pytest
from django.db import transaction
from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from catalog.models import Gpu
from catalog.revisions import catalog_write, current_revision
from tests.catalog.factories import GpuFactory

pytestmark = pytest.mark.django_db


def test_before_the_first_write_the_revision_is_zero():
    assert current_revision().number == 0


@pytest.mark.parametrize(
    "write",
    [
        lambda gpu: gpu.save(),
        lambda gpu: gpu.delete(),
        lambda gpu: GpuFactory(),
        lambda gpu: Gpu.objects.filter(pk=gpu.pk).update(notes="seen"),
        lambda gpu: Gpu.objects.filter(pk=gpu.pk).delete(),
        lambda gpu: Gpu.objects.bulk_create([GpuFactory.build()]),
        lambda gpu: Gpu.objects.bulk_update([gpu], ["notes"]),
        lambda gpu: bulk_create_with_history([GpuFactory.build(), GpuFactory.build()], Gpu),
        lambda gpu: bulk_update_with_history([gpu], Gpu, ["notes"]),
    ],
    ids=[
        "save", "delete", "create", "update", "query set delete", "bulk create", "bulk update",
        "bulk create with history", "bulk update with history",
    ],
)  # fmt: skip
def test_each_kind_of_write_raises_the_revision_by_one(write):
    gpu = GpuFactory()
    before = current_revision()
    write(gpu)
    after = current_revision()
    assert after.number == before.number + 1
    assert after.token != before.token


def test_an_update_that_matches_nothing_raises_nothing():
    before = current_revision()
    assert Gpu.objects.filter(slug="nowhere").update(notes="x") == 0
    assert current_revision() == before


def test_many_writes_in_one_block_raise_the_revision_once():
    before = current_revision().number
    with catalog_write():
        GpuFactory()
        GpuFactory()
        Gpu.objects.update(notes="both")
    assert current_revision().number == before + 1


def test_a_write_that_fails_leaves_the_revision_and_a_later_one_gets_a_token_of_its_own():
    GpuFactory()
    before = current_revision()
    seen_inside = []

    def write_and_fail():
        with transaction.atomic():
            GpuFactory()
            seen_inside.append(current_revision())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert current_revision() == before
    GpuFactory()
    assert current_revision().number == seen_inside[0].number
    assert current_revision().token != seen_inside[0].token
