"""The catalog's resources in the API: what each shows, takes, and is documented with."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.drainage import set_override
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_view, inline_serializer
from rest_framework import serializers

from catalog.api.examples import example
from catalog.api.filters import CatalogQuery, EngineProfileQuery, GpuQuery, LanguageModelQuery, PresetQuery
from catalog.api.problem_schema import problem_responses
from catalog.api.query import parameters_of
from catalog.api.serializers import (
    EngineProfileSerializer,
    GpuSerializer,
    LanguageModelListSerializer,
    LanguageModelSerializer,
    PresetSerializer,
)
from catalog.api.views import CatalogViewSet
from catalog.models import Checkpoint, EngineProfile, Gpu, LanguageModel, Preset
from catalog.services.people import delete_by_person, save_by_person

IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="Tags known; 304 without a body when one still holds."
)
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="Tag of the version to change; 412 when it is no longer it."
)


def documented(
    slug: str,
    *,
    one: str,
    many: str,
    query: type[CatalogQuery],
    shown: type[serializers.BaseSerializer[Any]],
    listed: type[serializers.BaseSerializer[Any]] | None = None,
    writes: tuple[str, ...] = ("create", "update", "partial_update", "destroy"),
    own: tuple[str, ...] = (),
) -> Callable[[type[CatalogViewSet]], type[CatalogViewSet]]:
    """The schema of a resource: operations, parameters, answers, problems and worked examples.

    Args:
        slug: last part of the path, and prefix of the example files.
        one, many: what a row and the rows are called.
        own: operations that the class documents itself, because they answer something else.
    """
    row = listed or shown
    reads = {401: None, 403: None, 429: None}
    operation = slug.replace("-", "_")
    operations: dict[str, Any] = {
        "list": extend_schema(
            operation_id=f"{operation}_list",
            summary=f"List {many}",
            description=f"One page of {many}, with `Link` headers to the others and an `ETag`.",
            parameters=[*parameters_of(query), IF_NONE_MATCH],
            responses={200: _page_of(row), 304: None, **problem_responses(400, *reads)},
            examples=_examples(f"{slug}-list", 200),
        ),
        "retrieve": extend_schema(
            operation_id=f"{operation}_retrieve",
            summary=f"Get one {one}",
            description=f"The {one} with this slug, and an `ETag` to change it with.",
            parameters=[IF_NONE_MATCH],
            responses={200: shown, 304: None, **problem_responses(400, 404, *reads)},
            examples=_examples(f"{slug}-retrieve", 200),
        ),
    }
    for action in writes:
        verb, success, statuses = _WRITES[action]
        operations[action] = extend_schema(
            operation_id=f"{operation}_{action}",
            summary=f"{verb} {one}",
            description="Needs staff with the permission of the model; the row counts as edited by a person.",
            parameters=[] if action == "create" else [IF_MATCH],
            request=None if action == "destroy" else shown,
            responses={success: None if success == 204 else shown, **problem_responses(*statuses, *reads)},
            examples=_examples(f"{slug}-create-request", None) if action == "create" else [],
        )
    return extend_schema_view(**{name: said for name, said in operations.items() if name not in own})


def _page_of(row: type[serializers.BaseSerializer[Any]]) -> serializers.Serializer[Any]:
    """The schema of one page of rows."""
    page = inline_serializer(
        f"{row.__name__.removesuffix('Serializer')}Page",
        {
            "count": serializers.IntegerField(help_text="Rows in all."),
            "page": serializers.IntegerField(help_text="Number of this page, from 1."),
            "page_size": serializers.IntegerField(help_text="Rows of a page."),
            "pages": serializers.IntegerField(help_text="Pages in all."),
            "results": row(many=True, help_text="The rows of this page."),
        },
    )
    # A page is one object, although the action is called list.
    set_override(page, "many", False)
    return page


_WRITES: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "create": ("Add a", 201, (400, 413, 415)),
    "update": ("Replace a", 200, (400, 404, 412, 413, 415)),
    "partial_update": ("Change a", 200, (400, 404, 412, 413, 415)),
    "destroy": ("Delete a", 204, (400, 404, 409, 412)),
}


def _examples(name: str, response: int | None) -> list[OpenApiExample]:
    value = example(name)
    if value is None:
        return []
    only = {"request_only": True} if response is None else {"response_only": True, "status_codes": [str(response)]}
    return [OpenApiExample(name.replace("-", " "), value=value, **only)]


@documented("gpus", one="accelerator", many="accelerators", query=GpuQuery, shown=GpuSerializer)
class GpuViewSet(CatalogViewSet):
    """Accelerators."""

    queryset = Gpu.objects.all()
    serializer_class = GpuSerializer
    query_model = GpuQuery
    facts_kind = "gpu"


@documented(
    "models",
    one="language model",
    many="language models",
    query=LanguageModelQuery,
    shown=LanguageModelSerializer,
    listed=LanguageModelListSerializer,
    writes=("update", "partial_update", "destroy"),
)
class LanguageModelViewSet(CatalogViewSet):
    """Language models; new ones come by models/import/."""

    http_method_names = ["get", "put", "patch", "delete", "head", "options"]
    queryset = LanguageModel.objects.prefetch_related("checkpoints")
    serializer_class = LanguageModelSerializer
    list_serializer_class = LanguageModelListSerializer
    query_model = LanguageModelQuery
    facts_kind = "model"

    def apply(self, row: Any, values: dict[str, Any]) -> None:
        """Checkpoints are rows of their own."""
        super().apply(row, {name: value for name, value in values.items() if name != "checkpoints"})

    def after_save(self, row: LanguageModel, values: dict[str, Any], *, user: Any, reason: str) -> None:
        """Make the checkpoints those given, keeping the ones that did not change."""
        if "checkpoints" not in values:
            return
        given = [{name: checkpoint.get(name) for name in _CHECKPOINT} for checkpoint in values["checkpoints"]]
        for stored in row.checkpoints.all():
            same = {name: getattr(stored, name) for name in _CHECKPOINT}
            if same in given:
                given.remove(same)
            else:
                delete_by_person(stored, user=user, reason=reason)
        for checkpoint in given:
            save_by_person(Checkpoint(model=row, **checkpoint), user=user, reason=reason)


_CHECKPOINT = ("precision", "stored_weight_bytes", "source", "source_date")


@documented(
    "engine-profiles",
    one="engine profile",
    many="engine profiles",
    query=EngineProfileQuery,
    shown=EngineProfileSerializer,
)
class EngineProfileViewSet(CatalogViewSet):
    """Engine profiles; a bare engine name means the newest version."""

    queryset = EngineProfile.objects.select_related("parent")
    serializer_class = EngineProfileSerializer
    query_model = EngineProfileQuery
    facts_kind = "engine"


@documented("presets", one="use case", many="use cases", query=PresetQuery, shown=PresetSerializer)
class PresetViewSet(CatalogViewSet):
    """Use cases with lengths and targets."""

    queryset = Preset.objects.all()
    serializer_class = PresetSerializer
    query_model = PresetQuery
