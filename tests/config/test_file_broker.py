"""The embedded broker hands out whole messages, each once, whoever writes and reads at the same time."""

import json
import os
import subprocess
import sys
import threading
from queue import Empty

import pytest
from kombu import Connection, Exchange, Queue
from kombu.transport.virtual import base as virtual_transport

from config import file_broker
from tests.live import HANGS_AFTER_S, ROOT

QUEUE = Queue("q", Exchange("q", "direct"), "q")
PADDING = "x" * 20_000

PUBLISH = """
import sys
from pathlib import Path
from tests.config.test_file_broker import PADDING, connect
first, count = int(sys.argv[2]), int(sys.argv[3])
channel = connect(Path(sys.argv[1])).channel()
for number in range(first, first + count):
    channel._put("q", {"number": number, "padding": PADDING})
"""
CONSUME = """
import json, sys, time
from pathlib import Path
from queue import Empty
from tests.config.test_file_broker import PADDING, connect
folder = Path(sys.argv[1])
channel, seen = connect(folder).channel(), []
while True:
    done = (folder / "done").exists()
    try:
        message = channel._get("q")
    except Empty:
        if done:
            break
        time.sleep(0.001)
        continue
    assert message["padding"] == PADDING
    seen.append(message["number"])
print(json.dumps(seen))
"""


def connect(folder):
    return Connection(transport=file_broker.Transport, transport_options=file_broker.options_for(folder))


def run(code, *arguments):
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE)


def test_two_writers_and_two_readers_lose_and_double_nothing(tmp_path):
    connect(tmp_path)
    readers = [run(CONSUME, tmp_path) for _ in range(2)]
    writers = [run(PUBLISH, tmp_path, first, 1500) for first in (0, 1500)]
    assert [writer.wait(timeout=HANGS_AFTER_S) for writer in writers] == [0, 0]
    (tmp_path / "done").touch()
    outputs = [reader.communicate(timeout=HANGS_AFTER_S)[0] for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0]
    assert sorted(number for output in outputs for number in json.loads(output)) == list(range(3000))
    assert list((tmp_path / "messages").iterdir()) == []


def test_a_message_is_invisible_until_it_is_whole(tmp_path, monkeypatch):
    channel = connect(tmp_path).channel()
    seen_while_writing = []
    real = os.fdopen

    def watched(descriptor, mode):
        with pytest.raises(Empty):
            channel._get("q")
        seen_while_writing.append([entry.name for entry in (tmp_path / "messages").glob("*.msg")])
        return real(descriptor, mode)

    monkeypatch.setattr(file_broker.os, "fdopen", watched)
    channel._put("q", {"number": 1})
    assert seen_while_writing == [[]]
    assert channel._get("q") == {"number": 1}


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    channel = connect(tmp_path).channel()

    def full(descriptor, mode):
        os.close(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file_broker.os, "fdopen", full)
    with pytest.raises(OSError, match="No space"):
        channel._put("q", {"number": 1})
    assert list((tmp_path / "messages").iterdir()) == []


def test_messages_of_one_writer_come_in_order_and_queues_do_not_mix(tmp_path):
    channel = connect(tmp_path).channel()
    for number in range(20):
        channel._put("q", number)
        channel._put("other.q", -number)
    assert [channel._get("q") for _ in range(20)] == list(range(20))
    assert channel._size("other.q") == 20
    assert channel._purge("other.q") == 20


def test_bindings_made_at_the_same_time_are_all_kept(tmp_path):
    channels = [connect(tmp_path).channel() for _ in range(8)]
    threads = [
        threading.Thread(target=channel._queue_bind, args=("fan", f"key{n}", "", f"queue{n}"))
        for n, channel in enumerate(channels)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(row.queue for row in channels[0].get_table("fan")) == [f"queue{n}" for n in range(8)]


def test_a_message_goes_through_kombu_to_a_consumer_within_the_polling_interval(tmp_path, monkeypatch):
    received, waits = [], []
    with connect(tmp_path) as connection, connection.channel() as channel:
        consumer = connection.Consumer(QUEUE, channel=channel, callbacks=[lambda body, message: received.append(body)])

        def publish_while_the_consumer_waits(seconds):
            waits.append(seconds)
            with connect(tmp_path) as other:
                other.Producer().publish({"ring": True}, exchange=QUEUE.exchange, routing_key="q", declare=[QUEUE])

        monkeypatch.setattr(virtual_transport, "sleep", publish_while_the_consumer_waits)
        with consumer:
            connection.drain_events(timeout=HANGS_AFTER_S)
    assert received == [{"ring": True}]
    assert waits == [0.1]


def test_only_old_leftovers_are_removed(tmp_path):
    file_broker.options_for(tmp_path)
    old, new, message = (tmp_path / "messages" / name for name in (".a.writing", ".b.taken", "1_x.q.msg"))
    for path in (old, new, message):
        path.touch()
    os.utime(old, (1, 1))
    os.utime(message, (1, 1))
    assert file_broker.remove_leftovers(tmp_path) == 1
    assert not old.exists()
    assert new.exists()
    assert message.exists()


def test_a_kill_while_writing_leaves_no_message(tmp_path):
    killed_at_the_fourth = """
import os
from config import file_broker
real, written = os.fdopen, []
def fdopen(*arguments):
    written.append(1)
    if len(written) == 4:
        os.kill(os.getpid(), 9)
    return real(*arguments)
os.fdopen = fdopen
"""
    assert run(killed_at_the_fourth + PUBLISH, tmp_path, 0, 10).wait(timeout=HANGS_AFTER_S) == -9
    channel = connect(tmp_path).channel()
    assert [channel._get("q")["number"] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(Empty):
        channel._get("q")
