"""Which reports somebody may see; every endpoint, page and admin list starts from here."""

from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.db.models import Q

from reports.choices import Visibility

if TYPE_CHECKING:
    from reports.models import Report  # noqa: F401  only the type checker reads the name


class ReportQuerySet(models.QuerySet["Report"]):
    """Reports narrowed to those a person may read."""

    def visible_to(self, user: Any) -> Self:
        """Own, shared with the person or one of their groups, open to all, or all with the view permission."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        if user.is_staff and user.has_perm("reports.view_report"):
            return self
        every = self.model._default_manager
        return self.filter(
            Q(owner=user)
            | Q(visibility=Visibility.ALL)
            | Q(pk__in=every.filter(shares__user=user).values("pk"))
            | Q(pk__in=every.filter(shares__group__in=user.groups.all()).values("pk"))
        )

    def live(self) -> Self:
        """Those not archived."""
        return self.filter(archived_at__isnull=True)
