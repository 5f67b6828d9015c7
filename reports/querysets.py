"""Which reports somebody may see; every endpoint, page and admin list starts from here."""

from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.db.models import Q

from reports.choices import Visibility

if TYPE_CHECKING:
    from reports.models import Report  # noqa: F401  only the type checker reads the name


class HasTag(models.Func):
    """Whether a JSON list holds a text; Django's `contains` does not know SQLite."""

    output_field = models.BooleanField()
    arity = 2

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """By the entries of the list."""
        template = "EXISTS (SELECT 1 FROM json_each(%(expressions)s))"
        return self.as_sql(compiler, connection, template=template, arg_joiner=") WHERE json_each.value = (", **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """By the operator of jsonb for texts of a list."""
        return self.as_sql(compiler, connection, template="(%(expressions)s::text)", arg_joiner=" ? ", **context)


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

    def tagged(self, tag: str) -> Self:
        """Those with exactly this tag."""
        return self.filter(HasTag(models.F("tags"), models.Value(tag)))

    def live(self) -> Self:
        """Those not archived."""
        return self.filter(archived_at__isnull=True)
