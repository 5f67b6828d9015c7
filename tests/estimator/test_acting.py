"""What a field needs in order to act is read from beside the field, at any depth."""

from typing import Annotated

from estimator.estimates.unused import unused_warnings
from estimator.question.acting import Needs, idle_fields, needs
from estimator.question.fields import RequestBody


class Lamp(RequestBody):
    bulb: str | None = None
    watts: Annotated[float | None, needs("bulb")] = None
    dimmed: Annotated[bool, Needs("only a bulb is dimmed", lambda part: part.bulb is not None)] = False


class Room(RequestBody):
    lamps: list[Lamp] = []
    best: Lamp | None = None
    named: dict[str, Lamp] = {}


def test_a_field_without_its_partner_is_idle_and_with_it_is_not():
    assert list(idle_fields(Lamp(watts=5.0))) == [("watts", "bulb is needed with it")]
    assert list(idle_fields(Lamp(watts=5.0, bulb="led"))) == []


def test_a_default_that_is_stated_is_no_wish():
    assert list(idle_fields(Lamp(watts=None, dimmed=False))) == []


def test_parts_by_name_are_searched():
    assert [path for path, _why in idle_fields(Room(named={"desk": Lamp(watts=1.0)}))] == ["named.desk.watts"]


def test_parts_and_lists_are_searched_and_fields_of_one_reason_stand_in_one_warning():
    room = Room(lamps=[Lamp(bulb="led", watts=1.0), Lamp(watts=2.0)], best=Lamp(watts=3.0, dimmed=True))
    assert unused_warnings(room, prefix="house.") == (
        "Not used: house.lamps.1.watts, house.best.watts; bulb is needed with it.",
        "Not used: house.best.dimmed; only a bulb is dimmed.",
    )
