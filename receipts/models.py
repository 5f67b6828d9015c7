"""Predictions and measurements, which never change once they are kept, and calibrations, which may be switched off."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from receipts.querysets import KeptQuerySet


class Prediction(models.Model):
    """What was said before anybody measured: question, answer and versions under one hash. Triggers refuse changes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    kind = models.CharField(_("kind"), max_length=40, help_text=_("The estimate, or report_row."))
    inputs = models.JSONField(_("question"))
    answer = models.JSONField(_("answer"))
    figures = models.JSONField(_("figures"), default=dict)
    estimator_version = models.CharField(_("estimator version"), max_length=40)
    constants_revision = models.CharField(_("constants"), max_length=12)
    catalog_revision = models.PositiveBigIntegerField(_("catalog revision"))
    sha256 = models.CharField(_("sha256"), max_length=64)
    public = models.BooleanField(_("public"), default=False)
    created_at = models.DateTimeField(_("kept at"))

    objects = KeptQuerySet.as_manager()

    class Meta:
        verbose_name = _("prediction")
        verbose_name_plural = _("predictions")
        ordering = ["-created_at", "id"]
        indexes = [models.Index(fields=["owner", "-created_at"], name="prediction_owner")]

    def __str__(self) -> str:
        return self.name or f"{self.kind} {self.sha256[:12]}"


class Measurement(models.Model):
    """A file as read, and what the estimate says of each of its runs; the text itself is not kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    prediction = models.ForeignKey(
        Prediction, on_delete=models.PROTECT, null=True, blank=True, related_name="measurements"
    )
    text_sha256 = models.CharField(max_length=64)
    read = models.JSONField(_("as read"))
    stated = models.JSONField(_("stated beside the file"), default=dict)
    runs = models.JSONField(_("said and measured"))
    scope = models.JSONField(_("setting"), null=True, blank=True)
    model = models.CharField(_("model"), max_length=200)
    gpu = models.CharField(_("GPU"), max_length=100)
    engine = models.CharField(_("engine"), max_length=100)
    model_class = models.CharField(_("class"), max_length=40, blank=True, default="")
    estimator_version = models.CharField(_("estimator version"), max_length=40)
    constants_revision = models.CharField(_("constants"), max_length=12)
    catalog_revision = models.PositiveBigIntegerField(_("catalog revision"))
    public = models.BooleanField(_("public"), default=False)
    created_at = models.DateTimeField(_("kept at"))

    objects = KeptQuerySet.as_manager()

    class Meta:
        verbose_name = _("measurement")
        verbose_name_plural = _("measurements")
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="measurement_owner"),
            models.Index(fields=["-created_at"], name="measurement_public", condition=Q(public=True)),
        ]

    def __str__(self) -> str:
        return self.name or f"{self.model} {self.gpu} {self.text_sha256[:12]}"


class Calibration(models.Model):
    """What a few runs of one setting say of its speed; its owner's alone until an editor shares it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(_("name"), max_length=200)
    scope = models.JSONField(_("setting"))
    metrics = models.JSONField(_("figures corrected"))
    points = models.JSONField(_("runs"))
    gains = models.JSONField(_("error of runs left out"))
    measurements = models.ManyToManyField(Measurement, related_name="calibrations")
    enabled = models.BooleanField(_("switched on"), default=True)
    shared = models.BooleanField(_("shared"), default=False)
    shared_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    estimator_version = models.CharField(_("estimator version"), max_length=40)
    constants_revision = models.CharField(_("constants"), max_length=12)
    created_at = models.DateTimeField(_("made at"), db_default=Now())

    objects = KeptQuerySet.as_manager()

    class Meta:
        verbose_name = _("calibration")
        verbose_name_plural = _("calibrations")
        ordering = ["-created_at", "id"]
        permissions = [("share_calibration", "Can share a calibration with everybody")]
        indexes = [models.Index(fields=["owner", "-created_at"], name="calibration_owner")]

    def __str__(self) -> str:
        return self.name
