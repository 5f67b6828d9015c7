"""Users, groups and API tokens in the admin."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from catalog.api.permissions import SCOPES
from config.access.models import ApiToken, User
from config.access.tokens import issue_token, revoke_token

admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[misc,type-arg]  # the theme's class is untyped
    """Users with their groups and permissions."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):  # type: ignore[misc]  # the theme's class is untyped
    """Groups and their permissions."""


class ApiTokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker alone
    """Scopes as boxes to tick; none ticked means whatever the user may do."""

    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        label=gettext_lazy("scopes"),
        help_text=gettext_lazy("What the token may do; with none chosen, whatever its user may."),
    )

    class Meta:
        model = ApiToken
        fields = ["user", "name", "scopes", "expires_at"]


@admin.register(ApiToken)
class ApiTokenAdmin(ModelAdmin):  # type: ignore[misc]  # the theme's class is untyped
    """Tokens: made here and shown once, listed, revoked; never edited into another token."""

    form = ApiTokenForm
    list_display = ["name", "user", "state", "scopes", "created_at", "last_used_at", "expires_at", "revoked_at"]
    list_filter = ["revoked_at", "expires_at"]
    search_fields = ["name", "user__username"]
    autocomplete_fields = ["user"]
    list_select_related = ["user"]
    readonly_fields = ["created_at", "last_used_at", "revoked_at"]
    actions = ["revoke"]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[str]:
        """A token once made keeps its user and scopes."""
        made = [] if obj is None else ["user", "scopes", "expires_at"]
        return [*self.readonly_fields, *made]

    def save_model(self, request: HttpRequest, obj: ApiToken, form: forms.Form, change: bool) -> None:
        """Makes a new token and shows its text, which cannot be had again; an old one only gets a new name."""
        if change:
            super().save_model(request, obj, form, change)
            return
        token, text = issue_token(obj.user, obj.name, scopes=obj.scopes, expires_at=obj.expires_at)
        obj.pk, obj.token_sha256 = token.pk, token.token_sha256
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
