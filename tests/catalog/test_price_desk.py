"""The price desk: what follows is shown before it is saved, all or nothing, and never over another editor's change."""

import datetime
from decimal import Decimal

import pytest

from catalog.models import ApiPrice, Provider, Withdrawal
from catalog.services.prices import change_price, open_price

pytestmark = pytest.mark.django_db
DAY = datetime.date
DESK = "/admin/catalog/apiprice/desk/google-gemini/"


@pytest.fixture
def staff(client, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("ada", password="x" * 12))
    return client


@pytest.fixture
def rows():
    google = Provider.objects.create(slug="google", name="Google")
    said = {"provider": google, "model": "gemini", "unit": "mtok", "source": "page", "date_seen": DAY(2026, 1, 1)}
    worth = [("input", {}, "1.25"), ("input", {"channel": "batch"}, "0.625"), ("output", {}, "10"),
             ("input", {"tier_above_tokens": 200_000}, "2.5"),
             ("output", {"daily_start": datetime.time(16, 30), "daily_end": datetime.time(0, 30)}, "5")]  # fmt: skip
    return [
        open_price(ApiPrice(meter=meter, amount=Decimal(amount), **said, **place)) for meter, place, amount in worth
    ]


def sent(page, **typed):
    """What the page's form sends, with what an editor types."""
    return {
        "day": "2027-01-01", "source_url": "https://ai.google.dev/pricing", "date_seen": "2026-11-30",
        "reason": "announced", "rows_seen": page.context["rows_seen"], "shown": page.context.get("seal") or "", **typed,
    }  # fmt: skip


def test_what_follows_is_shown_then_saved_in_one_transaction(staff, rows):
    typed = {f"new_{rows[0].pk}": "1.50", f"do_{rows[2].pk}": "end"}
    page = staff.get(DESK)
    assert "read on 2026-01-01" in page.content.decode()
    assert "16:30 to 00:30 UTC" in page.content.decode()
    preview = staff.post(DESK, sent(page, **typed))
    assert ApiPrice.objects.count() == 5
    first, second = preview.context["preview"]
    assert (first.thing, first.change) == ("Input, Standard", "+20 %")
    assert first.after[-1] == "1.5 USD per million tokens, since 2027-01-01"
    assert "Batch stays at 0.625 USD per million tokens: 50 % of this price before, 42 % after." in first.notes
    assert any("Standard, prompts above 200,000 tokens stays at 2.5" in note for note in first.notes)
    assert second.warnings == ("No price holds since 2027-01-01: cost requests of these days are refused.",)
    assert any("16:30 to 00:30 UTC stays at 5" in note for note in second.notes)

    other = staff.post(DESK, sent(preview, **typed | {f"new_{rows[0].pk}": "1.60"}, save="1"))
    assert ApiPrice.objects.count() == 5, "saved what was not shown"
    assert other.context["preview"][0].change == "+28 %"
    assert staff.post(DESK, sent(preview, **typed, save="1")).status_code == 302
    new = ApiPrice.objects.get(amount=Decimal("1.5"))
    assert (new.effective_from, new.source_url, new.date_seen) == (
        DAY(2027, 1, 1), "https://ai.google.dev/pricing", DAY(2026, 11, 30),
    )  # fmt: skip
    assert ApiPrice.objects.get(pk=rows[2].pk).effective_to == DAY(2027, 1, 1)
    assert new.history.get().history_user.username == "ada"


def test_the_second_of_two_editors_sees_what_the_first_did_and_keeps_what_was_typed(staff, rows):
    page = staff.get(DESK)
    preview = staff.post(DESK, sent(page, **{f"new_{rows[0].pk}": "1.75"}))
    change_price(rows[0], amount=Decimal("1.5"), effective_from=DAY(2027, 1, 1), reason="from bo")
    for form in (sent(page), sent(preview, save="1")):
        late = staff.post(DESK, form | {f"new_{rows[0].pk}": "1.75"})
        said = " ".join(late.context["conflict"])
        assert "nothing was saved" in said
        assert "effective to: empty → 2027-01-01" in said
        assert "(from bo) opened a price" in said
        assert f'name="new_{rows[0].pk}" value="1.75"' in late.content.decode()
    assert not ApiPrice.objects.filter(amount=Decimal("1.75")).exists()
    assert "does not say which prices" in staff.post(DESK, sent(page) | {"rows_seen": "forged"}).content.decode()


def test_every_fault_is_named_beside_its_price_and_nothing_is_saved(staff, rows):
    typed = {f"new_{rows[0].pk}": "a lot", f"new_{rows[1].pk}": "1", f"do_{rows[1].pk}": "void",
             f"do_{rows[2].pk}": "burn", f"new_{rows[3].pk}": "NaN"}  # fmt: skip
    page = staff.post(DESK, sent(staff.get(DESK), **typed) | {"reason": "", "source_url": "", "day": "soon"})
    text = page.content.decode()
    for words in ("Give an amount such as 1.50", "choose one", "Choose to keep", "price without a source"):
        assert words in text
    assert set(page.context["form"].errors) == {"reason", "source_url", "day"}
    assert text.count('class="af-fault"') == 4
    early = staff.post(DESK, sent(staff.get(DESK), **{f"new_{rows[0].pk}": "0"}))
    assert early.context["preview"][0].change == "-100 %"
    assert "Nothing is to change" in staff.post(DESK, sent(page)).content.decode()
    assert ApiPrice.objects.count() == 5


def test_a_void_is_taken_back_on_the_desk_and_loaders_may_bring_no_second(staff, rows):
    void = {f"do_{rows[0].pk}": "void"}
    shown = staff.post(DESK, sent(staff.get(DESK), **void))
    assert "No price holds start not known" in shown.content.decode() or shown.context["preview"][0].warnings
    staff.post(DESK, sent(shown, **void, save="1"))
    assert ApiPrice.objects.get(pk=rows[0].pk).void_reason == "announced"
    back = {f"back_{rows[0].pk}": "1"}
    staff.post(DESK, sent(staff.post(DESK, sent(staff.get(DESK), **back)), **back, save="1"))
    assert ApiPrice.objects.get(pk=rows[0].pk).voided_at is None
    assert not Withdrawal.objects.exists()


def test_amounts_of_the_address_are_filled_in_and_viewers_are_shown_no_form(staff, rows, client, django_user_model):
    assert f'name="new_{rows[0].pk}" value="9.5"' in staff.get(f"{DESK}?new_{rows[0].pk}=9.5").content.decode()
    assert staff.get("/admin/catalog/apiprice/desk/no-such/").status_code == 404
    found = staff.get("/admin/catalog/apiprice/desk/?q=gemini")
    assert [each["slug"] for each in found.context["page"]] == ["google-gemini"]
