"""The README's commands work as they stand, against a live service."""

import os
import re
import subprocess

from tests.live import HANGS_AFTER_S, ROOT

BLOCK = re.compile(r"<!-- run(?:: (?P<expected>[^\n]*?))? -->\n```sh\n(?P<script>.*?)```", re.S)


def blocks() -> list[tuple[str, str | None]]:
    return [(found["script"], found["expected"]) for found in BLOCK.finditer((ROOT / "README.md").read_text())]


def test_every_block_that_asks_to_be_run_is_found():
    text = (ROOT / "README.md").read_text()
    assert len(blocks()) == text.count("<!-- run") >= 2


def test_the_commands_of_the_readme_work(live_service, tmp_path):
    service = live_service()
    marker = "=== end of block"
    script = "".join(f"{script}\necho; echo '{marker}'\n" for script, _ in blocks())
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AFORO": service.base, "TOKEN": service.token},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    outputs = done.stdout.split(marker)
    for (script, expected), output in zip(blocks(), outputs, strict=False):
        assert expected is None or expected in output, f"{script}\n{output[-3000:]}"
    the_token_is_where_the_readme_says(service, tmp_path)


def the_token_is_where_the_readme_says(service, folder):
    line = next(line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("TOKEN="))
    done = subprocess.run(["bash", "-c", f'{line}; echo "$TOKEN"'], cwd=folder, capture_output=True, text=True)
    assert done.stdout.strip() == service.token
