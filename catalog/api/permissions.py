"""Who may do what through the API; set as the default permission, and refined by views with one attribute.

A view says what it is with `token_scope`:

- "estimate": a POST that stores nothing; anonymous people may call it where anonymous reading is allowed.
- "reports": belongs to an owner; never anonymous.
- "catalog": reading as below; writing needs staff with the permission of the model (`StaffWrites`).
- not set: anonymous people may read where settings allow it, and nothing more.

A token may do only what its scopes name ("read" is every safe method), within what its user may. Without a token, as in
a session of the admin, people may do what they may.
"""

from typing import TYPE_CHECKING, Any

from django.conf import settings
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import SAFE_METHODS, BasePermission, DjangoModelPermissions
from rest_framework.request import Request

if TYPE_CHECKING:
    # The framework loads its default permissions while it loads its views.
    from rest_framework.views import APIView

SCOPES = ("read", "estimate", "reports", "catalog")


class ScopedAccess(BasePermission):
    """The default: users within the scopes of their token, anonymous people where settings allow it."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Whether the request may go on to the view."""
        _refuse_unknown_method(request, view)
        view_scope: str | None = getattr(view, "token_scope", None)
        safe = request.method in SAFE_METHODS
        if not request.user or not request.user.is_authenticated:
            return (
                bool(settings.AFORO_ALLOW_ANONYMOUS) and view_scope != "reports" and (safe or view_scope == "estimate")
            )
        return _scopes_allow(getattr(request.auth, "scopes", None), view_scope, safe=safe)


class StaffWrites(DjangoModelPermissions):
    """Reads as ScopedAccess; writes for staff who hold add, change or delete on the view's model."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether the request may go on to the view."""
        if not ScopedAccess().has_permission(request, view):
            return False
        if request.method in SAFE_METHODS:
            return True
        return bool(request.user.is_staff) and super().has_permission(request, view)


def _refuse_unknown_method(request: Request, view: "APIView") -> None:
    """What no one may do is no question of who asks: 405 and not 401.

    Raises:
        MethodNotAllowed: the address does not take the method.
    """
    if request.method not in view.allowed_methods:
        raise MethodNotAllowed(str(request.method))


def _scopes_allow(scopes: list[str] | None, view_scope: str | None, *, safe: bool) -> bool:
    if scopes is None:
        return True
    return view_scope in scopes or (safe and "read" in scopes)
