"""The service's addresses, with a plain view of Django and one of the framework that do nothing."""

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from config.urls import urlpatterns as of_the_service
from tests.bench.nothing import Nothing


@csrf_exempt
def plain(request: HttpRequest) -> HttpResponse:
    assert request.body
    return HttpResponse(b"{}", content_type="application/json")


urlpatterns = [path("api/v1/plain/", plain), path("api/v1/nothing/", Nothing.as_view()), *of_the_service]
