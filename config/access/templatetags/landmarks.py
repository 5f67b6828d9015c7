"""What the theme's pages lack for people who do not see them."""

from django import template
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def with_main(page: SafeString) -> SafeString:
    """The theme's page with its main part marked as such: screen readers jump to it, and tests look for it."""
    return mark_safe(page.replace('<div id="main"', '<div id="main" role="main" tabindex="-1"', 1))  # noqa: S308  the theme's own
