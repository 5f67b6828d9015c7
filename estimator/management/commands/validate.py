"""`manage.py validate`: the accuracy table, recomputed from the shipped measurements."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from estimator.constants.evidence import write_evidence
from estimator.validation.evidence import cells
from estimator.validation.leave_out import write_left_out
from estimator.validation.rows import read_measurements, used
from estimator.validation.table import as_csv, as_json, build_table
from estimator.validation.text import as_markdown, as_text

_FORMS = {"table": as_text, "json": as_json, "csv": as_csv, "markdown": as_markdown}


class Command(BaseCommand):
    """Scores the engine against published measurements and prints the table."""

    help = "Recomputes the accuracy table against published measurements."

    def add_arguments(self, parser: CommandParser) -> None:
        """Takes the form of the output, other rows, and whether to write the docs."""
        parser.add_argument("--format", choices=sorted(_FORMS), default="table", help="Form of the output.")
        parser.add_argument("--rows", type=Path, help="Another file of rows, in the form of the shipped one.")
        parser.add_argument("--leave-out", action="store_true", help="Refit without each model and GPU first (slow).")
        parser.add_argument("--write", action="store_true", help="Write docs/accuracy.md anew.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Builds the table once and prints or writes it."""
        if options["leave_out"]:
            write_left_out()
        if options["write"]:
            write_evidence(cells(used(read_measurements())))
        rows = read_measurements(options["rows"]) if options["rows"] else None
        table = build_table(rows)
        if options["write"]:
            path = Path(settings.BASE_DIR) / "docs" / "accuracy.md"
            path.write_text(as_markdown(table), encoding="utf-8")
            self.stdout.write(str(path))
            return
        self.stdout.write(_FORMS[options["format"]](table), ending="")
