"""How one price ends, changes, is voided or restored over REST: api-prices/SLUG/rows/ID/ and what is done to it.

Each write calls the service function that the admin calls, under the lock of the row and of what `If-Match` names.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from catalog.api.conditional import is_known, require_match, tag_of
from catalog.api.examples import example
from catalog.api.permissions import StaffWrites
from catalog.api.price_serializers import ApiPriceSerializer, ExactDecimalField
from catalog.api.problem_schema import problem_responses
from catalog.api.problems import Conflict, InvalidRequest, NotFound
from catalog.api.query import refuse_parameters
from catalog.api.resources import IF_MATCH, IF_NONE_MATCH
from catalog.api.row_faults import row_faults
from catalog.api.serializers import StrictSerializer
from catalog.models import ApiPrice
from catalog.models.pricing import OVERLAP
from catalog.services.prices import STATE, change_price, close_price, restore_price, void_price

_F = TypeVar("_F", bound=Callable[..., Any])
_THROUGH = gettext_lazy("Changed through the API")


class StaffChanges(StaffWrites):
    """Writes here change a row that is there: for staff who may change prices."""

    perms_map = {**StaffWrites.perms_map, "POST": ["%(app_label)s.change_%(model_name)s"]}


class StaffChangesAndAdds(StaffWrites):
    """A change of a price closes a row and opens another: for staff who may do both."""

    perms_map = {
        **StaffWrites.perms_map,
        "POST": ["%(app_label)s.change_%(model_name)s", "%(app_label)s.add_%(model_name)s"],
    }


def _reason() -> serializers.CharField:
    return serializers.CharField(
        required=False, max_length=500, help_text=gettext_lazy("Why; kept in the history of the row.")
    )


class ApiPriceCloseSerializer(StrictSerializer):
    """The end of a price."""

    leave_gap = serializers.BooleanField(
        required=False,
        help_text=gettext_lazy("The days from the end to the next price of the meter are meant to have no price."),
    )
    change_reason = _reason()

    class Meta:
        model = ApiPrice
        fields = ("effective_to", "leave_gap", "change_reason")
        extra_kwargs = {"effective_to": {"required": True, "allow_null": False}}


class ApiPriceChangeSerializer(StrictSerializer):
    """Another amount from a day on."""

    amount = ExactDecimalField(
        max_digits=30, decimal_places=12, min_value=0, help_text=gettext_lazy("Price of one unit, exact.")
    )
    change_reason = _reason()

    class Meta:
        model = ApiPrice
        fields = ("amount", "effective_from", "source", "source_url", "date_seen", "change_reason")
        extra_kwargs = {"effective_from": {"required": True, "allow_null": False}}


class ApiPriceVoidSerializer(StrictSerializer):
    """Why a price was never right."""

    class Meta:
        model = ApiPrice
        fields = ("void_reason",)
        extra_kwargs = {"void_reason": {"required": True, "allow_blank": False}}


class ApiPriceRestoreSerializer(StrictSerializer):
    """Why a void is taken back."""

    change_reason = _reason()

    class Meta:
        model = ApiPrice
        fields = ("change_reason",)


class ApiPriceChangedSerializer(serializers.Serializer[Any]):
    """What a change left: the row that ended and its successor."""

    closed = ApiPriceSerializer(help_text="The row that was, which ends on the day of the change.")
    opened = ApiPriceSerializer(help_text="Its successor; `Location` and `ETag` are of this one.")


def _written(name: str, words: str, request: Any, answer: Any, *, success: int = 200, says: str) -> Callable[[_F], _F]:
    """The schema of one change: its body, its answer, its problems and its worked example."""
    shown = [(f"api-prices-{name}-request", None), (f"api-prices-{name}", success)]
    examples = [
        OpenApiExample(
            file.replace("-", " "),
            value=example(file),
            request_only=code is None,
            response_only=code is not None,
            status_codes=None if code is None else [str(code)],
        )
        for file, code in shown
        if example(file) is not None
    ]
    return extend_schema(
        operation_id=f"api_prices_{name}",
        summary=words,
        description=says + " The rows count as edited by a person; saved reports keep what they used. 409 where the "
        "state of the row or of another does not allow it: `ETag` is then that of the row as it is.",
        parameters=[IF_MATCH],
        request=request,
        responses={success: answer, **problem_responses(400, 401, 403, 404, 409, 412, 413, 415, 429)},
        examples=examples,
    )


class ApiPriceRowViewSet(GenericViewSet[ApiPrice]):
    """One row of a price, and what may become of it; amounts are never edited."""

    queryset = ApiPrice.objects.select_related("provider", "price_list")
    serializer_class = ApiPriceSerializer
    permission_classes = [StaffChanges]
    token_scope = "catalog"  # noqa: S105  a scope is no secret
    lookup_field = "row_id"
    lookup_value_regex = "[0-9]{1,18}"
    pagination_class = None
    filter_backends = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """As the framework's; no address takes parameters."""
        super().initial(request, *args, **kwargs)
        refuse_parameters(request.query_params)

    @extend_schema(
        operation_id="api_prices_row_retrieve",
        summary="Get one row of a price",
        description="The row with this number, voided and ended ones too, and an `ETag` to change it with.",
        parameters=[IF_NONE_MATCH],
        responses={200: ApiPriceSerializer, 304: None, **problem_responses(400, 404, 401, 403, 429)},
    )
    def retrieve(self, request: Request, slug: str, row_id: str) -> Response:
        """The row as it is."""
        shown = self._shown(self._row(slug, row_id))
        tag = tag_of(shown)
        if is_known(request, tag):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": tag})
        return Response(shown, headers={"ETag": tag})

    @_written(
        "close", "End a price", ApiPriceCloseSerializer, ApiPriceSerializer,
        says="The price ends: `effective_to` is the first day (00:00 UTC) on which it no longer holds.",
    )  # fmt: skip
    @action(detail=True, methods=["post"], serializer_class=ApiPriceCloseSerializer)
    def close(self, request: Request, slug: str, row_id: str) -> Response:
        """End the price on a day."""

        def end(row: ApiPrice, values: dict[str, Any]) -> ApiPrice:
            return close_price(
                row, on=values["effective_to"], user=request.user, reason=_why(values),
                leave_gap=values.get("leave_gap", False),
            )  # fmt: skip

        return self._answer(self._change(request, slug, row_id, end))

    @_written(
        "change", "Change a price from a day on", ApiPriceChangeSerializer, ApiPriceChangedSerializer, success=201,
        says="The row ends on `effective_from` and a successor with the new amount begins; an end that the row had is "
        "the successor's. Other channels, tiers and hours of the meter stay as they are.",
    )  # fmt: skip
    @action(
        detail=True, methods=["post"], serializer_class=ApiPriceChangeSerializer,
        permission_classes=[StaffChangesAndAdds],
    )  # fmt: skip
    def change(self, request: Request, slug: str, row_id: str) -> Response:
        """Close the row and open its successor."""

        def replace(row: ApiPrice, values: dict[str, Any]) -> ApiPrice:
            reason = _why(values)
            return change_price(row, **values, user=request.user, reason=reason)

        opened = self._change(request, slug, row_id, replace)
        shown = self._shown(self._row(slug, str(opened.pk)))
        location = request.build_absolute_uri(request.path.replace(f"/{row_id}/change/", f"/{opened.pk}/"))
        return Response(
            {"closed": self._shown(self._row(slug, row_id)), "opened": shown},
            status=status.HTTP_201_CREATED,
            headers={"Location": location, "ETag": tag_of(shown)},
        )

    @_written(
        "void", "Void a price", ApiPriceVoidSerializer, ApiPriceSerializer,
        says="The price was never right: no new estimate uses it and no load brings it back.",
    )  # fmt: skip
    @action(detail=True, methods=["post"], serializer_class=ApiPriceVoidSerializer)
    def void(self, request: Request, slug: str, row_id: str) -> Response:
        """Mark the price as never right."""

        def take_out(row: ApiPrice, values: dict[str, Any]) -> ApiPrice:
            return void_price(row, user=request.user, reason=values["void_reason"])

        return self._answer(self._change(request, slug, row_id, take_out))

    @_written(
        "restore", "Take the void of a price back", ApiPriceRestoreSerializer, ApiPriceSerializer,
        says="The price holds again for the days it had, where no other holds on one of them.",
    )  # fmt: skip
    @action(detail=True, methods=["post"], serializer_class=ApiPriceRestoreSerializer)
    def restore(self, request: Request, slug: str, row_id: str) -> Response:
        """Take the void back."""

        def give_back(row: ApiPrice, values: dict[str, Any]) -> ApiPrice:
            return restore_price(row, user=request.user, reason=_why(values))

        return self._answer(self._change(request, slug, row_id, give_back))

    def _change(
        self, request: Request, slug: str, row_id: str, service: Callable[[ApiPrice, dict[str, Any]], ApiPrice]
    ) -> ApiPrice:
        serializer = self.get_serializer(data=request.data)
        try:
            with transaction.atomic():
                row = self._row(slug, row_id, lock=True)
                tag = tag_of(self._shown(row))
                require_match(request, tag)
                serializer.is_valid(raise_exception=True)
                return service(row, dict(serializer.validated_data))
        except ValidationError as refused:
            errors = row_faults(refused)
            if _codes(refused) & {STATE, OVERLAP}:
                detail = " ".join(refused.messages)
                raise Conflict(detail, errors=errors, headers={"ETag": tag}) from refused
            raise InvalidRequest(errors=errors) from refused
        except IntegrityError as refused:
            raise Conflict(_("Somebody else wrote a price of these days just now."), headers={"ETag": tag}) from refused

    def _row(self, slug: str, row_id: str, *, lock: bool = False) -> ApiPrice:
        rows = self.get_queryset().filter(slug=slug, pk=row_id)
        row = (rows.select_for_update(of=("self",)) if lock else rows).first()
        if row is None:
            raise NotFound(_("%(slug)s has no price with the number %(id)s.") % {"slug": slug, "id": row_id})
        return row

    def _shown(self, row: ApiPrice) -> Any:
        return ApiPriceSerializer(row, context=self.get_serializer_context()).data

    def _answer(self, row: ApiPrice) -> Response:
        shown = self._shown(self._row(row.slug, str(row.pk)))
        return Response(shown, headers={"ETag": tag_of(shown)})


def _why(values: dict[str, Any]) -> str:
    return str(values.pop("change_reason", "") or _THROUGH)


def _codes(refused: ValidationError) -> set[str]:
    if not hasattr(refused, "error_dict"):
        return {str(fault.code) for fault in refused.error_list}
    return {str(fault.code) for faults in refused.error_dict.values() for fault in faults}
