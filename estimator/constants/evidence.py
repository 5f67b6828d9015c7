"""What has been measured: cells of engine, GPU family, class, architecture, format and split, and who measured them.

The file is written from the shipped measurements (`manage.py validate --write`); a test keeps it current.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType

PATH = Path(__file__).parent / "evidence.csv"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Cell:
    """One kind of setting: metric group (online, offline, static), profile and its engine, and what ran.

    `architecture` is the model's family; `weights` the format of most weights; `split` one, tp, ep, dp or pp.
    """

    metrics: str
    profile: str
    engine: str
    family: str
    model_class: str
    architecture: str
    weights: str
    split: str


@cache
def evidence() -> Mapping[Cell, frozenset[str]]:
    """The sources of each cell that has been measured."""
    with PATH.open(encoding="utf-8", newline="") as stream:
        return MappingProxyType(
            {
                Cell(**{each.name: row[each.name] for each in fields(Cell)}): frozenset(row["sources"].split())
                for row in csv.DictReader(stream)
            }
        )


def write_evidence(cells: Mapping[Cell, Iterable[str]], path: Path = PATH) -> None:
    """Stores the cells with their sources, sorted."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*(each.name for each in fields(Cell)), "sources"])
        for cell in sorted(cells):
            writer.writerow([*astuple(cell), " ".join(sorted(cells[cell]))])
