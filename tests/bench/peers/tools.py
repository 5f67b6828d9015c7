"""Runs in the environment of the peers: answers the questions of a file, one JSON object a line, while time is left."""

import json
import logging
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Requests in flight that a peer without a question of its own for the maximum is asked for; the best one counts.
_BATCHES = (64, 128, 256, 512, 1024)
_MILLI = 1e-3


def aiconfigurator_of(question: dict[str, Any]) -> dict[str, float]:
    """Times of one load, or the most tokens/s among batches that its memory check lets through."""
    from aiconfigurator.cli.api import cli_estimate

    asked = question["aiconfigurator"]
    lanes = asked.get("attention_dp_size", 1)
    if question["concurrency"]:
        said = cli_estimate(**asked, batch_size=max(round(question["concurrency"] / lanes), 1))
        return {"ttft_s": float(said.ttft) * _MILLI, "tpot_s": float(said.tpot) * _MILLI}
    rates = []
    for batch in _BATCHES:
        try:
            said = cli_estimate(**asked, batch_size=max(batch // lanes, 1))
        except Exception:
            break
        rates.append(float(said.raw["tokens/s"]))
    return {"max_output_tokens_per_s": max(rates)}


def servcalc_of(question: dict[str, Any]) -> dict[str, float]:
    """Times of one load; a single GPU alone."""
    from servcalc import Workload, estimate

    asked = question["servcalc"]
    batches = (round(question["concurrency"]),) if question["concurrency"] else _BATCHES
    load = Workload(prompt_len=asked["input_tokens"], gen_len=asked["output_tokens"], concurrency=batches)
    points = estimate(asked["model"], asked["gpu"], workload=load).points
    if question["concurrency"]:
        return {"ttft_s": points[0].ttft_ms.mid * _MILLI, "tpot_s": points[0].itl_ms.mid * _MILLI}
    return {"max_output_tokens_per_s": max(point.total_tok_s.mid for point in points if point.feasible)}


def genz_of(question: dict[str, Any]) -> dict[str, float]:
    """One prompt's prefill, and a decode step of the batch."""
    from GenZ.LLM_inference import decode_moddeling, prefill_moddeling

    asked = dict(question["genz"])
    inputs, outputs = asked.pop("input_tokens"), asked.pop("output_tokens")
    batch = round(question["concurrency"])
    first = prefill_moddeling(**asked, batch_size=1, input_tokens=inputs)
    step = decode_moddeling(**asked, batch_size=batch, input_tokens=inputs, output_tokens=outputs, Bb=1)
    return {"ttft_s": float(first["Latency"]) * _MILLI, "tpot_s": float(step["Latency"]) * _MILLI}


PEERS: dict[str, Callable[[dict[str, Any]], dict[str, float]]] = {
    "aiconfigurator": aiconfigurator_of,
    "servcalc": servcalc_of,
    "genz": genz_of,
}


def answers(peer: str, question: dict[str, Any]) -> dict[str, Any]:
    """What a peer says, with the seconds it took, or why it says nothing."""
    began_s = time.perf_counter()
    try:
        said = PEERS[peer](question)
    except Exception as refused:
        return {"peer": peer, "row": question["row"], "refused": f"{type(refused).__name__}: {refused}"[:200]}
    found = {name: value for name, value in said.items() if math.isfinite(value) and value > 0}
    return {"peer": peer, "row": question["row"], "took_s": time.perf_counter() - began_s, **found}


def main() -> None:
    """Questions, answers and seconds for each peer stand in the arguments."""
    questions = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    within_s = float(sys.argv[3])
    logging.disable(logging.CRITICAL)
    with Path(sys.argv[2]).open("w", encoding="utf-8") as out:
        for peer in sys.argv[4:] or PEERS:
            ends_s = time.monotonic() + within_s
            for question in questions:
                if peer in question and time.monotonic() < ends_s:
                    out.write(json.dumps(answers(peer, question)) + "\n")
                    out.flush()


if __name__ == "__main__":
    main()
