"""Users, groups and API tokens in the admin; none of its pages is a way to more power than one holds."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from catalog.api.permissions import SCOPES
from config.access.models import ApiToken, User, fewest_scopes
from config.access.tokens import default_expiry, issue_token, revoke_token

admin.site.unregister(Group)


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[misc,type-arg]  # the theme's class is untyped
    """Users with their groups and permissions; power over people with power is for superusers."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    # A password, a mark, a group or a permission of somebody else is that person's power.
    power_fields = ("is_staff", "is_superuser", "groups", "user_permissions")

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """What gives power is shown to all and changed by superusers."""
        fixed = tuple(super().get_readonly_fields(request, obj))
        return fixed if _is_superuser(request) else (*fixed, *self.power_fields)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """As Django's, and a member of staff is changed by superusers only."""
        return bool(super().has_change_permission(request, obj)) and _may_manage(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """As Django's, and a member of staff is deleted by superusers only."""
        return bool(super().has_delete_permission(request, obj)) and _may_manage(request, obj)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Setting somebody's password is logging in as them: for superusers; one's own is at password_change/.

        Raises:
            PermissionDenied: for others.
        """
        if not _is_superuser(request):
            raise PermissionDenied
        answer: HttpResponse = super().user_change_password(request, id, form_url)
        return answer


def _may_manage(request: HttpRequest, user: User | None) -> bool:
    return _is_superuser(request) or user is None or not (user.is_staff or user.is_superuser)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):  # type: ignore[misc]  # the theme's class is untyped
    """Groups and their permissions: who changes a group one is in gives oneself power, so superusers do."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Superusers."""
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Superusers."""
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Superusers."""
        return _is_superuser(request)


class ApiTokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker alone
    """Scopes as boxes to tick, reading ticked; an end, filled in."""

    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        initial=fewest_scopes,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        label=gettext_lazy("scopes"),
        help_text=gettext_lazy("What the token may do, within what its user may."),
    )

    class Meta:
        model = ApiToken
        fields = ["user", "name", "scopes", "expires_at"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "expires_at" in self.fields:
            self.fields["expires_at"].required = True
            self.fields["expires_at"].initial = default_expiry


@admin.register(ApiToken)
class ApiTokenAdmin(ModelAdmin):  # type: ignore[misc]  # the theme's class is untyped
    """Tokens: made here for oneself and shown once, listed, revoked; never edited into another token."""

    form = ApiTokenForm
    list_display = ["name", "user", "state", "scopes", "created_at", "last_used_at", "expires_at", "revoked_at"]
    list_filter = ["revoked_at", "expires_at"]
    search_fields = ["name", "user__username"]
    autocomplete_fields = ["user"]
    list_select_related = ["user"]
    readonly_fields = ["created_at", "last_used_at", "revoked_at"]
    actions = ["revoke"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        """One's own; all for superusers."""
        query: QuerySet[ApiToken] = super().get_queryset(request)
        return query if _is_superuser(request) else query.filter(user=request.user.pk)

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[str]:
        """A token once made keeps its user and scopes."""
        made = [] if obj is None else ["user", "scopes", "expires_at"]
        return [*self.readonly_fields, *made]

    def get_exclude(self, request: HttpRequest, obj: ApiToken | None = None) -> list[str]:
        """Only superusers are asked whose token it shall be."""
        return [] if _is_superuser(request) or obj is not None else ["user"]

    def save_model(self, request: HttpRequest, obj: ApiToken, form: forms.Form, change: bool) -> None:
        """Makes a new token and shows its text, which cannot be had again; an old one only gets a new name."""
        if change:
            super().save_model(request, obj, form, change)
            return
        user: Any = obj.user if _is_superuser(request) else request.user
        token, text = issue_token(user, obj.name, scopes=obj.scopes, expires_at=obj.expires_at)
        obj.pk, obj.token_sha256, obj.user = token.pk, token.token_sha256, user
        obj._state.adding = False
        self.message_user(request, _("The token, shown this once: %(token)s") % {"token": text}, messages.WARNING)

    @admin.display(description=gettext_lazy("state"))
    def state(self, token: ApiToken) -> str:
        """Whether the token works, and if not why."""
        if token.revoked_at is not None:
            return _("revoked")
        return _("valid") if token.is_valid_now() else _("expired")

    @admin.action(description=gettext_lazy("Revoke the chosen tokens"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """Revokes for good."""
        revoked = sum(revoke_token(token) for token in queryset)
        text: Any = ngettext("%(count)d token revoked.", "%(count)d tokens revoked.", revoked) % {"count": revoked}
        self.message_user(request, text, messages.SUCCESS)
