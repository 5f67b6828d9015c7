"""Content negotiation of the API: `Accept` chooses among what a view offers and never refuses an answer."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class NeverNotAcceptable(DefaultContentNegotiation):
    """Falls back to the view's first renderer, so that no request fails with 406."""

    def select_renderer(
        self, request: Request, renderers: Sequence[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The renderer and media type of the answer."""
        first: Any = renderers[0]
        if len(renderers) > 1:
            try:
                return super().select_renderer(request, renderers, format_suffix)
            except (NotAcceptable, Http404):
                pass
        return first, first.media_type
