"""Writes docs/architectures.md from the shipped models and their exact answers."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from estimator.validation.architectures import document


class Command(BaseCommand):
    """`manage.py write_architectures_doc`."""

    help = "Write docs/architectures.md."

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the document."""
        path = Path(settings.BASE_DIR) / "docs" / "architectures.md"
        path.write_text(document(), encoding="utf-8")
        self.stdout.write(str(path))
