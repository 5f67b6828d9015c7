"""The commands. Each makes a body of the API, sends it, and shows the answer as a table or as it is."""

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from aforo import options, shown
from aforo.check import check_options, run_check
from aforo.reports import report
from aforo.tables import notes, say, table, working
from aforo.transport import ANSWERED, ANSWERED_NO, Embedded, RefusedError, Server, Transport, answer, fields_of

DASH = "—"
Shown = Callable[[dict[str, Any]], list[str]]
EPILOG = (
    "Exit codes: 0 answered; 1 answered, and the answer is no (does not fit, targets missed, nothing serves); "
    "2 the question is wrong; 3 no service; 4 not allowed. Environment: AFORO_SERVER, AFORO_TOKEN, AFORO_DATA_DIR."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(package_name="aforo", message="%(version)s")
def cli() -> None:
    """Capacity, speed and cost of LLM inference.

    Without --server the engine of this installation answers, on its own catalog. Names of models and GPUs are read as
    people write them.
    """


def transport_of(server: str | None) -> Transport:
    """The server that was named, or the engine in this process."""
    address = server or os.environ.get("AFORO_SERVER") or ""
    if not address:
        return Embedded()
    if not address.startswith(("http://", "https://")):
        address = f"https://{address}"
    return Server(address, os.environ.get("AFORO_TOKEN") or "")


def ask(path: str, body: dict[str, Any], common: dict[str, Any], show: Shown, is_yes: Callable[..., bool]) -> int:
    """Sends a question and shows the answer; the exit code."""
    query = "?explain=true" if common["explain"] else ""
    found = answer(transport_of(common["server"]), path + query, body)
    if common["as_json"]:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        say(*show(found), notes(found), working(found))
    return ANSWERED if is_yes(found) else ANSWERED_NO


def question(command: Callable[..., int]) -> Callable[..., None]:
    """A command that ends with the code of its answer; refusals are told on standard error."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        try:
            code = command(**given)
        except RefusedError as refused:
            click.echo(f"aforo: {refused}", err=True)
            code = refused.code
        sys.exit(code)

    return run


def _split(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that every command has, and the body with the plan's."""
    common = {name: given.pop(name) for name in ("server", "as_json", "explain")}
    body = options.read_body(given.pop("body_file"))
    return common, body


@cli.command(
    no_args_is_help=True,
    epilog="Example: aforo verdict llama-3.3-70b h100-sxm5-80gb -n 2 -w fp8 -i 8000 -o 500 -u 16 --ttft 2 --tpot 0.05",
)
@options.plan
@options.load
@options.targets
@options.price
@options.asking
@question
def verdict(**given: Any) -> int:
    """MODEL on GPU: fit, speed and cost in one verdict, and what would change it."""
    common, body = _split(given)
    options.put_plan(body, given)
    return ask("estimates/verdict/", body, common, shown.verdict, _is_good)


def _is_good(found: dict[str, Any]) -> bool:
    return found["verdict"]["state"] in ("safe", "likely", "fits", "speed_unknown")


@cli.command(
    no_args_is_help=True, epilog="Example: aforo fit llama-3.3-70b h100-sxm5-80gb -n 2 -w bf16 -i 8000 -o 500 -u 16"
)
@options.plan
@options.asking
@question
def fit(**given: Any) -> int:
    """MODEL on GPU: does it fit, what takes the memory, what would fit."""
    common, body = _split(given)
    options.put_plan(body, given)
    return ask("estimates/memory-fit/", body, common, shown.fit, lambda found: found["feasible"])


@cli.command(
    no_args_is_help=True, epilog="Example: aforo speed llama-3.1-8b l40s -i 1500 -o 300 -u 8 --batch 1 --batch 16"
)
@options.plan
@options.load
@options.targets
@click.option("--batch", "batches", type=int, multiple=True, help="A row for this batch size; may be repeated.")
@options.asking
@question
def speed(**given: Any) -> int:
    """MODEL on GPU: first token, tokens per second, with their bands."""
    common, body = _split(given)
    options.put_plan(body, given)
    options.put(body, "workload.batch_sizes", list(given["batches"]) or None)
    return ask("estimates/throughput/", body, common, shown.speed, _is_fast)


def _is_fast(found: dict[str, Any]) -> bool:
    met = found["meets_slo"]
    return bool(found["feasible"]) and (met is None or met["all"] is not False)


@cli.command(no_args_is_help=True, epilog="Example: aforo cost llama-3.1-8b l40s -i 1500 -o 300 -u 8")
@options.plan
@options.load
@options.price
@click.option("--api", "api_price", help="Slug of an API's price list, such as anthropic-claude-opus-5-5.")
@click.option("--requests", type=int, help="Requests to bill through the API, with --input and --output each.")
@options.asking
@question
def cost(**given: Any) -> int:
    """MODEL on GPU: what tokens cost; with --api what an API bills for the same requests."""
    common, body = _split(given)
    hosted: dict[str, Any] = {}
    options.put_plan(hosted, given)
    if hosted.get("model") is not None or hosted.get("gpu") is not None:
        body["self_hosted"] = {**body.get("self_hosted", {}), **hosted}
    if given["api_price"] is not None:
        usage = {"input_tokens": given["input_tokens"], "output_tokens": given["output_tokens"]}
        part = {
            "price": given["api_price"],
            "usage": {name: value for name, value in usage.items() if value is not None},
        }
        options.put(part, "requests", given["requests"])
        body["api"] = {**body.get("api", {}), **part}
    return ask("estimates/cost/", body, common, shown.cost, _is_priced)


def _is_priced(found: dict[str, Any]) -> bool:
    hosted = found["self_hosted"]
    return hosted is None or bool(hosted["feasible"])


@cli.command(
    no_args_is_help=True,
    epilog="Example: aforo cache anthropic-claude-opus-5-5 --prefix 20000 --suffix 1000 -o 500 --per-hour 30",
)
@click.argument("price", required=False)
@click.option("--prefix", type=int, help="Tokens that requests share.")
@click.option("--suffix", type=int, help="Tokens of each request after them.")
@click.option("--output", "-o", "output_tokens", type=int, help="Answer of a request, tokens.")
@click.option("--per-hour", type=float, help="Requests per hour that share the prefix.")
@click.option("--regular", is_flag=True, help="Requests come evenly spaced, not at random.")
@options.asking
@question
def cache(**given: Any) -> int:
    """PRICE (slug of an API's price list): what prompt caching saves, and the cheapest way."""
    common, body = _split(given)
    options.put(body, "api.price", given["price"])
    for name, path in (("prefix", "prefix_tokens"), ("suffix", "suffix_tokens"), ("output_tokens", "output_tokens")):
        options.put(body, path, given[name])
    options.put(body, "arrivals.requests_per_hour", given["per_hour"])
    if given["regular"]:
        options.put(body, "arrivals.kind", "regular")
    return ask("estimates/prompt-cache/", body, common, shown.cache, lambda found: True)


@cli.command(
    no_args_is_help=True,
    epilog="Example: aforo size llama-3.1-8b -g l40s -g h100-sxm5-80gb -i 1500 -o 300 -u 200 --tpot 0.05",
)
@click.argument("model", required=False)
@click.option("--gpu", "-g", "gpus", multiple=True, help="A GPU to choose from; all with offers when left out.")
@click.option("--tp", type=int, multiple=True, help="A tensor parallel degree to try; 1, 2, 4 and 8 when left out.")
@click.option("--weights", "-w", multiple=True, help="A format of the weights to try; may be repeated.")
@click.option("--engine", "-e", help="Engine profile of the replicas.")
@click.option("--input", "-i", "input_tokens", type=float, help="Prompt of a request, tokens.")
@click.option("--output", "-o", "output_tokens", type=float, help="Answer of a request, tokens.")
@click.option("--users", "-u", type=float, help="Requests in flight at the peak.")
@click.option("--rate", type=float, help="Requests per second at the peak, in place of --users.")
@click.option("--headroom", type=float, help="Share added to the demand: 0.2 sizes for 20 % more.")
@click.option("--cheapest", is_flag=True, help="The lowest bill first, in place of the fewest GPUs.")
@options.targets
@options.asking
@question
def size(**given: Any) -> int:
    """MODEL: how many GPUs a demand takes within the targets."""
    common, body = _split(given)
    places = {
        "model": "model", "engine": "engine", "input_tokens": "workload.input_tokens",
        "output_tokens": "workload.output_tokens", "users": "demand.concurrency", "rate": "demand.requests_per_s_peak",
        "headroom": "demand.headroom", "ttft": "slo.ttft_s", "tpot": "slo.tpot_s",
    }  # fmt: skip
    for name, path in places.items():
        options.put(body, path, given[name])
    for name, path in (("gpus", "candidates.gpus"), ("tp", "candidates.tp"), ("weights", "candidates.precisions")):
        options.put(body, path, list(given[name]) or None)
    if given["cheapest"]:
        options.put(body, "objective", "min_cost")
    return ask("estimates/sizing/", body, common, shown.size, lambda found: found["feasible"])


@cli.command(no_args_is_help=True, epilog="Example: aforo inspect config.json")
@click.argument("config", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--weights", "-w", help="Format of the weights; what the config states when left out.")
@options.asking
@question
def inspect(**given: Any) -> int:
    """CONFIG (a config.json): what kind of model it is, its parameters and its cache."""
    common, body = _split(given)
    options.put(body, "config", options.read_body(given["config"]))
    options.put(body, "precision.weights", given["weights"])
    return ask("models/inspect/", body, common, shown.inspect, lambda found: True)


@cli.command()
@check_options
@question
def check(**given: Any) -> int:
    """MANIFEST (a command, Compose or Kubernetes file): does it fit, start, and meet targets and limits?

    Exit codes: 0 it does; 1 it does not; 2 it cannot be read or judged; 3 and 4 as of every command.
    """
    return run_check(transport_of(given.pop("server")), given)


@cli.command()
@click.argument("word", nargs=-1, required=True)
@click.option("--server", help="Address of a server; AFORO_SERVER, else the engine in this process.")
@question
def words(word: tuple[str, ...], server: str | None) -> int:
    """WORD of an engine or benchmark (isl, max_model_len …): which field, and which option here, it is."""
    rows = [[one, ", ".join(fields) or DASH, ", ".join(options.options_of(fields)) or DASH]
            for one, fields in fields_of(transport_of(server), word).items()]  # fmt: skip
    say(table(["word", "field", "option"], rows))
    return ANSWERED if all(row[1] != DASH for row in rows) else ANSWERED_NO


cli.add_command(report)


def main() -> None:
    """The entry point of the installed command."""
    cli(prog_name="aforo")
