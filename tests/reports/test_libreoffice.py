"""The workbook opens in LibreOffice without repair and says there what it says here."""

import csv
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from estimator.estimates.sweep.columns import COLUMNS
from reports.storage import get_storage
from reports.work import derive, worker
from tests.live import HANGS_AFTER_S

pytestmark = [pytest.mark.long, pytest.mark.django_db]


@pytest.fixture(scope="module")
def soffice() -> str:
    """LibreOffice; installed where `make long` runs as root and it is missing."""
    if shutil.which("soffice") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        install = ["apt-get", "install", "-y", "--no-install-recommends", "libreoffice-calc-nogui"]
        subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=False)
        subprocess.run(install, capture_output=True, check=False)
    found = shutil.which("soffice")
    if found is None:
        pytest.skip("LibreOffice is not installed")
    return found


@pytest.mark.timeout(900)
def test_the_workbook_opens_and_holds_the_rows(soffice, ana, make_report, tmp_path: Path):
    version = make_report(ana)
    derive.order(version, "xlsx")
    worker.run()
    book = tmp_path / "report.xlsx"
    shutil.copy(get_storage().path(version.artifacts.get(format="xlsx").file_name), book)
    # The fourth sheet as CSV, unformatted values: token 9 names the sheet, token 8 asks for values as they are.
    rows_sheet = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,4"
    command = [soffice, "--headless", f"-env:UserInstallation=file://{tmp_path}/profile", "--convert-to", rows_sheet]
    done = subprocess.run(
        [*command, "--outdir", str(tmp_path), str(book)], capture_output=True, text=True, timeout=HANGS_AFTER_S
    )
    assert done.returncode == 0, done.stderr
    assert "repair" not in (done.stdout + done.stderr).lower()
    sheets = list(tmp_path.glob("report*Rows.csv"))
    assert sheets, list(tmp_path.iterdir())
    with sheets[0].open(newline="") as file:
        _words, header, *lines = csv.reader(file)
    assert header == [column.name for column in COLUMNS]
    assert len(lines) == version.total_rows
    batch = header.index("batch_size")
    assert {line[batch] for line in lines} == {str(2**power) for power in range(9)}
