"""Every address × every method × every kind of caller. An address without a line here fails: say who may use it."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from config.access.models import User
from tests.config.world import rows, signed_in, staff, tokens_of

pytestmark = pytest.mark.django_db

SESSIONS = ("session:other", "session:view-only staff", "session:staff with change", "session:superuser")
NOBODY = ("token:expired", "token:revoked")
OPEN, SHUT = "anonymous where allowed", "anonymous where not"

# Who gets an answer (not 401 or 403; for one's report not 404 either). Staff of the matrix hold no ownership: they see
# a private report by reports.view_report and change it by reports.change_report.
EVERYBODY = {*SESSIONS, *NOBODY, OPEN, SHUT, "token:read", "token:estimate", "token:reports", "token:catalog",
             "token:every"}  # fmt: skip
READERS = {*SESSIONS, OPEN, "token:read", "token:every"}
CATALOG_READERS = READERS | {"token:catalog"}
ESTIMATORS = {*SESSIONS, OPEN, "token:estimate", "token:every"}
CATALOG_WRITERS = {"session:staff with change", "session:superuser", "token:catalog", "token:every"}
MEMBERS_READ = {*SESSIONS, "token:read", "token:reports", "token:every"}
MEMBERS_WRITE = {*SESSIONS, "token:reports", "token:every"}
REPORT_READ = MEMBERS_READ - {"session:other"}
REPORT_OWN_WRITE = {"session:staff with change", "session:superuser", "token:reports", "token:every"}
REPORT_OWN_READ = REPORT_OWN_WRITE | {"token:read"}

# Name of the address: who may read it (GET, HEAD), and who may write (POST, PUT, PATCH, DELETE). OPTIONS, which tells
# nothing of a row, is for whoever may read addresses of the kind.
ESTIMATE = (READERS | {"token:estimate"}, ESTIMATORS)
CATALOG = (CATALOG_READERS, CATALOG_WRITERS)
REPORT = (REPORT_READ, REPORT_OWN_WRITE)
KEPT = (REPORT_READ, {"token:reports", "token:every"})
SHARED_BY = (REPORT_READ, {"session:superuser"})
OWNERS_OF_REPORT = (REPORT_OWN_READ, REPORT_OWN_WRITE)
WHO_MAY: dict[str, tuple[set[str], set[str]]] = {
    # Pages lead whoever is not signed in to the log-in, and show nothing of a report that one may not see.
    **dict.fromkeys(
        ("home", "compare", "prices-index", "prices", "documentation", "documentation-page"), (EVERYBODY, EVERYBODY)
    ),
    **dict.fromkeys(("reports-page", "report-new", "report-page", "report-file"), (EVERYBODY, EVERYBODY)),
    "receipts-page": (EVERYBODY, EVERYBODY),
    "log-in": (EVERYBODY, EVERYBODY),
    "healthz": (EVERYBODY, EVERYBODY),
    "readyz": (EVERYBODY, EVERYBODY),
    "statusz": (EVERYBODY, EVERYBODY),
    "favicon": (EVERYBODY, EVERYBODY),
    "unrouted": (EVERYBODY, EVERYBODY),
    "share-link": (EVERYBODY, EVERYBODY),
    "schema": (READERS, set()),
    "docs": (READERS, set()),
    **dict.fromkeys(
        ("verdict", "memory-fit", "throughput", "cost", "prompt-cache", "break-even", "sizing", "tokens"), ESTIMATE
    ),
    **dict.fromkeys(("models-inspect", "estimates-batch", "cost-batch"), ESTIMATE),
    "models-import": CATALOG,
    "measurements-check": ESTIMATE,
    "manifests": ESTIMATE,
    **dict.fromkeys(("predictions", "measurements", "calibrations"), (MEMBERS_READ, MEMBERS_WRITE)),
    **dict.fromkeys(("prediction", "measurement", "calibration"), KEPT),
    "calibration-share": SHARED_BY,
    **{
        f"{kind}-{part}": CATALOG
        for kind in (
            "gpu",
            "model",
            "engine-profile",
            "preset",
            "provider",
            "api-price",
            "api-model",
            "cache-policy",
            "gpu-offer",
        )
        for part in ("list", "detail")
    },
    "api-price-history": CATALOG,
    **dict.fromkeys(
        ("api-price-row-detail", *(f"api-price-row-{done}" for done in ("close", "change", "void", "restore"))), CATALOG
    ),
    "reports": (MEMBERS_READ, MEMBERS_WRITE),
    "document-schema": (MEMBERS_READ, set()),
    "queue": (MEMBERS_READ, set()),
    "report-from-estimate": (MEMBERS_READ, MEMBERS_WRITE),
    **dict.fromkeys(("report", "versions", "version", "diff", "rows", "decision", "download", "schedule"), REPORT),
    **dict.fromkeys(("cancel", "retry", "recost"), REPORT),
    **dict.fromkeys(("shares", "share", "links", "link"), OWNERS_OF_REPORT),
}
# Parameters without which an address does not get to the report it is about.
QUERIES = {"diff": "?from=1&to=1", "download": "?format=csv"}
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def addresses(patterns: Any = None) -> Iterator[tuple[str, Any]]:
    """Name and view of every address outside the admin, which has a matrix of its own."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            if str(pattern.pattern) != "admin/":
                yield from addresses(pattern.url_patterns)
        else:
            assert isinstance(pattern, URLPattern)
            yield pattern.name or pattern.callback.__name__, pattern.callback


def methods_of(view: Any) -> list[str]:
    """What the address takes; the answer to anything else is 405 whoever asks."""
    if actions := getattr(view, "actions", None):
        kept = {name.upper() for name in actions} & {name.upper() for name in view.cls.http_method_names}
        return sorted(kept | {"OPTIONS"})
    if kind := getattr(view, "cls", None):
        return sorted(kind().allowed_methods)
    return ["GET"]


VIEWS = dict(addresses())


@pytest.fixture
def world(db: None) -> dict[str, Any]:
    return rows()


@pytest.fixture
def callers(world: dict[str, Any]) -> dict[str, Client]:
    owner = world["reports.report"].owner
    return tokens_of(owner) | {
        OPEN: signed_in(None),
        SHUT: signed_in(None),
        "session:other": signed_in(User.objects.create_user("other")),
        "session:view-only staff": signed_in(staff("viewer", "view")),
        "session:staff with change": signed_in(staff("changer", "view", "add", "change", "delete")),
        "session:superuser": signed_in(User.objects.create_superuser("root")),
    }


def address_of(name: str, world: dict[str, Any]) -> str:
    slugs = {
        "gpu-detail": "catalog.gpu",
        "model-detail": "catalog.languagemodel",
        "engine-profile-detail": "catalog.engineprofile",
        "preset-detail": "catalog.preset",
        "provider-detail": "catalog.provider",
        "api-price-detail": "catalog.apiprice",
        "api-price-history": "catalog.apiprice",
        "api-model-detail": "catalog.apimodel",
        "cache-policy-detail": "catalog.cachepolicy",
        "gpu-offer-detail": "catalog.gpuoffer",
    }
    if name == "unrouted":
        return "/api/nothing/"
    if name == "favicon":
        return "/favicon.ico"
    choices: list[dict[str, Any]] = [{}, {"text": "no-link"}]
    if name in slugs:
        choices.append({"slug": world[slugs[name]].slug})
    kept = f"receipts.{name.partition('-')[0]}"
    if kept in world:
        choices.append({"pk": world[kept].pk})
    price = world["catalog.apiprice"]
    if name.startswith("api-price-row"):
        choices.append({"slug": price.slug, "row_id": price.pk})
    report = {"report_id": world["reports.report"].pk}
    version = {**report, "number": 1}
    link, share = {**version, "link_id": world["reports.sharelink"].pk}, {**report, "share_id": 1}
    choices += [{"model": world["catalog.languagemodel"].slug}, {"name": "glossary"}, {**version, "file_format": "csv"}]
    choices += [report, version, link, share | {"share_id": world["reports.reportshare"].pk}]
    for arguments in choices:
        try:
            return reverse(name, kwargs=arguments) + QUERIES.get(name, "")
        except NoReverseMatch:
            continue
    raise AssertionError(f"how is {name} addressed?")


def refused(name: str, status: int) -> bool:
    """Whether somebody is kept out. A report one may not see is as if it were not there."""
    private = WHO_MAY[name] in (REPORT, OWNERS_OF_REPORT, KEPT, SHARED_BY)
    return status in (401, 403) or (status == 404 and private)


def test_every_address_says_who_may_use_it():
    assert set(VIEWS) == set(WHO_MAY)


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_the_matrix(name, world, callers, settings):
    address = address_of(name, world)
    readers, writers = WHO_MAY[name]
    for method in methods_of(VIEWS[name]):
        allowed = writers if method in WRITES else readers
        if method == "OPTIONS" and WHO_MAY[name] in (REPORT, OWNERS_OF_REPORT, KEPT, SHARED_BY):
            allowed = MEMBERS_READ
        for who, client in callers.items():
            settings.AFORO_ALLOW_ANONYMOUS = who == OPEN
            with transaction.atomic():
                answer = client.generic(method, address, b'{"no_such_field": 1}', content_type="application/json")
                transaction.set_rollback(True)
            assert answer.status_code < 500 or name in ("readyz", "statusz"), (who, method, answer.content)
            if answer.status_code == 405:
                # A router names methods that a resource has no action for: they are nobody's.
                assert method in WRITES
                continue
            # A schedule that is not there, and a link of no file, are 404 to those who may ask.
            missing = answer.status_code == 404 and who in allowed and b"no schedule" in answer.content
            assert missing or refused(name, answer.status_code) == (who not in allowed), (
                who, method, address, answer.status_code,
            )  # fmt: skip
            if who in NOBODY and allowed is not EVERYBODY:
                assert answer.status_code == 401, (who, method)


def test_somebody_else_finds_no_trace_of_a_private_report(world, callers):
    report = world["reports.report"]
    for who in ("session:other",):
        listed = callers[who].get("/api/v1/reports/").json()
        assert listed["count"] == 0
        missing = callers[who].get(f"/api/v1/reports/{report.pk}/").json()
        never = callers[who].get("/api/v1/reports/00000000-0000-4000-8000-000000000000/").json()
        assert {k: missing[k] for k in ("type", "title", "detail")} == {
            k: never[k] for k in ("type", "title", "detail")
        }
