"""Reads the catalog's own data files into records: the values each row should have, whatever the database holds."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from catalog.canonical import sha256_of
from catalog.engine_constants import memory_policy, speed_constants
from catalog.models.gpu import DTYPES
from catalog.reading import read_model

DATA_DIR = Path(__file__).parent / "data"
MIB = 2**20


class DataFileError(ValueError):
    """A data file that cannot be used, naming file and record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row to be: values by model field, and rows that belong to it by their relation's name.

    `held` says why the row cannot be loaded, as when a person took out what it points to; empty when it can.
    """

    slug: str
    values: Mapping[str, Any]
    children: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    held: str = ""

    @property
    def sha256(self) -> str:
        """Hash of all values; what the loader compares to know whether anything changed."""
        return sha256_of({"values": plain(self.values), "children": plain(self.children)})


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """The records of one file and the version it states."""

    name: str
    version: str
    records: tuple[Record, ...]


def read_file(name: str, key: str, build: Callable[[Mapping[str, Any]], Record]) -> DataFile:
    """The file `name` of the data directory, its list `key` turned into records by `build`.

    Raises:
        DataFileError: the file is not as it should be, or names a slug twice.
    """
    content = _load(DATA_DIR / name)
    entries = content if isinstance(content, list) else content[key]
    version = "" if isinstance(content, list) else str(content["version"])
    records: dict[str, Record] = {}
    for position, entry in enumerate(entries):
        slug = entry.get("slug", f"entry {position}")
        if slug in records:
            raise DataFileError(f"{name}: {slug} is listed twice")
        try:
            records[slug] = build(entry)
        except (KeyError, TypeError, ValueError) as broken:
            raise DataFileError(f"{name}: {slug}: {type(broken).__name__}: {broken}") from broken
    return DataFile(name=name, version=version, records=tuple(records.values()))


def gpus() -> DataFile:
    """The accelerators."""
    return read_file("gpus.yaml", "gpus", _gpu)


def engines() -> DataFile:
    """The engine profiles."""
    return read_file("engines.yaml", "engines", _engine)


def presets() -> DataFile:
    """The use cases."""
    return read_file("presets.yaml", "presets", lambda entry: _record(entry, dates=("source_date",)))


def language_models() -> DataFile:
    """The language models, each read by the config reader."""
    return read_file("models.yaml", "models", _language_model)


def _gpu(entry: Mapping[str, Any]) -> Record:
    values = dict(entry)
    peaks = values.pop("peak_flops_per_s", {})
    unknown = set(peaks) - set(DTYPES)
    if unknown:
        raise ValueError(f"no such dtype: {sorted(unknown)[0]}")
    for dtype in DTYPES:
        values[f"peak_{dtype}_flops_per_s"] = None if dtype not in peaks else float(peaks[dtype])
    for dtype, value in values.pop("measured_matmul_flops_per_s", {}).items():
        values[f"measured_matmul_{dtype}_flops_per_s"] = float(value)
    driver_mib = values.pop("memory_driver_mib", None)
    values["memory_driver_bytes"] = None if driver_mib is None else driver_mib * MIB
    for name in ("memory_bandwidth_bytes_per_s", "link_bytes_per_s_per_direction", "bridge_bytes_per_s_per_direction"):
        if values.get(name) is not None:
            values[name] = float(values[name])
    return _record(values, dates=("launch_date",))


def _engine(entry: Mapping[str, Any]) -> Record:
    values = dict(entry)
    values["speed_constants"] = speed_constants(values.pop("speed_constants_of", entry["slug"]), entry["kind"])
    memory = memory_policy(entry["slug"], values["memory_policy"], values.pop("memory_constants_of", ()))
    values["memory_policy"] = memory
    # Constants of another engine are judgement here: no measured row of this one is in their fit.
    if basis := values.pop("speed_constants_basis", None):
        values["speed_constants"]["basis"] = basis
    return _record(values, dates=("source_date",))


def _language_model(entry: Mapping[str, Any]) -> Record:
    values = dict(entry)
    config = values.pop("config")
    checkpoints = [_with_dates(checkpoint, ("source_date",)) for checkpoint in values.pop("checkpoints", [])]
    for name in ("config_sha256", "context_window_tokens", "family"):
        values.setdefault(name, None)
    read = read_model(config, name=values["name"])
    values |= {
        "family": values["family"] or read.family,
        "architecture": read.architecture,
        "config": dict(config),
        "config_sha256": values["config_sha256"] or read.config_sha256,
        "total_parameters": read.total_parameters,
        "active_parameters": read.active_parameters,
        "experts": read.experts,
        "context_window_tokens": values["context_window_tokens"] or read.context_window_tokens,
    }
    record = _record(values, dates=("source_date", "released_on"))
    return Record(slug=record.slug, values=record.values, children={"checkpoints": checkpoints})


def _record(entry: Mapping[str, Any], *, dates: Sequence[str]) -> Record:
    return Record(slug=entry["slug"], values=_with_dates(entry, dates))


def _with_dates(entry: Mapping[str, Any], dates: Sequence[str]) -> dict[str, Any]:
    values = dict(entry)
    for name in dates:
        if isinstance(values.get(name), str):
            values[name] = datetime.date.fromisoformat(values[name])
    return values


def plain(value: Any) -> Any:
    """A value as JSON has it: dates as text, tuples as lists."""
    if isinstance(value, Mapping):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [plain(child) for child in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def _load(path: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=loader)  # noqa: S506  both are safe loaders
    except (OSError, yaml.YAMLError) as broken:
        raise DataFileError(f"{path.name}: {broken}") from broken
