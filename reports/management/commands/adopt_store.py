"""`adopt_store`: the database goes with the store of report files that is there."""

from typing import Any

from django.core.management.base import BaseCommand

from reports.services import own_store


class Command(BaseCommand):
    """After a move or a restore: says that this folder or bucket is the right one."""

    help = "Have the database go with the store of report files that is there; only if it is the right one."

    def handle(self, *args: Any, **options: Any) -> None:
        """Adopts and says the identity."""
        self.stdout.write(f"The database goes with store {own_store.adopt()}.")
