"""Who may see a page, and how often: as the API's reads, with words in place of problem documents."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from rest_framework.settings import api_settings

View = Callable[..., HttpResponse]


class _Estimating:
    """What the API's throttles ask of a view: a page is an estimate."""

    throttle_scope = "estimates"


def for_readers(view: View) -> View:
    """Pages for whoever may read: signed-in people, everybody where anonymous access is on; within the API's rates."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.AFORO_ALLOW_ANONYMOUS and not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        wait_s = _wait_s(request)
        if wait_s is not None:
            response = render(request, "pages/wait.html", {"seconds": math.ceil(wait_s)}, status=429)
            response["Retry-After"] = str(math.ceil(wait_s))
            return response
        response = view(request, *args, **kwargs)
        # What a page shows belongs to who asked, and htmx asks the same address for a part of it.
        response["Cache-Control"] = "private, no-cache"
        response["Vary"] = "HX-Request, Cookie"
        return response

    return guarded


def _wait_s(request: HttpRequest) -> float | None:
    """Seconds to wait where the rates are passed, else None."""
    classes: Any = api_settings.DEFAULT_THROTTLE_CLASSES
    for throttle_class in classes:
        throttle = throttle_class()
        # The throttles read user and address alone, which a plain request has.
        if not throttle.allow_request(request, _Estimating()):
            return throttle.wait() or 1.0
    return None
