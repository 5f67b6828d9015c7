"""The campaign's stack is the compose file: what compose sets is what its processes get, under other addresses."""

import socket
import threading

import pytest

from tests.chaos.compose import ComposeService, composed, image_command
from tests.chaos.half_open import HalfOpenProxy
from tests.live import HANGS_AFTER_S

ADDRESSES = {"postgres:5432": "127.0.0.1:15432", "redis:6379": "127.0.0.1:16379"}


@pytest.mark.parametrize("name", ["web", "worker", "beat", "migrate"])
def test_every_variable_of_compose_is_set_and_only_addresses_and_folders_differ(tmp_path, name):
    stack = ComposeService(tmp_path, ADDRESSES, {})
    given = composed({})[name]["environment"]
    environment = stack.environment_of(name)
    assert {variable for variable in environment if variable.startswith("AFORO_")} == {
        *(variable for variable in given if variable.startswith("AFORO_")),
        "AFORO_STATIC_DIR",
    }
    for variable, value in given.items():
        for there, here in (ADDRESSES | {"/data": str(tmp_path / "data")}).items():
            value = str(value).replace(there, here)
        assert environment[variable] == value


def test_web_runs_the_command_of_the_image_on_another_port(tmp_path):
    stack = ComposeService(tmp_path, ADDRESSES, {})
    command = stack.command_of("web")
    assert command[command.index("--port") + 1] == str(stack.web_port)
    assert len(command) == len(image_command())


def test_what_the_operator_sets_passes_through_compose(tmp_path):
    stack = ComposeService(tmp_path, ADDRESSES, {"AFORO_SWEEP_CHUNK_ROWS": "40"})
    assert stack.environment_of("worker")["AFORO_SWEEP_CHUNK_ROWS"] == "40"


def test_the_proxy_forwards_then_hangs_without_closing_then_drops_what_hung():
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_echo, args=(server,), daemon=True).start()
        proxy = HalfOpenProxy(server.getsockname()[1])
        try:
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                client.settimeout(HANGS_AFTER_S)
                client.sendall(b"one")
                assert client.recv(3) == b"one"
                proxy.hang()
                client.sendall(b"two")
                client.setblocking(False)
                with pytest.raises(BlockingIOError):
                    client.recv(3)
                client.settimeout(HANGS_AFTER_S)
                proxy.recover()
                assert client.recv(3) in (b"", b"two")
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                client.settimeout(HANGS_AFTER_S)
                client.sendall(b"new")
                assert client.recv(3) == b"new"
        finally:
            proxy.close()


def _echo(server: socket.socket) -> None:
    while True:
        try:
            connection, _address = server.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection:
        while data := connection.recv(1024):
            connection.sendall(data)
