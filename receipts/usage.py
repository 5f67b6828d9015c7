"""Tells the catalog which of its rows calibrations and measurements are of; they hold no row to its constants."""

from django.utils.translation import ngettext

from catalog.usage import Usage
from receipts.models import Calibration, Measurement

KINDS = ("gpu", "model", "engine")


def calibrations_of(kind: str, slug: str) -> Usage:
    """How many calibrations are of settings with a catalog row."""
    count = Calibration.objects.filter(**{f"scope__{kind}": slug}).count() if kind in KINDS else 0
    label = ngettext("calibration", "calibrations", count)
    return Usage(label=label, count=count, url="/admin/receipts/calibration/", binds=False)


def measurements_of(kind: str, slug: str) -> Usage:
    """How many measurements were read of settings with a catalog row."""
    count = Measurement.objects.filter(**{kind: slug}).count() if kind in KINDS else 0
    label = ngettext("measurement", "measurements", count)
    return Usage(label=label, count=count, url="/admin/receipts/measurement/", binds=False)
