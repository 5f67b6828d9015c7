"""The user `demo` of `make run`, whose password and token can be shown again on every start."""

import json
import os
import secrets
from pathlib import Path
from typing import TypedDict

from django.conf import settings

from catalog.api.permissions import SCOPES
from config.access.models import User
from config.access.tokens import find_token, issue_token

USERNAME = "demo"


class Demo(TypedDict):
    """What `make run` prints."""

    username: str
    password: str
    token: str


def ensure_demo() -> Demo:
    """The demo user with a password and token that work; made where they do not.

    They are kept in a file of the data folder that only its owner can read, because the database holds no secret that
    could be shown again.

    Raises:
        RuntimeError: in production, where there is no demo user.
    """
    if settings.AFORO_ENVIRONMENT == "production":
        raise RuntimeError("There is no demo user in production.")
    path: Path = settings.DATA_DIR / "demo.json"
    user, _ = User.objects.get_or_create(username=USERNAME, defaults={"is_staff": True, "is_superuser": True})
    kept = _read(path)
    password = kept.get("password", "")
    if not password or not user.check_password(password):
        password = secrets.token_urlsafe(9)
        user.set_password(password)
        user.save(update_fields=["password"])
    token = kept.get("token", "")
    found = find_token(token)
    if found is None or found.user_id != user.pk:
        token = issue_token(user, "make run", scopes=SCOPES)[1]
    demo = Demo(username=USERNAME, password=password, token=token)
    _write(path, demo)
    return demo


def _read(path: Path) -> dict[str, str]:
    try:
        kept = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _write(path: Path, demo: Demo) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(demo, file)
    temporary.replace(path)
