"""providers/, api-prices/, cache-policies/ and gpu-offers/."""

from typing import Any

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.api.price_queries import ApiModelQuery, ApiPriceQuery, CachePolicyQuery, GpuOfferQuery, ProviderQuery
from catalog.api.price_serializers import (
    ApiModelSerializer,
    ApiPriceSerializer,
    CachePolicySerializer,
    GpuOfferSerializer,
    ProviderSerializer,
)
from catalog.api.problem_schema import problem_responses
from catalog.api.problems import NotFound
from catalog.api.query import refuse_parameters
from catalog.api.resources import documented
from catalog.api.views import CatalogViewSet
from catalog.models import ApiModel, ApiPrice, CachePolicy, GpuOffer, Provider
from catalog.price_facts import price_names
from catalog.selectors import channels_on, in_force_on

# No tier and no known start come first; left to themselves, PostgreSQL puts them last and SQLite first.
_EARLIEST_FIRST = (
    "channel",
    "endpoint_class",
    "meter",
    F("tier_above_tokens").asc(nulls_first=True),
    "window_key",
    F("effective_from").asc(nulls_first=True),
    "pk",
)


@documented(
    "providers", one="seller of tokens", many="sellers of tokens", query=ProviderQuery, shown=ProviderSerializer
)
class ProviderViewSet(CatalogViewSet):
    """Sellers of tokens."""

    queryset = Provider.objects.all()
    serializer_class = ProviderSerializer
    query_model = ProviderQuery


@documented(
    "api-models", one="seller's model", many="sellers' models", query=ApiModelQuery, shown=ApiModelSerializer,
    writes=(),
)  # fmt: skip
class ApiModelViewSet(CatalogViewSet):
    """Models that sellers offer, with their names, windows and life."""

    http_method_names = ["get", "head", "options"]
    queryset = ApiModel.objects.select_related("provider")
    serializer_class = ApiModelSerializer
    query_model = ApiModelQuery
    facts_kind = "price"

    def get_serializer_context(self) -> dict[str, Any]:
        """With the channels of every model, read once."""
        context: dict[str, Any] = {**super().get_serializer_context()}
        return context | {"channels": channels_on(timezone.now().date())}


@documented(
    "cache-policies", one="cache policy", many="cache policies", query=CachePolicyQuery, shown=CachePolicySerializer
)
class CachePolicyViewSet(CatalogViewSet):
    """Rules of prompt caches."""

    queryset = CachePolicy.objects.select_related("provider")
    serializer_class = CachePolicySerializer
    query_model = CachePolicyQuery


@documented(
    "gpu-offers", one="hourly offer", many="hourly offers", query=GpuOfferQuery, shown=GpuOfferSerializer,
    writes=("create",),
)  # fmt: skip
class GpuOfferViewSet(CatalogViewSet):
    """Hourly offers; a new day is a new row, none is overwritten."""

    http_method_names = ["get", "post", "head", "options"]
    queryset = GpuOffer.objects.select_related("gpu")
    serializer_class = GpuOfferSerializer
    query_model = GpuOfferQuery


@documented(
    "api-prices", one="price of a meter", many="prices of meters", query=ApiPriceQuery, shown=ApiPriceSerializer,
    writes=("create",), own=("retrieve",),
)  # fmt: skip
class ApiPriceViewSet(CatalogViewSet):
    """Prices by meter and day. A slug names a seller's model and stands for all its meters."""

    http_method_names = ["get", "post", "head", "options"]
    queryset = ApiPrice.objects.select_related("provider", "price_list")
    serializer_class = ApiPriceSerializer
    query_model = ApiPriceQuery

    @extend_schema(
        operation_id="api_prices_retrieve",
        summary="Prices of a model in force today",
        description="Every meter, channel and tier of the seller's model in force today (00:00 UTC).",
        responses={200: ApiPriceSerializer(many=True), **problem_responses(400, 404, 401, 403, 429)},
    )
    def retrieve(self, request: Request, slug: str) -> Response:
        """Prices in force today."""
        refuse_parameters(request.query_params)
        known = self._known(slug)
        rows = self.rows().filter(in_force_on(timezone.now().date()), slug=known, voided_at__isnull=True)
        return Response(self.get_serializer(rows, many=True).data)

    @extend_schema(
        operation_id="api_prices_history",
        summary="All prices a model ever had",
        description="Every row of the seller's model, closed, future and voided ones included, by meter and date.",
        responses={200: ApiPriceSerializer(many=True), **problem_responses(400, 404, 401, 403, 429)},
    )
    @action(detail=True, methods=["get"])
    def history(self, request: Request, slug: str) -> Response:
        """All rows of a slug."""
        refuse_parameters(request.query_params)
        rows = self.rows().filter(slug=self._known(slug)).order_by(*_EARLIEST_FIRST)
        return Response(self.get_serializer(rows, many=True).data)

    def create(self, request: Request) -> Response:
        """A new price; refused when it overlaps with another."""
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        row: Any = ApiPrice()
        self._write(row, serializer.validated_data)
        location = request.build_absolute_uri(f"{request.path}{row.slug}/")
        return Response(self.get_serializer(row).data, status=status.HTTP_201_CREATED, headers={"Location": location})

    def _known(self, slug: str) -> str:
        if self.rows().filter(slug=slug).exists():
            return slug
        found = price_names().get(slug)
        if found is None:
            raise NotFound(_("There are no prices of %(slug)s.") % {"slug": slug})
        return found
