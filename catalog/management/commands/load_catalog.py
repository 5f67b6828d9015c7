"""`manage.py load_catalog`: loads the catalog's own data files."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from catalog.data_files import DataFileError
from catalog.services import loading

_LONGEST_VALUE = 60


class Command(BaseCommand):
    """Prints what would be added, changed and left, and why; then writes it in one transaction."""

    help = "Load accelerators, engine profiles, use cases and language models from the catalog's data files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--dry-run", action="store_true", help="Print what would be done; write nothing.")

    def handle(self, *, dry_run: bool, verbosity: int, **_: Any) -> None:
        """Plan, print, write."""
        try:
            plans = loading.plan_all()
        except DataFileError as broken:
            raise CommandError(str(broken)) from broken
        for plan in plans:
            self._print(plan, verbosity)
        if dry_run:
            self.stdout.write("Dry run: nothing was written.")
            return
        loading.load(plans)

    def _print(self, plan: loading.LoadPlan, verbosity: int) -> None:
        label = plan.model._meta.verbose_name_plural
        self.stdout.write(
            f"{label} from {plan.file.name} ({plan.file.version}): {len(plan.add)} to add, "
            f"{len(plan.change)} to change, {plan.unchanged} unchanged, {len(plan.left)} left alone"
        )
        if verbosity > 1:
            for record in plan.add:
                self.stdout.write(f"  + {record.slug}")
        for change in plan.change:
            self.stdout.write(f"  ~ {change.row.slug}")
            for field in change.changes:
                self.stdout.write(f"      {field.field}: {_short(field.before)} -> {_short(field.after)}")
        for slug, reason in plan.left:
            self.stdout.write(f"  = {slug}: {reason}")


def _short(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
