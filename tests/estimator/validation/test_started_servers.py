"""Servers that printed their memory at start: every log is asked or left out with a reason, and held to the bars."""

import csv

import pytest

from estimator.validation.started_servers import (
    StartedServer,
    compare,
    compared,
    not_asked,
    read_started_servers,
    summary_by_version,
)
from tests.shared_data import shared_dir

ABOUT = 0.07
"""Two logs say "about"."""
SERVERS = {server.id: server for server in read_started_servers()}
STATED = {"version", "length", "batched"}


def test_every_log_is_asked_or_left_out_with_a_reason() -> None:
    with (shared_dir() / "truth/memory_2.csv").open(encoding="utf-8") as stream:
        rows = {row["row_id"]: row for row in csv.DictReader(stream)}
    own = {name for name in SERVERS if name.startswith("tr")}  # TensorRT-LLM: found beside the given logs
    assert len(own) == 3
    assert set(rows) == (set(SERVERS) - own) | set(not_asked())
    assert len(not_asked()) <= 6
    about = {"mx023", "mx024"}
    columns = {"cache_gib": "kv_gib_per_gpu", "concurrency": "max_concurrency_x", "kv_cache_tokens": "kv_tokens"}
    for server in (SERVERS[name] for name in rows if name in SERVERS):
        for name, column in columns.items():
            if name in server.printed and server.id not in about:
                assert server.printed[name] == float(rows[server.id][column]), (server.id, name)


@pytest.mark.parametrize("server", SERVERS.values(), ids=lambda server: server.id)
def test_figures_that_are_apart_have_a_cause_and_no_others(server: StartedServer) -> None:
    apart = {figure.name for figure in compare(server) if figure.is_apart}
    assert apart == set(server.causes)


def test_concurrency_of_logs_that_state_version_length_and_passes_is_within_a_percent() -> None:
    stated = [figure for figure in compared() if figure.name == "concurrency" and set(figure.server.states) >= STATED]
    assert {figure.server.id for figure in stated} >= {"mx004", "mx005", "mx007", "mx024"}
    for figure in stated:
        assert abs(figure.error) <= (ABOUT if figure.server.id == "mx024" else 0.01), figure.server.id


def test_tokens_and_concurrency_of_a_printed_cache_are_exact_where_no_cause_stands() -> None:
    pools = [figure for figure in compared() if figure.name in ("tokens", "concurrency") and not figure.cause]
    assert len(pools) >= 40
    assert sorted(abs(figure.error) for figure in pools)[len(pools) // 2] <= 0.0005


def test_room_of_families_with_eight_logs_and_more() -> None:
    rooms = {one.family: one for one in summary_by_version() if one.name == "room" and one.rows >= 8}
    assert set(rooms) == {"vLLM 0.9 to 0.11", "vLLM 0.12 to 0.19"}
    for one in rooms.values():
        assert one.median <= 0.3
        assert one.p90 <= 1.0
