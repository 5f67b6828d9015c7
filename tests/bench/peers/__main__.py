"""`python -m tests.bench.peers PYTHON_OF_THE_PEERS`: our figures beside theirs on published measurements."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import django

TIMED = 40


def main() -> None:
    """Ask, compare, print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("python", help="Interpreter of the environment that holds the peers.")
    options.add_argument("--within", type=float, default=1800.0, help="Seconds in which each peer may answer.")
    options.add_argument("--gpu", action="append", help="Rows of this GPU alone; may be given more than once.")
    options.add_argument("--peer", action="append", default=[], help="This peer alone; may be given more than once.")
    asked = options.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    django.setup()
    from estimator.validation.rows import read_measurements, used
    from tests.bench.peers.questions import METRICS, questions_of

    rows = [row for row in used(read_measurements()) if row.metric in METRICS]
    if asked.gpu:
        rows = [row for row in rows if row.gpu in asked.gpu]
    with tempfile.TemporaryDirectory() as folder:
        questions, said = Path(folder) / "questions.json", Path(folder) / "answers.jsonl"
        questions.write_text(json.dumps(questions_of(rows)), encoding="utf-8")
        script = Path(__file__).with_name("tools.py")
        command = [asked.python, str(script), str(questions), str(said), str(asked.within), *asked.peer]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        answers = [json.loads(line) for line in said.read_text(encoding="utf-8").splitlines()]
    _print(rows, answers)


def _print(rows: Sequence[Any], answers: Sequence[dict[str, Any]]) -> None:
    from estimator.validation.predictions import predict

    predicted, _skipped = predict(rows)
    ours = {one.row.id: one for one in predicted}
    by_id = {row.id: row for row in rows}
    lines = [
        "| peer | figure | rows | ours nearer | our error, median | theirs |",
        "|---|---|---|---|---|---|",
    ]
    for peer in dict.fromkeys(answer["peer"] for answer in answers):
        of_peer = [answer for answer in answers if answer["peer"] == peer]
        for metric in dict.fromkeys(row.metric for row in rows):
            pairs = [
                (abs(ours[one["row"]].error), abs(one[metric.value] / by_id[one["row"]].value - 1.0))
                for one in of_peer
                if metric.value in one and one["row"] in ours and by_id[one["row"]].metric is metric
            ]
            if pairs:
                nearer = sum(own < other for own, other in pairs) / len(pairs)
                own, other = (statistics.median(side) for side in zip(*pairs, strict=True))
                lines.append(f"| {peer} | {metric.value} | {len(pairs)} | {nearer:.0%} | {own:.1%} | {other:.1%} |")
        times_s = [one["took_s"] for one in of_peer if "took_s" in one]
        refused = sum("refused" in one for one in of_peer)
        took = f"{statistics.median(times_s) * 1e3:.1f} ms an answer" if times_s else "no answer"
        lines.append(f"{peer}: {took}, {len(times_s)} answers, {refused} refused")
    lines.append(f"ours: {_ours_s([one.row for one in predicted]) * 1e3:.1f} ms an answer")
    sys.stdout.write("\n".join(lines) + "\n")


def _ours_s(rows: Sequence[Any]) -> float:
    """Median seconds of one row asked alone, its setting known already as theirs is."""
    from estimator.validation.predictions import predict

    times_s = []
    for row in rows[:: max(len(rows) // TIMED, 1)]:
        predict([row])
        began_s = time.perf_counter()
        predict([row])
        times_s.append(time.perf_counter() - began_s)
    return statistics.median(times_s)


if __name__ == "__main__":
    main()
