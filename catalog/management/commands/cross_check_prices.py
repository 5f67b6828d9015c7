"""`manage.py cross_check_prices`: compares every price in force with public lists and keeps what they say otherwise."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from catalog.importers.public_lists import (
    ListedModel,
    ListedPrice,
    PublicList,
    public_lists,
    read_list,
    read_models,
    write_kept,
)
from catalog.models import ApiModel, ApiPrice
from catalog.services import cross_check


class Command(BaseCommand):
    """Prints how many prices each list states alike and otherwise; then keeps the disputes in one transaction."""

    help = "Compare every price in force with public lists (data of the catalog, no network)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--dry-run", action="store_true", help="Print what was found; write nothing.")
        parser.add_argument(
            "--read",
            action="append",
            default=[],
            metavar="LIST=FILE",
            help="Compare with this file of a list in place of the one kept in the catalog's data.",
        )
        parser.add_argument(
            "--keep",
            action="store_true",
            help="Write what was read into the catalog's data, of models that have prices; compare nothing.",
        )

    def handle(self, *, dry_run: bool, read: list[str], keep: bool, verbosity: int, **_: Any) -> None:
        """Read, compare, print, write."""
        texts = [self._named(each) for each in read]
        if keep:
            for which, text in texts:
                self._keep(which, text)
            return
        found = cross_check.compare({which.name: read_list(which, text) for which, text in texts})
        for count in found.counts:
            self.stdout.write(
                f"{count.label}: {count.models} models; {count.agree} prices alike, {count.differ} otherwise, "
                f"{count.explained} otherwise for a known reason, {count.not_stated} not stated"
            )
        self.stdout.write(f"{found.disputed} of {found.prices} prices in force are disputed; {len(found.changes)} new.")
        changed = ApiPrice.objects.in_bulk(found.changes) if verbosity > 1 else {}
        for pk, row in sorted(changed.items()):
            words = "; ".join(f"{each['list']} has {each['amount']} ({each['source']})" for each in found.changes[pk])
            self.stdout.write(f"  ~ {row}: {words or 'no longer disputed'}")
        if dry_run:
            self.stdout.write("Dry run: nothing was written.")
            return
        cross_check.apply(found)

    def _named(self, option: str) -> tuple[PublicList, bytes]:
        name, _equals, path = option.partition("=")
        which = next((each for each in public_lists() if each.name == name), None)
        if which is None:
            raise CommandError(f"--read: there is no list {name!r}; known: {', '.join(x.name for x in public_lists())}")
        try:
            return which, Path(path).read_bytes()
        except OSError as missing:
            raise CommandError(f"--read: {missing}") from missing

    def _keep(self, which: PublicList, text: bytes) -> None:
        prices, models = read_list(which, text), read_models(which, text)
        listed = {(price.seller, price.model.lower()) for price in prices}
        priced = ApiPrice.objects.filter(voided_at__isnull=True).values_list("provider__slug", "model", "slug")
        names = {name for found in cross_check.names_on_list(priced.distinct(), listed).values() for name in found}
        kept = [price for price in prices if (price.seller, price.model.lower()) in names]
        known = {(seller, model.lower()) for seller, model in ApiModel.objects.values_list("provider__slug", "model")}
        said = [model for model in models if (model.seller, model.model.lower()) in known]
        write_kept(which.kept_prices, kept, ListedPrice._fields)
        if said:
            write_kept(which.kept_models, said, ListedModel._fields)
        self.stdout.write(f"{which.label}: {len(kept)} prices and {len(said)} models are kept")
