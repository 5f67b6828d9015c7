"""`python -m tests.bench.bills PYTHON_OF_THE_TOOLS [--write]`: exits 1 where a difference has no reason."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import django

from tests import templates
from tests.live import embedded_environment


def main() -> int:
    """Bill, compare, print; write the page when asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("python", help="Interpreter of the environment that holds the tools.")
    options.add_argument("--write", action="store_true", help="Write docs/bill-tools.md.")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = embedded_environment(Path(folder))
        os.environ.update(environment)
        data = Path(environment["AFORO_DATA_DIR"])
        data.mkdir(parents=True)
        shutil.copy(templates.sqlite_file("whole"), data / "aforo.sqlite3")
        django.setup()
        return _compare(Path(folder), asked.python, write=asked.write)


def _compare(folder: Path, python: str, *, write: bool) -> int:
    from tests.bench.bills import page
    from tests.bench.bills.ours import our_totals
    from tests.bench.bills.usages import usages

    listed = usages()
    (folder / "usages.json").write_text(json.dumps(listed), encoding="utf-8")
    script = Path(__file__).with_name("tools.py")
    subprocess.run([python, str(script), str(folder / "usages.json"), str(folder / "answers.json")], check=True)
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    result = page.compared(listed, our_totals(listed), answers)
    sys.stdout.write(page.text(result))
    if write:
        page.PAGE.write_text(page.text(result), encoding="utf-8")
    for line in result.unexplained:
        sys.stderr.write(f"not explained: {line}\n")
    return 1 if result.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
