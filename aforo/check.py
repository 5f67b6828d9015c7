"""`aforo check`: a manifest against targets and limits, with an exit code for CI."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from aforo import options
from aforo.tables import pairs, say, table
from aforo.transport import RefusedError, Transport, answer

_HOLDS = {True: "yes", False: "NO", None: "not known"}
MEETS, DOES_NOT, CANNOT_BE_READ = 0, 1, 2
_LOAD = {
    "model": "model", "gpu": "gpu", "input_tokens": "workload.input_tokens", "output_tokens": "workload.output_tokens",
    "users": "workload.concurrency", "ttft": "slo.ttft_s", "tpot": "slo.tpot_s", "e2e": "slo.e2e_s",
    "price": "price_per_gpu_hour",
}  # fmt: skip

check_options = options.several(
    click.argument("manifest", type=click.Path(exists=True, dir_okay=False, allow_dash=True)),
    click.option(
        "--previous", type=click.Path(exists=True, dir_okay=False), help="The last version: says what differs."
    ),
    click.option("--name", "server_name", help="Which server of several, by name; the first when left out."),
    click.option("--model", "-m", help="The model, where the catalog has not the manifest's name of it."),
    click.option("--gpu", "-g", help="The GPU, where no label of a node names it."),
    click.option("--input", "-i", "input_tokens", type=float, help="Prompt of a request, tokens."),
    click.option("--output", "-o", "output_tokens", type=float, help="Answer of a request, tokens."),
    click.option("--users", "-u", type=int, help="Requests in flight on one replica."),
    click.option("--rate", type=float, help="Requests per second that arrive at one replica, in place of --users."),
    click.option("--ttft", type=float, help="Target: first token within so many seconds."),
    click.option("--tpot", type=float, help="Target: each further token within so many seconds."),
    click.option("--e2e", type=float, help="Target: the whole answer within so many seconds."),
    click.option("--max-cost", help="Most for a million output tokens, such as 1.5."),
    click.option("--max-cost-per-month", help="Most for a month of 730 h, all replicas together."),
    click.option("--price", help="Price of one GPU for an hour; the catalog's default when left out."),
    click.option("--server", help="Address of a server; AFORO_SERVER, else the engine in this process."),
    click.option("--json", "as_json", is_flag=True, help="The API's answer as it is."),
)


def run_check(transport: Transport, given: dict[str, Any]) -> int:
    """Sends a manifest with what it does not state, shows the answer, and tells the exit code.

    Raises:
        RefusedError: it cannot be read, or the service is away.
    """
    found = answer(transport, "manifests/", _body(given))
    if given["as_json"]:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        say(*_shown(found))
    if found["meets"] is None:
        return CANNOT_BE_READ
    return MEETS if found["meets"] else DOES_NOT


def _body(given: dict[str, Any]) -> dict[str, Any]:
    question: dict[str, Any] = {"changes": True}
    for name, path in _LOAD.items():
        options.put(question, path, given[name])
    if given["rate"] is not None:
        options.put(question, "workload.mode", "open_loop")
        options.put(question, "workload.requests_per_s", given["rate"])
    if given["price"] is not None:
        question["currency"] = "USD"
    body: dict[str, Any] = {"text": _text(given["manifest"]), "question": question}
    options.put(body, "server", given["server_name"])
    options.put(body, "limits.cost_per_mtok_output", given["max_cost"])
    options.put(body, "limits.cost_per_month", given["max_cost_per_month"])
    if given["previous"] is not None:
        body["previous"] = _text(given["previous"])
    return body


def _text(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RefusedError(f"{name} cannot be read: {error}.", CANNOT_BE_READ) from None


def _shown(found: dict[str, Any]) -> list[str]:
    read = [[one["field"], str(one["value"]), "" if one["line"] is None else str(one["line"]), one["said"]]
            for one in found["read"]]  # fmt: skip
    checks = [[one["name"], _HOLDS[one["met"]], one["detail"]] for one in found["checks"]]
    lines = [f"! unknown flag, line {one['line']}: {one['flag']}{_near(one['near'])}" for one in found["unknown"]]
    lines += [f"! {one['flag']}: {one['why']}" for one in found["not_used"] if one["why"]]
    lines += [f"! {note}" for note in found["notes"]]
    lines += [f"assumed: {one['field']}: {one['taken']} ({one['why']})" for one in found["not_stated"]]
    missing = [f"missing: {one['field']}: {one['detail']}{_near(one['near'])}" for one in found["missing"]]
    head = f"{found['server']} ({found['engine']}, {found['format']})"
    words = found["verdict"]["verdict"] if found["verdict"] is not None else None
    return [
        pairs([("server", head), ("replicas", str(found["replicas"]))]),
        table(["field", "value", "line", "said by"], read, right=(2,)) if read else "",
        table(["check", "holds", ""], checks) if checks else "",
        "" if words is None else f"{words['sentence']} {words['advice']}",
        _differs(found["difference"]),
        "\n".join(missing),
        "\n".join(lines),
    ]


def _near(names: list[str]) -> str:
    return f" (near: {', '.join(names)})" if names else ""


def _differs(difference: dict[str, Any] | None) -> str:
    if difference is None:
        return ""
    rows = [[one["field"], str(one["before"]), str(one["after"])] for one in difference["fields"]]
    rows += [[one["figure"], _figure(one["before"]), _figure(one["after"])] for one in difference["figures"]]
    return table(["differs", "before", "now"], rows) if rows else "Nothing differs from the last version."


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
