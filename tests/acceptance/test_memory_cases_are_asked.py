"""Every memory case is asked in a test of its name, or stands in the table of those that cannot be asked."""

import csv

from tests.acceptance import test_public_cases_memory, test_public_cases_starts
from tests.acceptance.unaskable import NOT_ASKABLE
from tests.shared_data import shared_dir


def test_every_memory_case_is_asked_or_its_reason_stands_in_the_table():
    with (shared_dir() / "cases/public_cases.csv").open(encoding="utf-8") as stream:
        cases = {row["id"] for row in csv.DictReader(stream) if row["id"].startswith("M")}
    names = [*vars(test_public_cases_memory), *vars(test_public_cases_starts)]
    asked = {name[5:8].upper() for name in names if name.startswith("test_m")} | {"M16"}
    assert cases <= asked | set(NOT_ASKABLE)
    assert len([case for case in NOT_ASKABLE if case.startswith("M")]) <= 6
