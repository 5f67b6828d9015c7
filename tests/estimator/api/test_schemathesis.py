"""Generated requests against the whole application: no server error, and nothing that the schema does not say.

A bounded number of examples in the normal suite, many more under `make long`.
"""

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]
# Explicit: the boundary cases (coverage) that schemathesis adds, and the worked examples; no random search.
QUICK = settings(phases=[Phase.explicit], deadline=None, suppress_health_check=FIXTURES)
LONG = settings(max_examples=300, deadline=None, suppress_health_check=FIXTURES)


def load():
    document = SchemaGenerator().get_schema(request=None, public=True)
    for operation in (operation for path in document["paths"].values() for operation in path.values()):
        # Made-up tokens would end in 401 and reach nothing; anonymous requests are allowed under test settings.
        operation.pop("security", None)
    loaded = schemathesis.openapi.from_dict(document)
    loaded.app = get_wsgi_application()
    return loaded


@pytest.fixture(autouse=True)
def the_connection_of_the_test_stays_open():
    """The application closes old connections with each request; this one holds the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


schema = load()
estimates = schema.include(path_regex=r"^/api/v1/estimates/")
others = schema.exclude(path_regex=r"^/api/v1/estimates/")


@estimates.parametrize()
@QUICK
def test_estimates_answer_as_documented(case):
    case.call_and_validate(checks=[*CHECKS, unsupported_method])


@others.parametrize()
@QUICK
def test_everything_else_answers_as_documented(case):
    case.call_and_validate(checks=CHECKS)


def test_every_operation_says_that_a_parameter_may_be_refused(loaded_catalog):
    """A NUL, or a parameter that nobody reads, is a 400 wherever it comes."""
    for result in schema.get_all_operations():
        operation = result.ok()
        case = operation.Case(
            path_parameters={parameter.name: "1" for parameter in operation.path_parameters}, query={"a": "\0"}
        )
        answer = case.call_and_validate(checks=CHECKS)
        assert answer.status_code in (400, 415), (operation.label, answer.status_code)


LISTS = ["gpus", "models", "providers", "api-prices", "cache-policies", "gpu-offers", "engine-profiles", "presets"]


@pytest.mark.parametrize("name", LISTS)
def test_every_row_of_every_list_is_as_documented(name):
    page, pages = 1, 1
    while page <= pages:
        case = schema[f"/api/v1/{name}/"]["GET"].Case(query={"page": page, "page_size": 300})
        pages = case.call_and_validate(checks=CHECKS).json()["pages"]
        page += 1


@pytest.mark.long
@schema.parametrize()
@LONG
def test_many_more_requests_are_answered_as_documented(case):
    case.call_and_validate(checks=CHECKS)
