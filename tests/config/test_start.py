"""What `make run` waits for, and when it need not load the catalog again."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command

from catalog.revisions import bump_catalog_revision, current_revision
from config import catalog_load
from config.supervisor.__main__ import what_is_missing
from tests.catalog.factories import GpuFactory


class Status(BaseHTTPRequestHandler):
    """Answers /statusz as the test says."""

    def do_GET(self):
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_):
        """Nothing is logged."""


@pytest.fixture
def status():
    server = HTTPServer(("127.0.0.1", 0), Status)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.base = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    server.server_close()


def test_what_is_missing_is_named(status):
    checks = {"database": {"ok": True}, "broker": {"ok": True}, "worker": {"ok": False, "detail": "none yet"}}
    status.status, status.body = 503, json.dumps({"status": "ill", "checks": checks}).encode()
    assert what_is_missing(status.base) == "worker"
    status.status, status.body = 502, b"<html>"
    assert what_is_missing(status.base) == "the service"
    status.status, status.body = 200, b"{}"
    assert what_is_missing(status.base) == ""
    assert what_is_missing("http://127.0.0.1:9") == "the web server"


@pytest.fixture
def loaded(db, settings, tmp_path):
    """A catalog that was loaded and noted."""
    settings.DATA_DIR = tmp_path
    GpuFactory()
    bump_catalog_revision()
    assert not catalog_load.is_loaded()
    catalog_load.note()
    assert catalog_load.is_loaded()
    return tmp_path / "catalog-loaded.json"


def test_a_change_of_data_code_or_package_asks_for_a_load(loaded, monkeypatch, tmp_path):
    copy = tmp_path / "root"
    for folder in ("catalog", "estimator"):
        (copy / folder).mkdir(parents=True)
    (copy / "catalog" / "gpus.yaml").write_text("a")
    monkeypatch.setattr(django_settings, "BASE_DIR", copy)
    assert not catalog_load.is_loaded()
    catalog_load.note()
    assert catalog_load.is_loaded()
    (copy / "catalog" / "gpus.yaml").write_text("b")
    assert not catalog_load.is_loaded()
    catalog_load.note()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "9.9")
    assert not catalog_load.is_loaded()


def test_a_person_s_edit_asks_for_none_and_a_database_put_back_does(loaded):
    bump_catalog_revision()
    assert catalog_load.is_loaded()
    noted = json.loads(loaded.read_text())
    loaded.write_text(json.dumps(noted | {"revision": current_revision().number + 1}))
    assert not catalog_load.is_loaded()
    loaded.write_text("not json")
    assert not catalog_load.is_loaded()


def test_an_empty_database_asks_for_a_load(loaded):
    from catalog.models import Gpu

    Gpu.objects.all().delete()
    assert not catalog_load.is_loaded()


def test_a_start_with_nothing_to_do_loads_nothing_and_says_so(loaded, capsys, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the catalog is loaded again")

    monkeypatch.setattr("catalog.management.commands.load_catalog.Command.handle", refuse)
    call_command("prepare_run", "--if-changed")
    captured = capsys.readouterr()
    assert "nothing has changed since it was loaded" in captured.err
    assert "database ready after" in captured.err
    assert json.loads(captured.out)["username"] == "demo"
    with pytest.raises(AssertionError, match="loaded again"):
        call_command("prepare_run")
