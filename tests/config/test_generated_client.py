"""The client that openapi-python-client makes of the published schema: nothing of the schema is dropped."""

import re
import subprocess
import sys
from pathlib import Path

from tests.published_schema import ROOT, published

METHODS = {"get", "post", "put", "patch", "delete"}


def operation_ids() -> set[str]:
    """Names of the modules that the operations of the schema become."""
    return {
        operation["operationId"]
        for path in published()["paths"].values()
        for method, operation in path.items()
        if method in METHODS
    }


def test_a_client_is_generated_of_every_operation_without_a_warning(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("post_hooks: []\n", encoding="utf-8")
    out = tmp_path / "client"
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
    modules = {path.stem for path in (out / "api").rglob("*.py") if path.stem != "__init__"}
    assert operation_ids() == modules
