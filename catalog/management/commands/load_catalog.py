"""`manage.py load_catalog`: loads the catalog's own data files."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from catalog.data_files import DataFileError
from catalog.management.commands.import_prices import print_plan
from catalog.revisions import catalog_write
from catalog.services import loading, price_sources

_LONGEST_VALUE = 60


class Command(BaseCommand):
    """Prints what would be added, changed and left, and why; then writes it in one transaction."""

    help = "Load accelerators, engine profiles, use cases, language models and prices from the catalog's data files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--dry-run", action="store_true", help="Print what would be done; write nothing.")
        parser.add_argument(
            "--without-genai-prices",
            action="store_true",
            help="Load our own price file only, not the data bundled in the genai-prices package.",
        )

    def handle(self, *, dry_run: bool, verbosity: int, without_genai_prices: bool, **_: Any) -> None:
        """Plan, print, write."""
        try:
            plans = loading.plan_all()
        except DataFileError as broken:
            raise CommandError(str(broken)) from broken
        for plan in plans:
            self._print(plan, verbosity)
        if dry_run:
            self.stdout.write("Dry run: nothing was written. Prices: manage.py import_prices --dry-run.")
            return
        with catalog_write(only_if_touched=True):
            loading.load(plans)
            self._load_prices(verbosity, with_package=not without_genai_prices)

    def _load_prices(self, verbosity: int, *, with_package: bool) -> None:
        try:
            done = price_sources.load_everything(with_package=with_package)
        except (DataFileError, ValueError) as broken:
            raise CommandError(str(broken)) from broken
        for plan in done:
            if isinstance(plan, loading.LoadPlan):
                self._print(plan, verbosity)
            else:
                print_plan(self, plan, verbosity)

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
