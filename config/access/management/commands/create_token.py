"""`manage.py create_token USER NAME`: a new API token, shown once."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from catalog.api.permissions import SCOPES
from config.access.models import User
from config.access.tokens import issue_token


class Command(BaseCommand):
    """Makes a token and prints it; it cannot be shown again."""

    help = "Makes an API token for a user and prints it once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """User, name, and what limits the token."""
        parser.add_argument("user", help="username")
        parser.add_argument("name", help="what the token is for")
        parser.add_argument(
            "--scope", action="append", choices=SCOPES, help="what it may do; repeatable; without, it reads"
        )
        parser.add_argument("--days", type=int, help="days until it expires; without, AFORO_TOKEN_DAYS")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the token alone, so that scripts can take it."""
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(_("There is no user %(name)s.") % {"name": options["user"]})
        days: int | None = options["days"]
        if days is not None and days < 1:
            raise CommandError(_("--days must be at least 1."))
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        self.stdout.write(issue_token(user, options["name"], scopes=options["scope"], expires_at=expires_at)[1])
