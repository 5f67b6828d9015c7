"""Writes golden.json: what the closed loop makes of the twelve worked configurations of the reference."""

import json

from tests.engine.speed.test_engine_golden import GOLDEN, NAMES, loop_figures

if __name__ == "__main__":
    figures = {name: loop_figures(name) for name in NAMES}
    GOLDEN.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
