"""A whole Swift that speaks S3, in one process: account, container, object and proxy server on one device.

    /usr/bin/python3 serve.py FOLDER PORT

Debian's python3-swift brings the servers for Debian's own Python; nothing of the project is imported here. Keys are
`test:tester` and `testing`. One replica, no memcached, no daemons: a store that is real in what it answers.
"""

import logging
import sys
from pathlib import Path

import eventlet

eventlet.patcher.monkey_patch(all=False, socket=True, select=True, thread=True)

import eventlet.wsgi  # noqa: E402  after the patch
from swift.common import utils  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.wsgi import SwiftHttpProtocol, loadapp  # noqa: E402

_SWIFT = """\
[swift-hash]
swift_hash_path_suffix = tests
swift_hash_path_prefix = tests
"""
_STORAGE = """\
[DEFAULT]
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
bind_port = {port}

[pipeline:main]
pipeline = server

[app:server]
use = egg:swift#{kind}
"""
_PROXY = """\
[DEFAULT]
swift_dir = {folder}
bind_port = {port}

[pipeline:main]
pipeline = catch_errors gatekeeper listing_formats bulk s3api tempauth copy slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true

[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
"""


def main(folder: Path, port: int) -> None:
    """Serves until it is ended."""
    # Swift logs to the machine's log alone; a test wants its errors beside its own.
    utils.ThreadSafeSysLogHandler = lambda **_where: logging.StreamHandler()
    (folder / "devices" / "one").mkdir(parents=True, exist_ok=True)
    (folder / "swift.conf").write_text(_SWIFT)
    utils.set_swift_dir(str(folder))
    listening = {kind: eventlet.listen(("127.0.0.1", 0)) for kind in ("account", "container", "object")}
    for kind, socket in listening.items():
        _write_ring(folder, kind, socket.getsockname()[1])
        text = _STORAGE.format(folder=folder, kind=kind, port=socket.getsockname()[1])
        _serve(folder, kind, text, socket)
    proxy = eventlet.listen(("127.0.0.1", port), backlog=256)
    _serve(folder, "proxy", _PROXY.format(folder=folder, port=port), proxy, _Cache()).wait()


class _Cache:
    """What Swift keeps in memcached, in this one process."""

    def __init__(self) -> None:
        self._kept = {}

    def get(self, key: str, **_how: object) -> object:
        return self._kept.get(key)

    def set(self, key: str, value: object, **_how: object) -> None:
        self._kept[key] = value

    def delete(self, key: str, **_how: object) -> None:
        self._kept.pop(key, None)


def _write_ring(folder: Path, kind: str, port: int) -> None:
    """All partitions are on the one device."""
    ring = RingBuilder(part_power=1, replicas=1, min_part_hours=0)
    where = {"ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1", "replication_port": port}
    ring.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1, "device": "one", **where})
    ring.rebalance()
    ring.get_ring().save(str(folder / f"{kind}.ring.gz"))


def _serve(
    folder: Path, name: str, text: str, socket: object, cache: "_Cache | None" = None
) -> "eventlet.greenthread.GreenThread":
    path = folder / f"{name}-server.conf"
    path.write_text(text)
    application = loadapp(str(path), global_conf={"log_name": name, "log_level": "ERROR"})
    return eventlet.spawn(
        eventlet.wsgi.server,
        socket,
        lambda environ, start: application(environ | {"swift.cache": cache}, start),
        log=open(folder / f"{name}.log", "a"),  # noqa: PTH123  open as long as it serves
        log_output=True,
        protocol=SwiftHttpProtocol,
        capitalize_response_headers=False,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
