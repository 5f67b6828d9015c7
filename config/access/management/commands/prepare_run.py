"""`manage.py prepare_run`: what `make run` does before it starts web and worker, in one process."""

import json
import sys
from typing import Any

from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand

from config.access.demo import ensure_demo


class Command(BaseCommand):
    """Migrates, loads the catalog, makes the demo user; the last line of the output is the demo user as JSON."""

    help = "Migrates, loads the catalog and makes the demo user."

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs the steps; their messages go to standard error."""
        call_command("migrate", interactive=False, verbosity=0, stdout=sys.stderr)
        if "load_catalog" in get_commands():
            call_command("load_catalog", stdout=sys.stderr)
        self.stdout.write(json.dumps(ensure_demo()))
