"""Redis and PostgreSQL that are down, or accept and never answer, in exactly the environment of the compose file."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests import services
from tests.config.compose_web import compose_web
from tests.config.sockets import exchange, head, proxy_to
from tests.live import free_port

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

TOKENS = "/api/v1/estimates/tokens/"
CLOSE = "Connection: close"


@pytest.fixture
def hung_redis():
    """The address of a server that accepts, reads, and says nothing."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    kept = []

    def accept() -> None:
        while True:
            try:
                kept.append(listener.accept()[0])
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    yield f"redis://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()
    for connection in kept:
        connection.close()


def port_of(service) -> int:
    return int(service.environment["AFORO_PORT"])


def ask(service, path: str = TOKENS, method: str = "POST", body: str = '{"words": 900}'):
    # The admin knows people by a session, which is looked up in the database too.
    headers = (
        CLOSE,
        "Cookie: sessionid=abcdefghijklmnopqrstuvwxyz012345",
        f"Authorization: Bearer {service.token}",
        "Content-Type: application/json",
    )
    sent = head(method, path, *headers, f"Content-Length: {len(body)}") + body
    return exchange(port_of(service), sent)


@pytest.mark.parametrize("how", ["down", "hung"])
def test_without_redis_estimates_are_answered_and_requests_not_counted(how, hung_redis, tmp_path):
    redis = hung_redis if how == "hung" else f"redis://127.0.0.1:{free_port()}"
    with (
        services.postgresql_database("whole") as database,
        compose_web(tmp_path, database=database, redis=redis) as service,
    ):
        service.serve()
        for _ in range(5):
            status, answer = ask(service)
            assert (status, b'"tokens":1200' in answer) == (200, True)
        assert exchange(port_of(service), head("GET", "/readyz", CLOSE))[0] == 200
        status, answer = exchange(port_of(service), head("GET", "/statusz", CLOSE))
        assert status == 503
        assert b'"broker":{"ok":false' in answer
        # Two web processes may each say so once.
        assert 1 <= service.text().count("requests are not counted") <= 2
        status, answer = ask(service, "/api/v1/reports/", body=ORDER)
        assert status == 202, answer
        assert "internal-error" not in service.text()


ORDER = (
    '{"name": "x", "sweep": {"models": ["llama-3.1-8b"], "gpus": ["h100-sxm5-80gb"], "batch_sizes": [1],'
    ' "workloads": [{"input_tokens": 1000, "output_tokens": 300}]}}'
)


def test_a_database_that_stops_answering_is_503_and_comes_back(tmp_path):
    with (
        services.postgresql_database("whole") as database,
        services.redis_database() as redis,
        compose_web(tmp_path, database=database, redis=redis) as service,
    ):
        parts = urlsplit(database)
        with proxy_to(str(parts.hostname), parts.port or 5432) as proxy:
            user = parts.netloc.rpartition("@")[0]
            service.serve(DATABASE_URL=urlunsplit(parts._replace(netloc=f"{user}@127.0.0.1:{proxy.port}")))
            assert ask(service)[0] == 200
            assert exchange(port_of(service), head("GET", "/readyz", CLOSE))[0] == 200
            proxy.freeze()
            for path in ("/api/v1/gpus/", "/api/v1/reports/", "/admin/"):
                status, answer = ask(service, path, "GET", "")
                assert status == 503, (path, answer)
                assert b"retry-after: 5" in answer.lower()
            assert exchange(port_of(service), head("GET", "/healthz", CLOSE))[0] == 200
            status, answer = exchange(port_of(service), head("GET", "/readyz", CLOSE))
            assert status == 503
            assert b'"database":{"ok":false' in answer
            proxy.thaw()
            service.wait_for(lambda: ask(service)[0] == 200)
            service.wait_for(lambda: exchange(port_of(service), head("GET", "/readyz", CLOSE))[0] == 200)


def test_a_stopped_worker_leaves_the_web_in_rotation(tmp_path):
    with (
        services.postgresql_database("whole") as database,
        services.redis_database() as redis,
        compose_web(tmp_path, database=database, redis=redis) as service,
    ):
        service.serve()
        assert exchange(port_of(service), head("GET", "/readyz", CLOSE))[0] == 200
        status, answer = exchange(port_of(service), head("GET", "/statusz", CLOSE))
        assert status == 503
        assert b'"worker":{"ok":false' in answer
        assert b'"broker":{"ok":true' in answer


def connections_to(database: str) -> int:
    with psycopg.connect(database) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return connection.execute(query).fetchone()[0]


def test_many_clients_share_few_connections_and_are_told_to_wait_when_none_is_free(tmp_path):
    most = 2
    with (
        services.postgresql_database("whole") as database,
        services.redis_database() as redis,
        compose_web(tmp_path, database=database, redis=redis) as service,
        ThreadPoolExecutor(64) as clients,
    ):
        service.serve(AFORO_DATABASE_POOL=str(most), AFORO_DATABASE_POOL_WAIT_S="60")
        processes = int(service.environment.get("AFORO_WEB_PROCESSES", 2))
        asked = list(clients.map(lambda _number: ask(service), range(64)))
        assert {status for status, _answer in asked} == {200}
        assert 1 <= connections_to(database) <= most * processes

        service.stop()
        service.serve(AFORO_DATABASE_POOL_WAIT_S="1")
        with psycopg.connect(database) as holder:
            holder.execute("LOCK TABLE reports_report IN ACCESS EXCLUSIVE MODE")
            asked = [clients.submit(ask, service, "/api/v1/reports/", "GET", "") for _number in range(16)]
            refused = [future.result() for future in islice(as_completed(asked), 16 - most * processes)]
            assert connections_to(database) <= most * processes + 1
        assert {status for status, _answer in refused} == {503}
        assert all(b"retry-after: 5" in answer.lower() for _status, answer in refused)
        # Those who held a connection got their answer, or waited for longer than a statement may.
        assert {future.result()[0] for future in asked} <= {200, 503}
        assert ask(service, "/api/v1/reports/", "GET", "")[0] == 200
