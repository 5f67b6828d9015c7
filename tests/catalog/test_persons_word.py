"""What a person deletes, renames, voids or ends stays so: loads leave it alone and name it."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from io import StringIO

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from catalog.models import ApiPrice, CatalogRow, Checkpoint, LanguageModel, PriceList, Provider, Withdrawal
from catalog.services import price_sources
from catalog.services.people import delete_by_person, save_by_person
from catalog.services.price_import import apply_import
from catalog.services.prices import close_price, open_price, void_price
from tests.shipped_catalog import load_shipped_catalog

pytestmark = pytest.mark.django_db

ROW_MODELS = [model for model in apps.get_app_config("catalog").get_models() if issubclass(model, CatalogRow)]
DAY = datetime.date(2026, 12, 1)


@pytest.fixture
def shipped(db):
    load_shipped_catalog()


@pytest.fixture
def ada(shipped, django_user_model):
    return django_user_model.objects.create_user("ada")


def load() -> str:
    """What `make run` does before it serves; returns what it says."""
    said = StringIO()
    call_command("load_catalog", stdout=said)
    return said.getvalue()


def delete_with_what_hangs_on_it(row, user) -> None:
    """As a person does who first deletes what the admin names as in the way."""
    try:
        delete_by_person(row, user=user, reason="not sold to us")
    except ProtectedError as refused:
        for other in refused.protected_objects:
            delete_with_what_hangs_on_it(other, user)
        delete_by_person(row, user=user, reason="not sold to us")


def with_few_on_it(model):
    """A loaded row, and of several the one with the fewest others that need it."""
    if model is Provider:
        return Provider.objects.get(slug="alibaba")
    return model.objects.exclude(loaded_from="").order_by("-slug").first()


@dataclass
class Word:
    """What a person did to a row of every kind, and what the loads after it said."""

    slugs: dict[type[CatalogRow], str]
    prices: int
    said: list[str]


@pytest.fixture(scope="class")
def word(request, models, django_db_setup, django_db_blocker) -> Iterator[Word]:
    """What the class does to a row of every kind, then its loads, for all of them at once: a load takes seconds."""
    with django_db_blocker.unblock(), transaction.atomic():
        load_shipped_catalog()
        user = get_user_model().objects.create_user("ada")
        slugs = {model: request.cls.act(user, model) for model in models}
        yield Word(slugs=slugs, prices=ApiPrice.objects.count(), said=[load() for _ in range(request.cls.loads)])
        transaction.set_rollback(True)


# One worker of pytest each: what was done and loaded is kept for a class.
# A price list that is gone keeps away all prices of its reading: it would hide what became of other rows.
TOGETHER = [[model for model in ROW_MODELS if model is not PriceList], [PriceList]]
of_every_kind = pytest.mark.parametrize(
    ("models", "model"),
    [(models, model) for models in TOGETHER for model in models],
    indirect=["models"],
    scope="class",
    ids=lambda given: given._meta.model_name if isinstance(given, type) else "",
)


@pytest.fixture(scope="class")
def models(request):
    return request.param


@pytest.mark.xdist_group("deleted")
@of_every_kind
class TestDeleted:
    loads = 2

    @staticmethod
    def act(user, model):
        row = with_few_on_it(model) or model.objects.order_by("-slug").first()
        if model is PriceList:  # one that prices hang on cannot be deleted
            ApiPrice.objects.filter(price_list=row).update(price_list=None)
        delete_with_what_hangs_on_it(row, user)
        return row.slug

    def test_a_deleted_row_of_every_kind_stays_deleted(self, word, model):
        assert not model.objects.filter(slug=word.slugs[model]).exists()
        assert ApiPrice.objects.count() == word.prices
        assert any(word.slugs[model] in line and "deleted by ada" in line for line in word.said[0].splitlines())
        assert word.said[1].count("0 to add") == word.said[0].count("0 to add")


@pytest.mark.xdist_group("renamed")
@of_every_kind
class TestRenamed:
    loads = 1

    @staticmethod
    def act(user, model):
        row = model.objects.exclude(loaded_from="").first() or model.objects.first()
        old, row.slug = row.slug, f"renamed-by-ada-{model._meta.model_name}"
        save_by_person(row, user=user, reason="our own name")
        return old

    def test_a_row_of_every_kind_that_a_person_renamed_does_not_come_back_under_its_old_name(self, word, model):
        assert not model.objects.filter(slug=word.slugs[model]).exists()
        assert ApiPrice.objects.count() == word.prices
        assert f"now renamed-by-ada-{model._meta.model_name}" in word.said[0]


@pytest.mark.xdist_group("edited")
@of_every_kind
class TestEdited:
    loads = 1

    @staticmethod
    def act(user, model):
        row = model.objects.exclude(loaded_from="").first() or model.objects.first()
        row.name = "As Ada calls it"
        row.loaded_sha256 = ""
        save_by_person(row, user=user)
        if model is PriceList:  # written with every import that writes
            delete_by_person(ApiPrice.objects.filter(price_list=row).first(), user=None)
            Withdrawal.objects.all().delete()
        return row.slug

    def test_a_row_of_every_kind_that_a_person_edited_is_not_written_over(self, word, model):
        assert model.objects.get(slug=word.slugs[model]).name == "As Ada calls it"


def loaded_price(**given) -> ApiPrice:
    return ApiPrice.objects.filter(**given, voided_at__isnull=True).exclude(loaded_from="").first()


def same_things(row):
    return ApiPrice.objects.filter(
        slug=row.slug, channel=row.channel, endpoint_class=row.endpoint_class, meter=row.meter,
        tier_above_tokens=row.tier_above_tokens, window_key=row.window_key, voided_at__isnull=True,
    )  # fmt: skip


SOURCES = [{"price_list__source": "genai-prices", "effective_to": None}, {"price_list__source": "aforo"}]


@pytest.mark.parametrize("given", SOURCES, ids=["package", "own file"])
def test_a_voided_price_stays_void(given, ada):
    row = loaded_price(**given)
    others = set(same_things(row).exclude(pk=row.pk).values_list("pk", flat=True))
    void_price(row, user=ada, reason="a typing error")
    said = load()
    assert set(same_things(row).values_list("pk", flat=True)) == others
    assert "voided by ada" in said
    assert "a typing error" in said
    assert row.meter in said


@pytest.mark.parametrize("given", SOURCES, ids=["package", "own file"])
def test_an_ended_price_stays_ended(given, ada):
    row = loaded_price(**given)
    others = same_things(row).count()
    close_price(row, on=DAY, user=ada, reason="contract ends")
    said = load()
    assert same_things(row).count() == others
    row.refresh_from_db()
    assert row.effective_to == DAY
    assert "ended by ada" in said
    assert "from 2026-12-01" in said


def test_a_price_ended_by_the_form_stays_ended(ada):
    row = loaded_price(**SOURCES[0])
    others = same_things(row).count()
    row.effective_to = DAY
    save_by_person(row, user=ada, reason="contract ends")
    assert "contract ends" in load()
    assert same_things(row).count() == others


def test_a_deleted_price_stays_deleted(ada):
    row = loaded_price(**SOURCES[0])
    delete_by_person(row, user=ada, reason="no such meter")
    assert "deleted by ada" in load()
    assert not same_things(row).filter(effective_from=row.effective_from).exists()


def test_the_start_path_of_make_run_leaves_void_and_end_alone(ada, capsys):
    voided, ended = ApiPrice.objects.filter(price_list__source="genai-prices", effective_to=None)[:2]
    void_price(voided, user=ada, reason="wrong page")
    close_price(ended, on=DAY, user=ada, reason="contract ends")
    call_command("prepare_run")
    said = capsys.readouterr().err
    assert "wrong page" in said
    assert "contract ends" in said
    assert "0 to add, 0 to close" in said
    assert not same_things(voided).filter(effective_from=voided.effective_from).exists()
    assert same_things(ended).filter(effective_to=DAY).count() == 1


def test_a_person_may_open_another_price_where_one_was_voided(ada):
    row = loaded_price(**SOURCES[0])
    void_price(row, user=ada, reason="a typing error")
    names = ("provider", "model", "channel", "endpoint_class", "meter", "unit", "tier_above_tokens", "tier_operator")
    mine = ApiPrice(**{name: getattr(row, name) for name in names}, amount=Decimal(7))
    mine.effective_from, mine.effective_to, mine.edited_by_person = row.effective_from, row.effective_to, True
    open_price(mine, user=ada)
    load()
    assert [each.amount for each in same_things(row).filter(effective_from=row.effective_from)] == [Decimal(7)]


def test_a_withdrawal_taken_back_lets_the_load_bring_the_price_again(ada):
    row = loaded_price(**SOURCES[0])
    void_price(row, user=ada, reason="a typing error")
    Withdrawal.objects.get(taken="voided").delete()
    load()
    assert same_things(row).filter(effective_from=row.effective_from).count() == 1


def test_a_checkpoint_that_a_person_took_out_or_edited_outlives_a_change_of_the_file(ada):
    deleted, edited = Checkpoint.objects.exclude(loaded_from="").order_by("pk")[:2]
    kept_bytes = edited.stored_weight_bytes + 1
    delete_by_person(deleted, user=ada)
    edited.stored_weight_bytes = kept_bytes
    save_by_person(edited, user=ada)
    LanguageModel.objects.filter(pk__in=[deleted.model_id, edited.model_id]).update(loaded_sha256="")
    load()
    assert not Checkpoint.objects.filter(
        model=deleted.model_id, precision=deleted.precision, source=deleted.source
    ).exists()
    assert Checkpoint.objects.get(model=edited.model_id, precision=edited.precision, source=edited.source).pk


def void_as_of_v0_2_0(row, reason):
    """As the release voided: no withdrawal, no mark."""
    row.voided_at, row.void_reason, row._change_reason = timezone.now(), reason, reason
    row.save()


def test_the_migration_remembers_old_voids_ends_and_deletions_and_undoes_their_return(ada):
    plan = price_sources.plan_genai_prices()
    assert not plan.writes
    voided, ended = ApiPrice.objects.filter(price_list__source="genai-prices", effective_to=None)[:2]
    void_as_of_v0_2_0(voided, "Voided in the admin by ada")
    ended.effective_to, ended._change_reason = datetime.date(2026, 11, 20), "Ended in the admin"
    ended.save()
    preset = apps.get_model("catalog", "Preset").objects.first()
    preset.delete()
    apply_import(price_sources.plan_genai_prices())  # as `make run` of the release did
    assert same_things(voided).filter(effective_from=voided.effective_from).exists()
    import_module("catalog.migrations.0005_withdrawals").remember(apps, None)
    assert not same_things(voided).filter(effective_from=voided.effective_from).exists()
    assert [row.pk for row in same_things(ended)] == [ended.pk]
    said = load()
    assert "0 to add, 0 to close" in said
    assert f"{preset.slug}: deleted by a person" in said
    assert not same_things(voided).filter(effective_from=voided.effective_from).exists()
