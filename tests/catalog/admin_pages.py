"""What tests of the admin share: the pages of the registry, and the values a page's forms would send back."""

from typing import Any

from django.contrib.admin import site
from django.urls import reverse

from catalog.models import ApiModel, Provider

PAGES = {
    page.opts.label_lower: page for page in site._registry.values() if page.opts.app_label in ("catalog", "reports")
}


def address(row: Any, view: str = "change") -> str:
    """The address of a row's page."""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{view}", args=[row.pk])


def sent_by(page: Any) -> dict[str, Any]:
    """The values the forms of a page would send back unchanged."""
    values: dict[str, Any] = {}
    inlines = page.context["inline_admin_formsets"]
    for form in [page.context["adminform"].form, *(form for inline in inlines for form in inline.formset)]:
        for bound in form:
            value = bound.value()
            if value is not None and value is not False:
                values[bound.html_name] = value.isoformat() if hasattr(value, "isoformat") else value
    for inline in inlines:
        for bound in inline.formset.management_form:
            values[bound.html_name] = bound.value()
    return values


def errors_on(page: Any) -> str:
    """Every error a page shows, as one text."""
    form = page.context["adminform"].form
    inlines = page.context["inline_admin_formsets"]
    texts = [*form.non_field_errors(), *(text for errors in form.errors.values() for text in errors)]
    for inline in inlines:
        texts += inline.formset.non_form_errors()
        texts += [text for errors in inline.formset.errors for each in errors.values() for text in each]
    return " ".join(map(str, texts))


def first_of(model: Any) -> Any:
    """The first row of a loaded catalog; of what only the price package brings, one that is made."""
    row = model.objects.first()
    if row is None and model is ApiModel:
        seller = Provider.objects.first()
        row = ApiModel.objects.create(slug=f"{seller.slug}-m", name="M", model="m", provider=seller, source="a page")
    return row
