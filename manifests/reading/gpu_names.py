"""Which GPU a node's label or type of machine means; the list with its sources is data/gpu_labels.yaml."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).parents[1] / "data" / "gpu_labels.yaml"


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return found


@cache
def label_keys() -> dict[str, int]:
    """Keys of labels that name a GPU, with their rank: the lowest is believed first."""
    return {key: rank for rank, key in enumerate(_data()["labels"].split())}


@cache
def _values() -> dict[str, str]:
    return {name: slug for entry in _data()["values"] for name, slug in entry["gpus"].items()}


@cache
def _machines() -> tuple[tuple[str, str], ...]:
    found = [one for entry in _data()["machines"] for one in entry["begins"].items()]
    return tuple(sorted(found, key=lambda one: -len(one[0])))


def gpu_of_label(value: str) -> str | None:
    """The slug that a label's value or a type of machine stands for; None where the lists do not say it.

    >>> gpu_of_label("nvidia-h100-mega-80gb"), gpu_of_label("p5.48xlarge"), gpu_of_label("p5"), gpu_of_label("a100")
    ('h100-sxm5-80gb', 'h100-sxm5-80gb', 'h100-sxm5-80gb', None)
    """
    text = value.strip().lower()
    # Products that share a card say so behind their name.
    text = text.removesuffix("-shared")
    # A family of AWS is the beginning of its machines without the dot.
    machine = (slug for begin, slug in _machines() if text.startswith(begin) or f"{text}." == begin)
    return _values().get(text) or next(machine, None)
