"""Generated requests against the whole application: no server error, and nothing that the schema does not say.

A bounded number of examples in the normal suite, many more under `make long`.
"""

from functools import cache

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.published_schema import published

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
# The client asks for gzip and does not unpack it.
UNPACKED = {"Accept-Encoding": "identity"}


@cache
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


def ask_boundary_cases(method, path, checks, how):
    """The tests that `@schema.parametrize()` makes, made when they run.

    It makes the cases of all operations while tests are collected, which takes 20 s in every process that collects.
    """
    schema = load()

    @how
    def ask(case):
        case.call_and_validate(checks=checks, headers=UNPACKED)

    build_operation_test(
        config=schema.config,
        operation=schema[path][method],
        test_func=ask,
        given_kwargs={},
        feedback=FeedbackSources(constants_value_source=make_constants_value_source(schema)),
    )()


OPERATIONS = [(method.upper(), path) for path, methods in published()["paths"].items() for method in methods]
ESTIMATES = [each for each in OPERATIONS if each[1].startswith("/api/v1/estimates/")]
OTHERS = [each for each in OPERATIONS if each not in ESTIMATES]


@pytest.mark.parametrize(("method", "path"), ESTIMATES)
def test_estimates_answer_as_documented(method, path):
    ask_boundary_cases(method, path, [*CHECKS, unsupported_method], QUICK)


@pytest.mark.parametrize(("method", "path"), OTHERS)
def test_everything_else_answers_as_documented(method, path):
    ask_boundary_cases(method, path, CHECKS, QUICK)


def test_every_operation_is_asked():
    assert {(method.upper(), path) for path, methods in load().raw_schema["paths"].items() for method in methods} == {
        *OPERATIONS
    }


def test_every_operation_says_that_a_parameter_may_be_refused(loaded_catalog):
    """A NUL, or a parameter that nobody reads, is a 400 wherever it comes."""
    for result in load().get_all_operations():
        operation = result.ok()
        case = operation.Case(
            path_parameters={parameter.name: "1" for parameter in operation.path_parameters}, query={"a": "\0"}
        )
        answer = case.call_and_validate(checks=CHECKS, headers=UNPACKED)
        assert answer.status_code in (400, 415), (operation.label, answer.status_code)


LISTS = ["gpus", "models", "providers", "api-prices", "cache-policies", "gpu-offers", "engine-profiles", "presets"]


@pytest.mark.parametrize("name", LISTS)
def test_every_row_of_every_list_is_as_documented(name):
    page, pages = 1, 1
    while page <= pages:
        case = load()[f"/api/v1/{name}/"]["GET"].Case(query={"page": page, "page_size": 300})
        pages = case.call_and_validate(checks=CHECKS, headers=UNPACKED).json()["pages"]
        page += 1


@pytest.mark.long
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_many_more_requests_are_answered_as_documented(method, path):
    ask_boundary_cases(method, path, CHECKS, LONG)
