"""A view of the framework that does nothing: what it costs every estimate."""

from django.http import HttpRequest, HttpResponse
from rest_framework.views import APIView

from estimator.api.view import RawJsonParser
from estimator.resolvers.live import current_facts


class Nothing(APIView):
    """Authentication, throttle, parser, the revision of the catalog, an answer."""

    parser_classes = [RawJsonParser]
    token_scope = "estimate"
    throttle_scope = "estimates"

    def post(self, request: HttpRequest) -> HttpResponse:
        assert request.data
        current_facts()
        return HttpResponse(b"{}", content_type="application/json")
