"""Writes docs/constants.md from the rows of constants."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from estimator.constants.page import document


class Command(BaseCommand):
    """`manage.py write_constants_doc`."""

    help = "Write docs/constants.md."

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the document."""
        path = Path(settings.BASE_DIR) / "docs" / "constants.md"
        path.write_text(document(), encoding="utf-8")
        self.stdout.write(str(path))
