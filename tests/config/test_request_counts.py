"""Requests are counted in sliding windows, in one step for all their rates, in memory and in Redis alike."""

import random
import threading

import pytest

from config import request_counts
from config.request_counts import Rate, wait_s
from tests import services

TEN = Rate(name="k", allowed=10, period_s=60)


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.services)])
def store(request, settings):
    """Where counts stand; of Redis, a number of its own."""
    if request.param == "memory":
        request_counts.forget()
        yield request.param
        request_counts.forget()
        return
    with services.redis_database() as url:
        backend = "django.core.cache.backends.redis.RedisCache"
        settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": url}}
        yield request.param


def test_the_rate_recovers_over_the_next_period(store):
    assert all(wait_s([TEN], 600.0 + second) is None for second in range(10))
    # At the start of the next minute the old ten still weigh almost ten; halfway they weigh five.
    again_s = wait_s([TEN], 659.0)
    assert again_s is not None
    assert wait_s([TEN], 659.0 + again_s - 0.5) is not None
    assert wait_s([TEN], 659.0 + again_s + 0.1) is None
    assert [wait_s([TEN], 690.0) for _ in range(5)].count(None) == 4


def test_a_request_is_counted_under_each_rate_that_has_room_and_waits_for_the_last(store):
    few, many = Rate(name="few", allowed=1, period_s=60), Rate(name="many", allowed=3, period_s=3600)
    assert wait_s([few, many], 7200.0) is None
    assert wait_s([few, many], 7201.0) == pytest.approx(119.0)
    # Refused by one, it was counted under the other.
    assert wait_s([many], 7202.0) is None
    both_s = wait_s([few, many], 7203.0)
    assert both_s is not None
    assert both_s > 3000
    assert wait_s([], 7203.0) is None


def test_both_stores_say_what_the_windows_say_of_any_requests(store):
    chance = random.Random(5)
    counts: dict[tuple[str, int], int] = {}
    now_s = 10_000.0
    for _ in range(400):
        now_s += chance.choice((0.0, 0.3, 2.0, 7.0, 40.0))
        asked = [
            Rate(name=name, allowed=allowed, period_s=period_s)
            for name, allowed, period_s in (("a", 7, 10), ("b", 3, 60), ("c", 20, 60))
            if chance.random() < 0.7
        ]
        full = False
        for rate in asked:
            window, elapsed_s = divmod(now_s, rate.period_s)
            weighed = counts.get((rate.name, window - 1), 0) * (1 - elapsed_s / rate.period_s)
            current = counts.get((rate.name, window), 0)
            if weighed + current + 1 > rate.allowed:
                full = True
            else:
                counts[rate.name, window] = current + 1
        assert (wait_s(asked, now_s) is not None) == full


def test_threads_at_once_do_not_pass_a_rate_together(store):
    passed = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        passed.extend(wait_s([TEN], 600.0) is None for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert passed.count(True) == 10


@pytest.mark.services
def test_a_request_asks_redis_once_whatever_its_rates(monkeypatch, settings):
    from redis.connection import Connection

    with services.redis_database() as url:
        settings.CACHES = {
            "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": url}
        }  # fmt: skip
        rates = [Rate(name=name, allowed=5, period_s=60) for name in "abc"]
        wait_s(rates, 600.0)
        sent = []
        send = Connection.send_packed_command
        monkeypatch.setattr(Connection, "send_packed_command", lambda *a, **k: (sent.append(a), send(*a, **k))[1])
        assert [wait_s(rates, 601.0) for _ in range(7)].count(None) == 4
        assert len(sent) == 7


def test_memory_keeps_the_names_asked_for_last():
    kept = request_counts._Memory(most=3)
    for name in "abcd":
        kept.count([Rate(name=name, allowed=1, period_s=60)], 600.0)
    # The oldest went, and begins again; the others are still full.
    assert [kept.count([Rate(name=name, allowed=1, period_s=60)], 601.0)[0][0] for name in "dcba"] == [0, 0, 0, 1]
