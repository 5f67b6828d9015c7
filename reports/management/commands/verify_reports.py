"""`manage.py verify_reports`: reads every stored file and says which are not what was written."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reports.services.verifying import verify_all


class Command(BaseCommand):
    """Checks all reports; ends with an error when anything is missing or damaged."""

    help = "Read every stored report file; exits with 1 when one is not there or is not what was written."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Arguments of the command."""
        parser.add_argument("--all", action="store_true", help="print what is sound too")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, print the faults and count."""
        count = faults = 0
        for checked in verify_all():
            count += 1
            faults += bool(checked.fault)
            if checked.fault or options["all"]:
                self.stdout.write(f"{checked.what}: {checked.fault or 'sound'}")
        if faults:
            raise CommandError(f"{faults} of {count} files are not as they were written.")
        self.stdout.write(f"{count} files, all as they were written.")
