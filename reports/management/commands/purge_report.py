"""`manage.py purge_report ID`: shows what would go; with --yes, a reason and a person it goes."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from reports.models import Report
from reports.services.purging import CannotPurgeError, plan, purge


class Command(BaseCommand):
    """Removes a report, or one version, for good. A dry run unless --yes is given."""

    help = "Remove a report or one of its versions for good; a tombstone with the hash remains."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Arguments of the command."""
        parser.add_argument("report", help="id of the report")
        parser.add_argument("--version-number", type=int, help="only this version")
        parser.add_argument("--reason", default="", help="why; kept in the tombstone")
        parser.add_argument("--by", default="", help="user name of the staff member who decides")
        parser.add_argument("--yes", action="store_true", help="do it; without, only show what would go")

    def handle(self, *args: Any, **options: Any) -> None:
        """Show or do it."""
        try:
            report = Report.objects.get(pk=options["report"])
            purge_plan = plan(report, options["version_number"])
        except (Report.DoesNotExist, ValidationError):
            raise CommandError("There is no such report.") from None
        except CannotPurgeError as error:
            raise CommandError(str(error)) from None
        for version in purge_plan.versions:
            self.stdout.write(f"version {version.number} ({version.state}, {version.total_rows} rows)")
        for name in purge_plan.files:
            self.stdout.write(f"file {name}")
        if purge_plan.whole:
            self.stdout.write(f"report {report.name}")
        if not options["yes"]:
            self.stdout.write("Dry run: nothing was removed. Add --yes --by USER --reason TEXT to remove it.")
            return
        person = get_user_model().objects.filter(username=options["by"], is_staff=True, is_active=True).first()
        if person is None:
            raise CommandError("--by must name an active staff member.")
        try:
            purge(purge_plan, by=person, reason=options["reason"])
        except CannotPurgeError as error:
            raise CommandError(str(error)) from None
        self.stdout.write("Removed; the tombstone keeps who, when, why and the hash.")
