"""`manage.py prepare_run`: what `make run` does before it starts web and worker, in one process."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand, CommandParser

from config import catalog_load
from config.access.demo import ensure_demo


class Command(BaseCommand):
    """Migrates, loads the catalog, makes the demo user; the last line of the output is the demo user as JSON."""

    help = "Migrates, loads the catalog and makes the demo user."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--if-changed",
            action="store_true",
            help="Load the catalog only where its data files or the code that reads them have changed since.",
        )

    def handle(self, *args: Any, if_changed: bool = False, **options: Any) -> None:
        """Runs the steps; their messages go to standard error."""
        self._step(
            "database: migrations",
            lambda: call_command("migrate", interactive=False, verbosity=0, stdout=sys.stderr),
        )
        if "load_catalog" in get_commands():
            if if_changed and catalog_load.is_loaded():
                self.stderr.write("aforo: catalog: nothing has changed since it was loaded")
            else:
                self._step("catalog: models, GPUs, engines, prices (20 seconds the first time)", self._load)
        demo = self._step("demo user", ensure_demo)
        self.stdout.write(json.dumps(demo))

    def _load(self) -> None:
        call_command("load_catalog", stdout=sys.stderr)
        catalog_load.note()

    def _step(self, what: str, run: Callable[[], Any]) -> Any:
        """Runs a step, saying before what is done and after how long it took."""
        self.stderr.write(f"aforo: {what} …")
        self.stderr.flush()
        began_s = time.monotonic()
        found = run()
        self.stderr.write(f"aforo: {what.partition(':')[0]} ready after {time.monotonic() - began_s:.1f} s")
        return found
