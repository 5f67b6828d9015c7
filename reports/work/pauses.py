"""Test-only pauses at the points where a killed worker could hurt most; production refuses the setting."""

import time

from reports import conf

_PAUSE_S = 300


def pause_point(name: str) -> None:
    """Sleep when the setting names this point, after leaving a mark that the test waits for."""
    if conf.pause_after() != name:
        return
    mark = conf.artifact_dir() / "paused"
    if mark.exists():  # a worker that starts anew goes on
        return
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(name)
    time.sleep(_PAUSE_S)
