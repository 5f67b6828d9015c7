"""Content negotiation of the API: `Accept` chooses among what a view offers and never refuses an answer."""

from collections.abc import Iterable

from django.http import Http404
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class NeverNotAcceptable(DefaultContentNegotiation):
    """Falls back to the view's first renderer, so that no request fails with 406."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The renderer and media type of the answer."""
        offered = list(renderers)
        if len(offered) > 1:
            try:
                chosen: tuple[BaseRenderer, str] = super().select_renderer(request, offered, format_suffix)
                return chosen
            except (NotAcceptable, Http404):
                pass
        return offered[0], str(offered[0].media_type)
