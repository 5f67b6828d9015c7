"""The base set, which `make run` installs, holds everything that the running product imports."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

from tests.live import ROOT, embedded_environment

# What web, worker and commands come to import, on embedded defaults and on PostgreSQL and Redis, with every package
# that is not of the base set hidden.
IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
HIDDEN = set(sys.argv[1].split())
# What an extra brings, imported on demand.
EXTRAS = {"reports.storage.bucket"}

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hide())
import django
django.setup()
import aforo, config, catalog, estimator, pages, reports
for package in (aforo, config, catalog, estimator, pages, reports):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name in EXTRAS or "migrations" in found.name or ".settings" in found.name:
            continue
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
for name in ("granian.cli", "celery.bin.worker", "celery.beat", "celery.concurrency.prefork", "psycopg", "whitenoise",
             "kombu.transport.redis", "kombu.transport.filesystem", "drf_spectacular.management.commands.spectacular"):
    importlib.import_module(name)
"""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_product_imports_nothing_that_is_only_in_the_dev_set(tmp_path):
    text = (ROOT / "requirements/base.txt").read_text()
    locked = {canonical(name) for name in re.findall(r"^([\w.-]+)==", text, re.M)}
    hidden = [
        name
        for name, distributions in packages_distributions().items()
        if not locked & {canonical(distribution) for distribution in distributions}
    ]
    assert "pytest" in hidden
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING, " ".join(hidden)],
        cwd=ROOT,
        env=embedded_environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
