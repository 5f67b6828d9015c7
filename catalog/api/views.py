"""Lists and rows of the catalog: reads for those who may read, writes for staff with the model's permission."""

from typing import Any, ClassVar, cast

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.http import HttpResponse
from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from catalog import snapshot
from catalog.api.conditional import is_known, require_match, tag_of, tag_of_list
from catalog.api.filters import CatalogQuery
from catalog.api.json_format import write_json
from catalog.api.kept_lists import KeptLists, WrittenList
from catalog.api.pagination import paginate
from catalog.api.permissions import StaffWrites
from catalog.api.problems import Conflict, InvalidRequest, NotFound
from catalog.api.query import parse_query, refuse_parameters
from catalog.api.row_faults import row_faults
from catalog.models import CatalogRow
from catalog.querysets import CatalogQuerySet
from catalog.services.people import delete_by_person, save_by_person
from catalog.spelling import near_matches


class CatalogViewSet(GenericViewSet[Any]):
    """One kind of row; a subclass names its rows, serializers, query model and what it is called."""

    query_model: ClassVar[type[CatalogQuery]]
    # Under which name facts know these rows, where people spell their names in several ways.
    facts_kind: ClassVar[str | None] = None
    list_serializer_class: ClassVar[type[BaseSerializer[Any]] | None] = None
    lookup_field = "slug"
    # Dots belong to slugs such as vllm-0.19.
    lookup_value_regex = r"[A-Za-z0-9._-]+"
    permission_classes = [StaffWrites]
    token_scope = "catalog"  # noqa: S105  a scope is no secret
    pagination_class = None
    filter_backends = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """As the framework's; writes take no parameters."""
        super().initial(request, *args, **kwargs)
        if request.method not in SAFE_METHODS:
            refuse_parameters(request.query_params)

    def list(self, request: Request) -> HttpResponse:
        """One page of rows."""
        catalog = snapshot.current()
        tag = tag_of_list(catalog.revision, request)
        if is_known(request, tag):
            parse_query(self.query_model, request.query_params)
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": tag})
        # Without a token nothing was written through the catalog's own doors: never trust what is kept then.
        kept = catalog.derived(KeptLists, KeptLists) if catalog.revision.token else KeptLists()
        # The tag names the question; links name the host as well.
        written = kept.of((tag, request.scheme, request.get_host()), lambda: self._written(request))
        return written.answer(request, tag)

    def _written(self, request: Request) -> WrittenList:
        query = parse_query(self.query_model, request.query_params)
        page = paginate(query.apply(self.rows()), page=query.page, page_size=query.page_size)
        serializer_class = self.list_serializer_class or self.get_serializer_class()
        body = page.body(list(serializer_class(page.rows, many=True, context=self.get_serializer_context()).data))
        return WrittenList(content=write_json(body), link=page.link_header(request))

    def retrieve(self, request: Request, slug: str) -> Response:
        """One row, by its slug or a name that can mean no other; then `Content-Location` has the address by slug."""
        refuse_parameters(request.query_params)
        row = self.get_queryset().filter(slug=slug).first() or self.row(self._meant(slug))
        data = self._shown(row)
        headers = {"ETag": tag_of(data)}
        if row.slug != slug:
            headers["Content-Location"] = f"{request.path.removesuffix(f'{slug}/')}{row.slug}/"
        if is_known(request, headers["ETag"]):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers=headers)
        return Response(data, headers=headers)

    def create(self, request: Request) -> Response:
        """A new row."""
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        row = self.get_queryset().model()
        self._write(row, serializer.validated_data)
        data = self._shown(self.row(row.slug))
        headers = {"ETag": tag_of(data), "Location": request.build_absolute_uri(f"{request.path}{row.slug}/")}
        return Response(data, status=status.HTTP_201_CREATED, headers=headers)

    def update(self, request: Request, slug: str) -> Response:
        """The row with all fields replaced."""
        return self._change(request, slug, partial=False)

    def partial_update(self, request: Request, slug: str) -> Response:
        """The row with the fields given replaced."""
        return self._change(request, slug, partial=True)

    def destroy(self, request: Request, slug: str) -> Response:
        """No row any more; reports that used it keep their own copy."""
        with transaction.atomic():
            row = self.row(slug, lock=True)
            require_match(request, tag_of(self._shown(row)))
            try:
                delete_by_person(row, user=request.user)
            except ProtectedError as refused:
                raise Conflict(_("Other rows of the catalog need this one.")) from refused
        return Response(status=status.HTTP_204_NO_CONTENT)

    def row(self, slug: str, *, lock: bool = False) -> Any:
        """The row of a slug.

        Raises:
            NotFound: with near slugs.
        """
        rows = self.get_queryset()
        row = (rows.select_for_update(of=("self",)) if lock else rows).filter(slug=slug).first()
        if row is None:
            near = self._choices(slug) or near_matches(slug, rows.values_list("slug", flat=True))
            detail = _("There is no %(kind)s %(slug)s.") % {"kind": rows.model._meta.verbose_name, "slug": slug}
            raise NotFound(detail, members={"near": list(near)} if near else {})
        return row

    def rows(self) -> CatalogQuerySet[Any]:
        """All rows of the resource."""
        rows: Any = self.get_queryset()
        return cast("CatalogQuerySet[Any]", rows)

    def apply(self, row: Any, values: dict[str, Any]) -> None:
        """Put validated values on a row; subclasses add what is no column."""
        for name, value in values.items():
            setattr(row, name, value)

    def after_save(self, row: Any, values: dict[str, Any], *, user: Any, reason: str) -> None:
        """Save what belongs to the row, in the same transaction."""

    def _change(self, request: Request, slug: str, *, partial: bool) -> Response:
        with transaction.atomic():
            row = self.row(slug, lock=True)
            require_match(request, tag_of(self._shown(row)))
            serializer = self.get_serializer(row, data=request.data, partial=partial)
            serializer.is_valid(raise_exception=True)
            self._write(row, serializer.validated_data)
        data = self._shown(self.row(row.slug))
        return Response(data, headers={"ETag": tag_of(data)})

    def _write(self, row: Any, values: dict[str, Any]) -> None:
        values = dict(values)
        reason = values.pop("change_reason", "") or _("Changed through the API")
        self.apply(row, values)
        try:
            with transaction.atomic():
                save_by_person(row, user=self.request.user, reason=reason)
                self.after_save(row, values, user=self.request.user, reason=reason)
        except ValidationError as refused:
            raise InvalidRequest(errors=row_faults(refused)) from refused
        except IntegrityError as refused:
            # Another request took the slug between our check and our write.
            raise Conflict(_("Somebody else wrote a row of this name just now.")) from refused

    def _choices(self, name: str) -> tuple[str, ...]:
        """Slugs that a spelling of a name may mean."""
        return snapshot.current().spelled(self.facts_kind, name) if self.facts_kind else ()

    def _meant(self, name: str) -> str:
        choices = self._choices(name)
        return choices[0] if len(choices) == 1 else name

    def _shown(self, row: CatalogRow) -> Any:
        return self.get_serializer(row).data
