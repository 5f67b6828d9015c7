"""CPU of whole requests over a plain view of Django in the same process: middleware, token and rates are in."""

import io
import logging
import os
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.handlers.wsgi import WSGIHandler

from config.access.tokens import issue_token
from config.log_format import JsonFormatter
from estimator.api.urls import ENDPOINTS
from tests import services
from tests.bench.cpu_time import least_cpu_s
from tests.bench.questions import MANY, bodies, bodies_of
from tests.shipped_catalog import load_shipped_catalog

pytestmark = [pytest.mark.bench, pytest.mark.django_db, pytest.mark.urls("tests.bench.urls")]
# What is aimed at, in CPU of the plain view; lists are those of a catalog that did not change.
AIM = {
    "nothing": 2.0, "memory-fit": 4.5, "throughput": 7.0, "64 batch sizes": 12.0, "cost": 3.5, "prompt-cache": 3.5,
    "sizing": 15.0, "gpus": 2.5, "models": 2.5, "api-prices": 2.5,
}  # fmt: skip
# Counted by Redis, a request takes a command and the waking of its thread more.
MARGIN = {"memory": 1.9, "redis": 2.2}
Call = Callable[[], None]


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.services)])
def counted(request: pytest.FixtureRequest, settings: Any) -> Iterator[str]:
    """Where requests are counted."""
    if request.param == "memory":
        yield request.param
        return
    with services.redis_database() as url:
        settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": url}}
        yield request.param


@pytest.fixture(autouse=True)
def access_log() -> Iterator[None]:
    """Lines of the access log are written as in production, and to nowhere: pytest would keep them all."""
    log = logging.getLogger("aforo.access")
    with Path(os.devnull).open("w") as nowhere:
        handler = logging.StreamHandler(nowhere)
        handler.setFormatter(JsonFormatter())
        log.addHandler(handler)
        log.propagate = False
        yield
        log.propagate = True
        log.removeHandler(handler)


def requests_of(token: str) -> dict[str, Call]:
    """One request of each kind by its name, the plain view first."""
    application = WSGIHandler()

    def request(method: str, path: str, raw: list[bytes], query: str = "") -> Call:
        turn, begun = cycle(raw), []

        def call() -> None:
            body = next(turn)
            environ = {
                "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": f"/api/v1/{path}/", "QUERY_STRING": query,
                "SERVER_NAME": "testserver", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
                "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "testserver", "HTTP_AUTHORIZATION": f"Bearer {token}",
                "HTTP_ACCEPT": "*/*", "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body)),
                "wsgi.input": io.BytesIO(body), "wsgi.errors": sys.stderr, "wsgi.url_scheme": "http",
            }  # fmt: skip
            answer = application(environ, lambda status, headers, exc_info=None: begun.append(status))
            b"".join(answer)
            answer.close()
            assert begun.pop() == "200 OK"

        return call

    estimates = {one.slug: request("POST", f"estimates/{one.slug}", bodies_of(one)) for one in ENDPOINTS}
    return {
        "plain": request("POST", "plain", [b"{}"]),
        "nothing": request("POST", "nothing", [b"{}"]),
        **estimates,
        "64 batch sizes": request("POST", "estimates/throughput", bodies(MANY)),
        **{name: request("GET", name, [b""], "page_size=100") for name in ("gpus", "models", "api-prices")},
    }


def test_whole_requests_against_a_plain_view(counted: str) -> None:
    load_shipped_catalog()
    user = get_user_model().objects.create_user("ana")
    _row, token = issue_token(user, "bench", scopes=["read", "estimate"])
    requests = requests_of(token)
    plain_s, *others = least_cpu_s(*requests.values(), times=40, loops=3)
    found = dict(zip([name for name in requests if name != "plain"], others, strict=True))
    print(f"\nwhole requests, counted in {counted}; a plain view takes {plain_s * 1e6:.0f} µs of CPU")  # noqa: T201
    for name, spent_s in found.items():
        aim = f" (aim {AIM[name]:g})" if name in AIM else ""
        print(f"  {name}: {spent_s * 1e6:.0f} µs, {spent_s / plain_s:.2f} x the plain view{aim}")  # noqa: T201
    over = {name: found[name] / plain_s for name in AIM if found[name] > MARGIN[counted] * AIM[name] * plain_s}
    assert not over
