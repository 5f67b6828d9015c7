"""What older releases stored: their databases, report files and what their manifests say of them."""

import gzip
import json
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


class Release:
    """The fixture of one release; see tests/fixtures/README.md."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return self.folder.name

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """`reports` (id by name), `files` (sha256 by path), `versions`, `migrations`, `table_rows`."""
        return json.loads((self.folder / "manifest.json").read_text())

    def report(self, name: str) -> str:
        """Address of a report."""
        return f"/api/v1/reports/{self.manifest['reports'][name]}/"

    def versions(self, **having: Any) -> list[dict[str, Any]]:
        """The versions as the release left them; `name` and `url` beside the columns."""
        names = {report.replace("-", ""): name for name, report in self.manifest["reports"].items()}
        found = []
        for row in self.manifest["versions"]:
            name = names[row["report"]]
            version = row | {"name": name, "url": f"{self.report(name)}versions/{row['number']}/"}
            if having.items() <= version.items():
                found.append(version)
        return found

    def unpack(self, data: Path) -> None:
        """Puts database and report files where the service on embedded defaults looks for them."""
        shutil.copytree(self.folder / "artifacts", data / "artifacts")
        (data / "aforo.sqlite3").write_bytes(gzip.decompress((self.folder / "database.sqlite.gz").read_bytes()))

    def load_postgresql(self, url: str) -> None:
        """Runs the dump in an empty PostgreSQL database."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(gzip.decompress((self.folder / "postgresql.sql.gz").read_bytes()))


RELEASES = [Release(folder) for folder in sorted(FIXTURES.glob("release_*"))]
