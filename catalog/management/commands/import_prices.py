"""`manage.py import_prices`: compares or imports the price data bundled in genai-prices."""

import datetime
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from catalog.services import price_sources
from catalog.services.price_import import ImportPlan


class Command(BaseCommand):
    """Prints what would be added, closed and left, and why; then writes it in one transaction."""

    help = "Import API prices from the data bundled in the installed genai-prices package (no network)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--dry-run", action="store_true", help="Print what would be done; write nothing.")
        parser.add_argument(
            "--observed-on",
            type=datetime.date.fromisoformat,
            help="Day the package's content is of, where its release is not listed in price_packages.yaml.",
        )

    def handle(self, *, dry_run: bool, verbosity: int, observed_on: datetime.date | None = None, **_: Any) -> None:
        """Plan, print, write."""
        plan = price_sources.plan_genai_prices(observed_on=observed_on)
        print_plan(self, plan, verbosity)
        if dry_run:
            self.stdout.write("Dry run: nothing was written.")
            return
        price_sources.apply(plan)


def print_plan(command: BaseCommand, plan: ImportPlan, verbosity: int) -> None:
    """The plan as lines: a summary, the closings, what people took out; with -v 2 every addition and row left alone."""
    out = command.stdout
    out.write(
        f"API prices from {plan.source.source} {plan.source.version} (sha256 {plan.source.sha256[:12]}, "
        f"of {plan.source.retrieved_on or 'no known day'}): "
        f"{len(plan.add)} to add, {len(plan.close)} to close, {plan.unchanged} unchanged, {len(plan.left)} left alone"
    )
    for closing in plan.close:
        what = (
            f"x {closing.row} is voided: {closing.void_reason}"
            if closing.void
            else f"~ {closing.row} ends {closing.on}"
        )
        out.write(f"  {what}")
    for left in plan.left:
        if left.by_person or verbosity > 1:
            out.write(f"  = {' '.join(str(part) for part in left.key if part)}: {left.reason}")
    if plan.unpriced:
        out.write(f"  ? {len(plan.unpriced)} models have no price there and are not free: {', '.join(plan.unpriced)}")
    if verbosity < 2:
        return
    for price in plan.add:
        out.write(
            f"  + {price.slug} {price.channel} {price.meter} > {price.tier_above_tokens} {price.window_key}: "
            f"{price.amount} {price.currency}/{price.unit} from {price.effective_from or 'ever'} "
            f"to {price.effective_to or 'further notice'} ({price.basis})"
        )
