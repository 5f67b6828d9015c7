"""The command against a server: token, refusals, exit codes, and files that are being made."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from aforo.main import cli
from aforo.transport import RefusedError, Server


class Said(BaseHTTPRequestHandler):
    """Answers what the test says, in order, and keeps what was asked."""

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization"), body))
        status, content = self.server.said.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(content if isinstance(content, bytes) else json.dumps(content).encode())

    do_GET = do_POST = answer  # noqa: N815  names of the base class

    def log_message(self, *_):
        """Nothing is logged."""


@pytest.fixture
def server(monkeypatch):
    found = ThreadingHTTPServer(("127.0.0.1", 0), Said)
    found.asked, found.said = [], []
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    found.base = f"http://127.0.0.1:{found.server_port}"
    monkeypatch.setenv("AFORO_SERVER", found.base)
    monkeypatch.setenv("AFORO_TOKEN", "afo_secret")
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def run(*words, code=0, **more):
    result = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False, **more)
    assert result.exit_code == code, result.output
    return result


def test_the_question_goes_to_the_server_with_the_token(server):
    server.said = [(200, {"feasible": False, "anything": 1})]
    result = run("fit", "llama", "h100", "-u", "3", "--json", code=1)
    assert json.loads(result.stdout)["anything"] == 1
    method, path, token, body = server.asked[0]
    assert (method, path, token) == ("POST", "/api/v1/estimates/memory-fit/", "Bearer afo_secret")
    assert json.loads(body) == {"model": "llama", "gpu": "h100", "workload": {"concurrency": 3}}


@pytest.mark.parametrize(("status", "code"), [(400, 2), (401, 4), (403, 4), (404, 2), (422, 2), (429, 3), (503, 3)])
def test_a_refusal_has_its_reason_and_its_code(server, status, code):
    server.said = [(status, {"detail": "Because.", "status": status})]
    result = run("fit", "llama", "h100", code=code)
    assert "Because." in result.stderr
    assert result.stdout == ""
    assert "afo_secret" not in result.stderr


def test_a_server_that_is_not_there_or_speaks_no_json_is_code_3(server):
    server.said = [(502, b"<html>bad gateway</html>")]
    assert "answered 502" in run("fit", "llama", "h100", code=3).stderr
    nobody = "http://127.0.0.1:9"
    assert f"{nobody} cannot be reached" in run("fit", "llama", "h100", "--server", nobody, code=3).stderr


def test_a_token_never_goes_to_another_host(server):
    with pytest.raises(RefusedError, match="is not on"):
        Server(server.base, "afo_secret").send("GET", "http://elsewhere.example/api/v1/reports/1/")
    assert server.asked == []


FINDING = {"model": "m", "workload": "chat", "text": "Batch 64 is the largest that fits."}


def version(state, **more):
    return {"report": "r1", "number": 1, "state": state, "findings": [], **more}


def test_a_report_is_ordered_waited_for_shown_and_fetched(server, tmp_path, monkeypatch):
    monkeypatch.setattr("aforo.reports.time.sleep", lambda seconds: None)
    sweep = tmp_path / "sweep.json"
    sweep.write_text('{"name": "x", "sweep": {}}')
    url = f"{server.base}/api/v1/reports/r1/versions/1/"
    server.said = [
        (202, {"report": "r1", "version": 1, "state": "queued", "url": url}),
        (200, version("running")),
        (200, version("complete", findings=[FINDING])),
    ]
    shown = run("report", "order", sweep, "--wait").stdout
    assert "r1 version 1: complete" in shown
    assert "m, chat: Batch 64 is the largest that fits." in shown
    assert [path for _method, path, *_ in server.asked][1:] == ["/api/v1/reports/r1/versions/1/"] * 2

    latest = {"latest_version": {"number": 1}}
    server.said = [(200, latest), (202, {"state": "running"}), (200, b"a,b\n1,2\n")]
    target = tmp_path / "rows.csv"
    assert "8 bytes" in run("report", "download", "r1", "--to", target).stdout
    assert target.read_bytes() == b"a,b\n1,2\n"
    server.said = [(200, latest), (409, {"detail": "It failed."})]
    assert "It failed." in run("report", "download", "r1", "--to", target, code=2).stderr

    server.said = [(200, version("failed"))]
    run("report", "show", "r1", "--version", "1", code=1)
    listed = {"id": "r1", "name": "H100", "owner": "ana", "latest_version": {"number": 1, "state": "complete"}}
    server.said = [(200, {"results": [listed]})]
    assert "H100" in run("report", "list").stdout
