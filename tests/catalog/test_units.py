"""Figures as people read them in the admin."""

import pytest

from catalog.admin import units


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (units.decimal_bytes(80 * 10**9), "80 GB"),
        (units.binary_bytes(85_029_615_043), "79.2 GiB"),
        (units.rate(3.35e12), "3.35 TB/s"),
        (units.flops(989.4e12), "989 TFLOP/s"),
        (units.flops(1978.9e12), "1.98 PFLOP/s"),
        (units.count(8_030_261_248), "8.03 B"),
        (units.count(999_885_952), "1 B"),
        (units.count(671_026_419_200), "671 B"),
        (units.whole(131072), "131,072"),
        (units.seconds(0.05), "50 ms"),
        (units.decimal_bytes(None), "–"),
    ],
)
def test_a_figure_is_shown_in_the_unit_people_use(shown, text):
    assert shown == text
