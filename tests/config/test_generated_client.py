"""The client that openapi-python-client makes of the published schema: nothing of the schema is dropped."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from django.core.wsgi import get_wsgi_application

from config.access.models import User
from config.access.tokens import issue_token
from reports.api import examples
from tests.estimator.conftest import loaded_catalog
from tests.published_schema import ROOT, published

__all__ = ["loaded_catalog"]
SCOPES = ["read", "estimate", "reports"]

METHODS = {"get", "post", "put", "patch", "delete"}


def operation_ids() -> set[str]:
    """Names of the modules that the operations of the schema become."""
    return {
        operation["operationId"]
        for path in published()["paths"].values()
        for method, operation in path.items()
        if method in METHODS
    }


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    """The client, importable as `aforo_client`."""
    folder = tmp_path_factory.mktemp("client")
    settings = folder / "settings.yaml"
    # Its words for a body that is a file.
    files = dict.fromkeys(("text/csv", "application/x-ndjson"), "application/octet-stream")
    settings.write_text(json.dumps({"post_hooks": [], "content_type_overrides": files}), encoding="utf-8")
    out = folder / "aforo_client"
    made = subprocess.run(
        [
            sys.executable, "-m", "openapi_python_client", "generate", "--path", str(ROOT / "docs/openapi.yaml"),
            "--meta", "none", "--output-path", str(out), "--config", str(settings),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = made.stdout + made.stderr
    assert made.returncode == 0, said
    assert not re.search(r"warning|unable to parse|error", said, re.IGNORECASE), said
    return out


def test_a_client_is_generated_of_every_operation_without_a_warning(generated: Path) -> None:
    modules = {path.stem for path in (generated / "api").rglob("*.py") if path.stem != "__init__"}
    assert operation_ids() == modules


@pytest.mark.django_db
@pytest.mark.usefixtures("loaded_catalog")
def test_it_asks_one_of_each_kind_of_operation(generated: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(generated.parent))
    owner = User.objects.create_user("ana")
    client = importlib.import_module("aforo_client").AuthenticatedClient(
        base_url="http://testserver", token=issue_token(owner, "client", scopes=SCOPES)[1],
        httpx_args={"transport": httpx.WSGITransport(app=get_wsgi_application())},
    )  # fmt: skip

    def ask(module: str, *path: object, **more: object):
        return importlib.import_module(f"aforo_client.api.{module}").sync_detailed(*path, client=client, **more)

    models = importlib.import_module("aforo_client.models")
    listed = ask("gpus.gpus_list", page_size=3)
    assert (listed.status_code, len(listed.parsed.results)) == (200, 3)
    gpu = ask("gpus.gpus_retrieve", listed.parsed.results[0].slug)
    assert gpu.parsed.slug == listed.parsed.results[0].slug
    counted = ask("estimates.estimates_tokens", body=models.TokensRequest.from_dict({"words": 900, "language": "en"}))
    assert counted.parsed.tokens == 1200
    refused = ask("estimates.estimates_tokens", body=models.TokensRequest.from_dict({"words": -1}))
    assert (refused.status_code, refused.parsed.errors[0].pointer) == (400, "#/words")
    questions = {"questions": [{"estimate": "tokens", "body": {"words": 900, "language": "en"}}]}
    many = ask("estimates.estimates_batch", body=models.QuestionsRequest.from_dict(questions))
    assert many.parsed.answers[0].status == 200
    order = {"name": "by a client", "sweep": examples.SWEEP}
    made = ask("reports.reports_create", body=models.CreateReportRequest.from_dict(order), idempotency_key="once")
    assert (made.status_code, made.parsed.version) == (202, 1)
    version = ask("reports.versions_retrieve", made.parsed.report, 1)
    assert version.parsed.state == "queued"
