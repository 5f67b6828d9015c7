"""The decision of a version as its reader gets it: the stored one, or that of an older release's rows."""

import logging
from collections import OrderedDict

from django.utils.translation import gettext as _

from reports.choices import State
from reports.decision.block import decide
from reports.decision.parts import Decision
from reports.errors import ReportError
from reports.models import ReportVersion
from reports.storage import rows_path

log = logging.getLogger(__name__)
# Versions of older releases whose decision was read last in this process; a complete version never changes.
_KEPT = 32
_derived: OrderedDict[int, Decision] = OrderedDict()


def decision_of(version: ReportVersion) -> tuple[Decision | None, str | None]:
    """The decision of a version, or None and why there is none."""
    if version.state != State.COMPLETE:
        return None, _("The version is not complete.")
    if version.decision is not None:
        return Decision.model_validate(version.decision), None
    found = _derived.get(version.pk)
    if found is None:
        try:
            rows = rows_path(version)
        except ReportError as error:
            return None, error.text
        try:
            found = decide(rows, version.inputs, version.snapshot, version.summary)
        except (ValueError, LookupError, TypeError) as error:
            log.warning("no decision can be derived for version %s", version.pk, exc_info=error)
            return None, _("This release cannot read what the version was ordered with: rebuild it for a decision.")
        _derived[version.pk] = found
        while len(_derived) > _KEPT:
            _derived.popitem(last=False)
    return found, None
