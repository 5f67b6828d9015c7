"""Whether the catalog in the database is that of the data files: a second start has nothing to load then."""

import hashlib
import importlib.metadata
import json
from pathlib import Path

from django.apps import apps
from django.conf import settings

from catalog.revisions import current_revision

_FOLDERS = ("catalog", "estimator")
_PACKAGE = "genai-prices"


def is_loaded() -> bool:
    """Whether the data files, the code that reads them and the database are those of the last load.

    A person's edits raise the revision and are no reason to load; a database that was emptied or put back has a lower
    one.
    """
    try:
        noted = json.loads(_file().read_text(encoding="utf-8"))
        loaded, revision = noted["loaded"], int(noted["revision"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    rows = apps.get_model("catalog", "Gpu").objects.exists()
    return bool(rows and loaded == _fingerprint() and current_revision().number >= revision > 0)


def note() -> None:
    """Writes down what has just been loaded."""
    path = _file()
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(json.dumps({"loaded": _fingerprint(), "revision": current_revision().number}))
    temporary.replace(path)


def _file() -> Path:
    folder: Path = settings.DATA_DIR
    return folder / "catalog-loaded.json"


def _fingerprint() -> str:
    """Of the database's address, the price package and every file of the folders that are read or do the reading."""
    found = hashlib.sha256()
    database = settings.DATABASES["default"]
    for text in (str(database.get("NAME")), str(database.get("HOST")), importlib.metadata.version(_PACKAGE)):
        found.update(text.encode() + b"\0")
    root: Path = settings.BASE_DIR
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(str(path.relative_to(root)).encode() + b"\0")
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
