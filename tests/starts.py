"""Starts of the live service in a folder, and its end with the block."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import templates
from tests.live import LiveService, embedded_environment


@contextmanager
def started_in(folder: Path) -> Iterator[Callable[..., LiveService]]:
    """`start(environment, AFORO_SWEEP_CHUNK_ROWS="64")`: `make run`'s supervisor with its data in this folder.

    On embedded defaults it finds what an earlier start left, a migrated database with the catalog;
    `first_start=True` has it find nothing.
    """
    started: list[LiveService] = []

    def start(environment: dict[str, str] | None = None, *, first_start: bool = False, **extra: str) -> LiveService:
        if environment is None:
            environment = embedded_environment(folder)
            database = Path(environment["AFORO_DATA_DIR"]) / "aforo.sqlite3"
            if not first_start and not database.exists():
                database.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(templates.sqlite_file("whole"), database)
        service = LiveService(environment | extra, folder / f"supervisor-{len(started)}.log")
        started.append(service)
        service.start()
        return service

    try:
        yield start
    finally:
        for service in started:
            service.stop()
