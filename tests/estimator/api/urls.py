"""The service's addresses and one more: the echo of a plan."""

from django.urls import path

from config.urls import handler400, handler403, handler404, handler500
from config.urls import urlpatterns as real
from estimator.api.routes import route
from tests.estimator.api.echo_endpoint import ECHO

echo = route(ECHO)
urlpatterns = [path("api/v1/estimates/echo/", echo.callback), *real]

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]
