"""Options that several commands share, and the body that they make."""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from aforo.transport import BAD_QUESTION, RefusedError

Command = Callable[..., Any]


def several(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Options in the order in which the help shows them."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


asking = several(
    click.option("--body", "body_file", type=click.Path(exists=True, dir_okay=False, allow_dash=True),
                 help="JSON of the request, as the API takes it (- for standard input); options change it."),
    click.option("--server", help="Address of a server; AFORO_SERVER, else the engine in this process."),
    click.option("--json", "as_json", is_flag=True, help="The API's answer as it is."),
    click.option("--explain", is_flag=True, help="Add the working, step by step."),
)  # fmt: skip

plan = several(
    click.argument("model", required=False),
    click.argument("gpu", required=False),
    click.option("--gpus", "-n", type=int, help="GPUs of the replica: its tensor parallel degree."),
    click.option("--engine", "-e", help="Engine profile: vllm, sglang, tensorrt-llm, llama.cpp, vllm-0.19 …"),
    click.option("--weights", "-w", help="Format of the weights: bf16, fp8, int4, q4_k_m …"),
    click.option("--kv", help="Format of the KV cache: bf16, fp8 …"),
    click.option("--input", "-i", "input_tokens", type=float, help="Prompt of a request, tokens."),
    click.option("--output", "-o", "output_tokens", type=float, help="Answer of a request, tokens."),
    click.option("--users", "-u", type=int, help="Requests in flight."),
    click.option("--utilization", type=float, help="Share of GPU memory that the engine may use, 0 to 1."),
    click.option("--config", type=click.Path(exists=True, dir_okay=False), help="A config.json in place of MODEL."),
)

load = several(
    click.option("--rate", type=float, help="Requests per second that arrive, in place of --users."),
    click.option("--cached", type=float, help="Share of the prompt found in the prefix cache, 0 to 1."),
)

targets = several(
    click.option("--ttft", type=float, help="Target: first token within so many seconds."),
    click.option("--tpot", type=float, help="Target: each further token within so many seconds."),
)

price = several(
    click.option("--price", help="Price of one GPU for an hour, such as 2.50; the catalog's default when left out."),
    click.option("--currency", help="ISO 4217 code of the price; USD when left out."),
)


def read_body(body_file: str | None) -> dict[str, Any]:
    """The request of a file; empty without one.

    Raises:
        RefusedError: it is no JSON object.
    """
    if body_file is None:
        return {}
    text = sys.stdin.read() if body_file == "-" else Path(body_file).read_text(encoding="utf-8")
    return json_object(text, body_file)


def json_object(text: str, name: str) -> dict[str, Any]:
    """The JSON object of a text.

    Raises:
        RefusedError: it is none.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise RefusedError(f"{name} is not JSON: {error}.", BAD_QUESTION) from None
    if not isinstance(found, dict):
        raise RefusedError(f"{name} must hold an object.", BAD_QUESTION)
    return found


def put(body: dict[str, Any], path: str, value: Any) -> None:
    """Put a value that was given at a dotted place of a body."""
    if value is None:
        return
    *parents, name = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    body[name] = value


def put_plan(body: dict[str, Any], given: dict[str, Any]) -> None:
    """The options of a plan, load, targets and price in a body."""
    config = given.get("config")
    if config is not None:
        if given.get("model") is not None and given.get("gpu") is None:
            # With a config the first word is the GPU.
            given = {**given, "gpu": given["model"], "model": None}
        put(body, "model", {"config": json_object(Path(config).read_text(encoding="utf-8"), config)})
    else:
        put(body, "model", given.get("model"))
    for name, path in _PLACES.items():
        put(body, path, given.get(name))
    if given.get("rate") is not None:
        put(body, "workload.mode", "open_loop")
        put(body, "workload.requests_per_s", given["rate"])
    if given.get("price") is not None:
        put(body, "currency", given.get("currency") or "USD")


_PLACES = {
    "gpu": "gpu", "gpus": "parallelism.tp", "engine": "engine", "weights": "precision.weights",
    "kv": "precision.kv_cache", "input_tokens": "workload.input_tokens", "output_tokens": "workload.output_tokens",
    "users": "workload.concurrency", "cached": "workload.prefix_cache_hit_rate", "utilization": "memory.utilization",
    "ttft": "slo.ttft_s", "tpot": "slo.tpot_s", "price": "price_per_gpu_hour", "currency": "currency",
}  # fmt: skip


def options_of(fields: Iterable[str]) -> list[str]:
    """Options of the commands that set a field, by its place in a request."""
    spelled = {"input_tokens": "input", "output_tokens": "output", "gpus": "gpus"}
    found = [spelled.get(name, name) for field in fields for name, place in _PLACES.items() if place == field]
    rates = ["rate"] if "workload.requests_per_s" in fields else []
    return [f"--{name}" for name in dict.fromkeys([*found, *rates]) if name not in ("gpu", "model")]
