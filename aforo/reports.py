"""`aforo report`: saved sweeps on a server: order, look, wait, download."""

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from aforo import options
from aforo.tables import say, table
from aforo.transport import ANSWERED, ANSWERED_NO, BAD_QUESTION, RefusedError, Server, answer, refusal

FORMATS = ("csv", "json", "xlsx", "parquet", "html")
_LOOK_EVERY_S = 1.0
_LONGEST_WAIT_S = 3600.0


@click.group()
def report() -> None:
    """Reports of a server: saved sweeps that never change. They need --server or AFORO_SERVER, and a token."""


def _server(address: str | None) -> Server:
    base = address or os.environ.get("AFORO_SERVER") or ""
    if not base:
        text = "Reports are kept by a server: give --server or AFORO_SERVER, and a token in AFORO_TOKEN."
        raise RefusedError(text, BAD_QUESTION)
    return Server(base, os.environ.get("AFORO_TOKEN") or "")


def _told(command: Callable[..., int]) -> Callable[..., None]:
    @functools.wraps(command)
    def run(**given: Any) -> None:
        try:
            code = command(**given)
        except RefusedError as refused:
            click.echo(f"aforo: {refused}", err=True)
            code = refused.code
        sys.exit(code)

    return run


_server_option = click.option("--server", help="Address of the server; AFORO_SERVER when left out.")
_json_option = click.option("--json", "as_json", is_flag=True, help="The API's answer as it is.")


@report.command(name="list")
@_server_option
@_json_option
@_told
def list_reports(server: str | None, as_json: bool) -> int:
    """The reports that you may see, newest first."""
    found = answer(_server(server), "reports/", None, method="GET")
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return ANSWERED
    rows = []
    for one in found["results"]:
        latest = one["latest_version"] or {}
        rows.append([one["id"], one["name"], str(latest.get("number", "")), latest.get("state", ""), one["owner"]])
    say(table(["report", "name", "version", "state", "owner"], rows, right=(2,)))
    return ANSWERED


@report.command()
@click.argument("sweep", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--wait", is_flag=True, help="Wait until it is complete, and show its findings.")
@_server_option
@_json_option
@_told
def order(sweep: str, wait: bool, server: str | None, as_json: bool) -> int:
    """Order a report: SWEEP is the JSON that POST reports/ takes (- for standard input)."""
    transport = _server(server)
    taken = answer(transport, "reports/", options.read_body(sweep))
    if not wait:
        click.echo(
            json.dumps(taken, indent=2)
            if as_json
            else f"{taken['report']} version {taken['version']}, {taken['state']}"
        )
        return ANSWERED
    return _shown(_waited(transport, taken["url"]), as_json)


@report.command()
@click.argument("report_id")
@click.option("--version", type=int, help="Number of the version; the newest when left out.")
@_server_option
@_json_option
@_told
def show(report_id: str, version: int | None, server: str | None, as_json: bool) -> int:
    """State and findings of a report."""
    transport = _server(server)
    return _shown(answer(transport, _address(transport, report_id, version), None, method="GET"), as_json)


@report.command()
@click.argument("report_id")
@click.option(
    "--format", "-f", "file_format", type=click.Choice(FORMATS), default="csv", show_default=True, help="Which file."
)
@click.option("--to", type=click.Path(dir_okay=False), help="Where to; named by the report when left out.")
@click.option("--version", type=int, help="Number of the version; the newest when left out.")
@_server_option
@_told
def download(report_id: str, file_format: str, to: str | None, version: int | None, server: str | None) -> int:
    """A file of a report; waits while the server makes it."""
    transport = _server(server)
    address = _address(transport, report_id, version)
    began_s = time.monotonic()
    while (reply := transport.send("GET", f"{address}download/?format={file_format}")).status == 202:
        if time.monotonic() - began_s > _LONGEST_WAIT_S:
            raise RefusedError("The file was not made within an hour.", ANSWERED_NO)
        time.sleep(_LOOK_EVERY_S)
    if reply.status != 200:
        raise refusal(reply)
    name = to or f"{report_id}.{file_format}"
    Path(name).write_bytes(reply.body)
    click.echo(f"{name}: {len(reply.body):,} bytes")
    return ANSWERED


def _address(transport: Server, report_id: str, version: int | None) -> str:
    if version is None:
        latest = answer(transport, f"reports/{report_id}/", None, method="GET")["latest_version"]
        if latest is None:
            raise RefusedError("The report has no version.", ANSWERED_NO)
        version = int(latest["number"])
    return f"reports/{report_id}/versions/{version}/"


def _waited(transport: Server, url: str) -> dict[str, Any]:
    began_s = time.monotonic()
    while True:
        found = answer(transport, url, None, method="GET")
        if found["state"] not in ("queued", "running"):
            return found
        if time.monotonic() - began_s > _LONGEST_WAIT_S:
            raise RefusedError("The report was not complete within an hour; it goes on without you.", ANSWERED_NO)
        time.sleep(_LOOK_EVERY_S)


def _shown(found: dict[str, Any], as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        texts = [f"{one['model']}, {one['workload']}: {one['text']}" for one in found["findings"]]
        say(f"{found['report']} version {found['number']}: {found['state']}", "\n".join(texts))
    return ANSWERED if found["state"] in ("complete", "queued", "running") else ANSWERED_NO
