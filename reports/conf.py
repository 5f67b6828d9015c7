"""Settings of the reports app with their defaults; the numbers of leases belong to the design, not to taste."""

from pathlib import Path
from typing import Any

from django.conf import settings

MAX_ATTEMPTS = 5
WORK_BUDGET_S = 20
ORPHAN_AGE_S = 24 * 3600
IDEMPOTENCY_DAYS = 7
MAX_BELLS = 8


def _setting(name: str, default: Any) -> Any:
    return getattr(settings, name, default)


def lease_s() -> float:
    """Seconds that a claim holds without a heartbeat; 60, shorter only in tests of failures."""
    return float(_setting("AFORO_LEASE_S", 60))


def heartbeat_s() -> float:
    """Seconds between the heartbeats of a long step: six fit into a lease."""
    return lease_s() / 6


def leftovers_after_s() -> float:
    """Seconds without a worker of an estimator after which what was ordered with it is ordered anew."""
    return float(_setting("AFORO_LEFTOVERS_AFTER_S", 900))


def disk_full_retry_s() -> float:
    """Seconds for which work that met a full disk is tried again before it fails."""
    return float(_setting("AFORO_DISK_FULL_RETRY_S", 900))


def max_versions_in_flight() -> int:
    """Most versions of one owner that are queued or running."""
    return int(_setting("AFORO_MAX_VERSIONS_IN_FLIGHT", 120))


def max_rows_in_flight() -> int:
    """Most rows of one owner that are still to be computed."""
    return int(_setting("AFORO_MAX_ROWS_IN_FLIGHT", 10_000_000))


def max_stored_bytes() -> int:
    """Most bytes of report files of one owner."""
    return int(_setting("AFORO_MAX_STORED_BYTES", 20_000_000_000))


def artifact_dir() -> Path:
    """Folder of all report files."""
    return Path(_setting("AFORO_ARTIFACT_DIR", Path(settings.DATA_DIR) / "artifacts"))


def artifact_store() -> str:
    """Address of the bucket that keeps report files, as s3://bucket/prefix; empty: the folder does."""
    return str(_setting("AFORO_ARTIFACT_STORE", ""))


def scratch_dir() -> Path:
    """Folder on a disk of this machine for what is being written, for DuckDB's spill and for the cache of a bucket."""
    return Path(_setting("AFORO_SCRATCH_DIR", None) or Path(settings.DATA_DIR) / "scratch")


def cache_dir() -> Path:
    """Folder of the files of a bucket that are on this machine."""
    return scratch_dir() / "cache"


def cache_bytes() -> int:
    """Most bytes of them, but for those in use."""
    return int(_setting("AFORO_ARTIFACT_CACHE_BYTES", 10_000_000_000))


def redirect_downloads() -> bool:
    """Whether readers of a file are sent to the bucket for it."""
    return bool(_setting("AFORO_REDIRECT_DOWNLOADS", False))


def s3_addressing() -> str:
    """How a bucket is named in addresses: auto, path or virtual."""
    return str(_setting("AFORO_S3_ADDRESSING", "auto"))


def store_wait_s() -> float:
    """Seconds for which a worker waits for a store that is away, before it puts its work off."""
    return float(_setting("AFORO_STORE_WAIT_S", 90))


def chunk_rows() -> int:
    """Rows of one chunk: small enough for a lease, large enough for the vectorised engine."""
    return int(_setting("AFORO_SWEEP_CHUNK_ROWS", 50_000))


def max_rows() -> int:
    """Most rows of one version."""
    return int(_setting("AFORO_MAX_SWEEP_ROWS", 2_000_000))


def duckdb_memory() -> str:
    """Memory limit of one DuckDB connection."""
    return str(_setting("AFORO_DUCKDB_MEMORY", "384MB"))


def retention_days() -> int:
    """Days after its last use that a derived file is kept."""
    return int(_setting("AFORO_ARTIFACT_RETENTION_DAYS", 30))


def pause_after() -> str:
    """Test only: where a worker pauses ("k", "part:k", "final"); refused in production by a system check."""
    return str(_setting("AFORO_TEST_PAUSE_AFTER_CHUNK", ""))
