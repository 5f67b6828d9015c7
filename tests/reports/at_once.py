"""Calls that start together, each on a database connection of its own."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection

from tests.live import HANGS_AFTER_S


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """What the calls give when they start together; the first error is raised."""
    start = threading.Barrier(len(calls))
    answers: list[Any] = [None] * len(calls)
    errors: list[BaseException] = []

    def run(place: int) -> None:
        try:
            start.wait(HANGS_AFTER_S)
            answers[place] = calls[place]()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS_AFTER_S)
    if errors:
        raise errors[0]
    return answers
