"""Who may see a report: people, groups, and links for those without a login."""

from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core import signing
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from reports import clock
from reports.models import Report, ReportShare, ReportVersion, ShareLink

_SALT = "reports.share-link"


class UnknownNameError(LookupError):
    """There is no such person or group."""


class LinkGoneError(Exception):
    """The link was good once: expired, revoked, its report archived, or its maker without access."""


def share(report: Report, *, by: Any, user: str | None, group: str | None) -> ReportShare:
    """Give one person or one group read access; giving it twice changes nothing.

    Raises:
        UnknownNameError: There is no such person or group.
    """
    target: dict[str, Any]
    if user is not None:
        target = {"user": get_user_model().objects.filter(username=user, is_active=True).first()}
    else:
        target = {"group": Group.objects.filter(name=group).first()}
    if None in target.values():
        raise UnknownNameError(_("There is no such person or group."))
    entry, _made = ReportShare.objects.get_or_create(report=report, **target, defaults={"created_by": by})
    return entry


def create_link(version: ReportVersion, *, by: Any, file_format: str, days: int) -> ShareLink:
    """A link to one version in one format that ends after `days`."""
    return ShareLink.objects.create(
        version=version, format=file_format, created_by=by, expires_at=clock.now() + timedelta(days=days)
    )


def revoke_link(link: ShareLink) -> None:
    """End a link now; one that has ended stays as it is."""
    ShareLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=Now())


def signed(link: ShareLink) -> str:
    """The signed text of the link's address."""
    return signing.Signer(salt=_SALT).sign(link.pk)


def open_link(text: str) -> ShareLink:
    """The link that a signed text opens; notes its use.

    Raises:
        signing.BadSignature: The text is not ours.
        LinkGoneError: It is, but opens nothing any more.
    """
    link_id = signing.Signer(salt=_SALT).unsign(text)
    link = (
        ShareLink.objects.select_related("version__report", "created_by")
        .filter(Q(pk=link_id), revoked_at__isnull=True, expires_at__gt=Now())
        .first()
    )
    if link is None or not _maker_may(link):
        raise LinkGoneError
    ShareLink.objects.filter(pk=link.pk).update(last_used_at=Now())
    return link


def _maker_may(link: ShareLink) -> bool:
    report = link.version.report
    return report.archived_at is None and Report.objects.visible_to(link.created_by).filter(pk=report.pk).exists()
