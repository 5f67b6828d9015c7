"""One row of each kind and one person of each kind, for tests that ask who may do what."""

import hashlib
import json
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core import serializers
from django.test import Client
from django.utils import timezone

from catalog.api.permissions import SCOPES
from catalog.models import (
    ApiPrice,
    CachePolicy,
    Checkpoint,
    GpuOffer,
    LeftAlone,
    PriceList,
    PriceRule,
    Provider,
    Withdrawal,
)
from config.access.models import User
from config.access.tokens import issue_token, revoke_token
from receipts.models import Calibration, Measurement, Prediction
from reports.models import Artifact, Report, ReportSchedule, ReportShare, ReportVersion, ShareLink, Tombstone
from tests.catalog.factories import EngineProfileFactory, GpuFactory, LanguageModelFactory, PresetFactory

SECRET_NAME = "Project Nightjar"
AS_READ = {
    "format": "guidellm", "format_version": None, "engine": None, "engine_version": None, "model": None, "gpu": None,
    "gpus": None, "parallelism": {}, "weights": None, "kv_cache": None, "settings": {}, "date": None, "runs": [],
    "not_read": [],
}  # fmt: skip
SETTING = {
    "model": "gone", "gpu": "gone", "gpu_figures": {}, "engine": "gone-1", "engine_release": None,
    "parallelism": {"tp": 1, "pp": 1, "ep": 1, "dp": 1}, "precision": {}, "engine_settings": {}, "launch": "tuned",
}  # fmt: skip
VERBS = ("view", "add", "change", "delete")


def rows() -> dict[str, Any]:
    """One row of each model that a page or endpoint shows, by its label; the report is private and another's."""
    owner = staff("owner", *VERBS)
    now = timezone.now()
    model = LanguageModelFactory()
    provider = Provider.objects.create(slug="seller", name="Seller")
    prices = PriceList.objects.create(slug="list", name="List", source="s", retrieved_on=now.date())
    report = Report.objects.create(owner=owner, name=SECRET_NAME)
    version = ReportVersion.objects.create(
        report=report, number=1, created_by=owner, inputs={}, snapshot={}, total_rows=1, error=SECRET_NAME
    )
    made = [
        owner,
        Group.objects.create(name="finance"),
        issue_token(owner, SECRET_NAME)[0],
        GpuFactory(),
        model,
        Checkpoint.objects.create(model=model, precision="bf16", stored_weight_bytes=1, source="s"),
        EngineProfileFactory(),
        PresetFactory(),
        provider,
        prices,
        apps.get_model("catalog", "ApiModel").objects.create(slug="seller-m", name="M", provider=provider, model="m"),
        ApiPrice.objects.create(
            slug="seller-m", provider=provider, model="m", meter="input_tokens", unit="mtok", amount="1",
            currency="USD", basis="documented", source="s", date_seen=now.date(),
        ),
        CachePolicy.objects.create(slug="rules", name="Rules", provider=provider, mode="explicit", source="s"),
        GpuOffer.objects.create(
            slug="offer", name="Offer", provider="seller", market="on-demand", gpu_count=1,
            price_per_hour="1", price_per_gpu_hour="1", currency="USD", date_seen=now.date(), source="s",
        ),
        PriceRule.objects.create(
            slug="rule", name="Rule", provider=provider, kind="place", multiplier="2", source="s",
        ),
        Withdrawal.objects.create(kind="gpu", key="gone", taken="deleted"),
        LeftAlone.objects.create(source="gpus.yaml", kind="gpu", slug="gone", name="gone", reason="edited"),
        report,
        version,
        ReportShare.objects.create(report=report, group=Group.objects.get(), created_by=owner),
        ReportSchedule.objects.create(report=report, period="weekly", next_at=now, last_error=SECRET_NAME),
        ShareLink.objects.create(version=version, format="csv", created_by=owner, expires_at=now + timedelta(days=1)),
        Artifact.objects.create(version=version, format="xlsx", error=SECRET_NAME),
        kept := Prediction.objects.create(
            owner=owner, name=SECRET_NAME, kind="throughput", inputs={}, answer={}, estimator_version="1",
            constants_revision="1", catalog_revision=1, sha256="0" * 64, created_at=now,
        ),
        Measurement.objects.create(
            owner=owner, name=SECRET_NAME, prediction=kept, text_sha256="0" * 64, read=AS_READ, runs=[], model="m",
            gpu="g", engine="e", estimator_version="1", constants_revision="1", catalog_revision=1, created_at=now,
        ),
        Calibration.objects.create(
            owner=owner, name=SECRET_NAME, scope=SETTING, metrics=[], points=[], gains={}, estimator_version="1",
            constants_revision="1",
        ),
        Tombstone.objects.create(version_id=9, report_id=report.pk, report_name=SECRET_NAME, number=1, reason="r"),
    ]  # fmt: skip
    return {row._meta.label_lower: row for row in made}


def staff(name: str, *verbs: str, without: tuple[str, ...] = ()) -> User:
    """A member of staff with these verbs (view, add, change, delete) on every model, `without` some permissions."""
    user = User.objects.create_user(name, password="x" * 12, is_staff=True)
    content_types = ContentType.objects.filter(app_label__in=["access", "auth", "catalog", "receipts", "reports"])
    permissions = Permission.objects.filter(content_type__in=content_types)
    user.user_permissions.set(
        permission
        for permission in permissions
        if permission.codename.split("_")[0] in verbs and permission.codename not in without
    )
    return User.objects.get(pk=user.pk)


def signed_in(user: User | None) -> Client:
    """A browser of this person; None: of nobody."""
    client = Client(raise_request_exception=False)
    if user is not None:
        client.force_login(user)
    return client


def with_token(text: str) -> Client:
    """A program that sends this token."""
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {text}"})


def tokens_of(user: User) -> dict[str, Client]:
    """Programs with a token of each kind of this person."""
    found = {f"token:{scope}": with_token(issue_token(user, scope, scopes=[scope])[1]) for scope in SCOPES}
    found["token:every"] = with_token(issue_token(user, "every", scopes=SCOPES)[1])
    ended, text = issue_token(user, "ended", scopes=SCOPES)
    type(ended).objects.filter(pk=ended.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    found["token:expired"] = with_token(text)
    revoked, text = issue_token(user, "revoked", scopes=SCOPES)
    revoke_token(revoked)
    found["token:revoked"] = with_token(text)
    return found


# What a page may write when it is only looked at: that somebody was there.
_PRESENCE = {"sessions.session", "access.user", "admin.logentry"}


def fingerprint() -> str:
    """A hash of every row that looking at pages must not change."""
    digest = hashlib.sha256()
    for model in sorted(apps.get_models(include_auto_created=True), key=lambda model: model._meta.label_lower):
        if model._meta.label_lower not in _PRESENCE and model._meta.managed:
            found = serializers.serialize("json", model._default_manager.order_by("pk"))
            digest.update(json.dumps([model._meta.label, found]).encode())
    digest.update(json.dumps(list(User.objects.order_by("pk").values("pk", "is_staff", "is_superuser"))).encode())
    return digest.hexdigest()
