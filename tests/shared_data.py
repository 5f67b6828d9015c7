"""Where the founders' data lies, beside the repository; absent on other machines."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


def shared_dir() -> Path:
    """The folder, or a skip where it is absent; in CI it is there, so that there a skip is a failure."""
    if not SHARED.is_dir():
        if os.environ.get("AFORO_REQUIRE_SHARED") == "1":
            pytest.fail(f"AFORO_REQUIRE_SHARED=1 but {SHARED} is not there.")
        pytest.skip("../shared is not there")
    return SHARED
