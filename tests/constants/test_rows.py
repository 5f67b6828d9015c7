"""Files of constants: what they must hold, and what is refused."""

import csv
import dataclasses

import pytest

from estimator.constants import kernels
from estimator.constants.families import FAMILIES, family_of
from estimator.constants.rows import DATA_DIR, Basis, ConstantsFileError, all_constants, read_constants

GOOD = {
    "name": "fixed_us", "value": "3.4", "unit": "us", "family": "hopper", "basis": "measured", "n": "5000",
    "error": "0.06", "source": "a table", "date": "2026-11",
}  # fmt: skip


def file_of(tmp_path, *rows, columns=tuple(GOOD)):
    path = tmp_path / "some.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def row(**changed):
    return tuple((GOOD | changed).values())


def test_a_row_is_typed(tmp_path):
    (found,) = read_constants(file_of(tmp_path, row()))
    assert (found.name, found.value, found.unit, found.basis, found.n) == ("fixed_us", 3.4, "us", "measured", 5000)
    assert found.scope == {"family": "hopper"}
    assert found.prior is None


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("unit", "furlongs"), ("unit", ""), ("basis", "calibrated"), ("basis", "Measured"), ("basis", ""),
        ("value", "three"), ("value", ""), ("value", "nan"), ("value", "inf"), ("n", "many"), ("n", ""), ("n", "0"),
        ("n", "-3"), ("error", "small"), ("error", "6"), ("source", ""), ("source", "  "), ("date", ""),
        ("date", "last week"), ("date", "2026-13"), ("name", ""),
    ],
)  # fmt: skip
def test_a_cell_that_says_nothing_is_refused_by_its_column(tmp_path, column, cell):
    with pytest.raises(ConstantsFileError, match=f"some.csv line 2, {column}: "):
        read_constants(file_of(tmp_path, row(**{column: cell})))


def test_an_unknown_column_is_refused(tmp_path):
    with pytest.raises(ConstantsFileError, match="no such column: 'gpu_family'"):
        read_constants(file_of(tmp_path, (*row(), "x"), columns=(*GOOD, "gpu_family")))


@pytest.mark.parametrize("missing", ["name", "value", "unit", "basis", "n", "error", "source", "date"])
def test_a_missing_column_is_refused(tmp_path, missing):
    columns = tuple(name for name in GOOD if name != missing)
    with pytest.raises(ConstantsFileError, match=f"the column '{missing}' is missing"):
        read_constants(file_of(tmp_path, columns=columns))


@pytest.mark.parametrize("cells", [row()[:-1], (*row(), "more")])
def test_a_row_of_another_length_is_refused(tmp_path, cells):
    with pytest.raises(ConstantsFileError, match="more or fewer cells"):
        read_constants(file_of(tmp_path, cells))


def test_the_same_constant_twice_is_refused(tmp_path):
    with pytest.raises(ConstantsFileError, match="line 3: fixed_us is said in line 2 already"):
        read_constants(file_of(tmp_path, row(), row(value="4")))


def test_a_table_refuses_a_row_that_is_no_field_and_a_field_without_row(tmp_path):
    (strange,) = read_constants(file_of(tmp_path, row(name="speed")))
    with pytest.raises(ConstantsFileError, match="'speed' is none of fixed_us, bandwidth_share"):
        kernels.typed(kernels.KernelRow, {"speed": strange})
    (alone,) = read_constants(file_of(tmp_path, row()))
    with pytest.raises(ConstantsFileError, match="bandwidth_share is missing for hopper"):
        kernels.typed(kernels.KernelRow, {"fixed_us": alone})


def test_every_shipped_row_can_be_read_and_names_its_evidence():
    rows = all_constants()
    assert len(rows) > 400
    assert {row.basis for row in rows} == set(Basis)
    assert {row.scope["family"] for row in rows if "family" in row.scope} <= set(FAMILIES)
    assert not [row for row in rows if row.basis is Basis.JUDGEMENT and row.n]


def test_every_file_of_constants_is_used():
    names = {path.name for path in DATA_DIR.glob("*.csv")}
    assert names - {"families.csv"} == {row.file for row in all_constants()}


def test_a_family_is_known_by_capability_or_vendor():
    assert family_of("NVIDIA", "9.0") == "hopper"
    assert family_of("AMD", "gfx1100") == family_of("AMD", "GFX1151") == "rdna3"
    assert family_of("Apple", "-") == "apple"
    assert family_of("AMD", "") is None
    assert family_of("Google", "-") is None


def test_rows_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernels.shipped().gemm["hopper", "bf16"].fixed_us = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        kernels.shipped().gemm["hopper", "bf16"] = None  # type: ignore[index]
