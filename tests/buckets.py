"""A bucket of a server that speaks S3, for tests: moto's in this process, or a Swift in one of its own."""

import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.live import HANGS_AFTER_S, ROOT, free_port

# The Python that Debian's python3-swift is installed for.
_SYSTEM_PYTHON = "/usr/bin/python3"


def environment_of(endpoint: str) -> dict[str, str]:
    """The standard variables of a client of the server."""
    return {
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_ACCESS_KEY_ID": "test:tester",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def client_of(environment: dict[str, str]) -> Any:
    """The service's own client, with the keys of the environment."""
    from boto3.session import Session

    return Session(
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        region_name=environment["AWS_REGION"],
    ).client("s3", endpoint_url=environment["AWS_ENDPOINT_URL_S3"])


@contextmanager
def server() -> Iterator[str]:
    """Address of moto's server in a thread of this process."""
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=free_port(), verbose=False)
    running.start()
    try:
        yield f"http://127.0.0.1:{running._port}"
    finally:
        running.stop()


@cache
def missing_swift() -> str | None:
    """Why no Swift can run here; None if one can."""
    done = subprocess.run(
        [_SYSTEM_PYTHON, "-c", "import swift.obj.server"], capture_output=True, check=False, text=True
    )
    return f"Swift is not here (Debian: python3-swift): {done.stderr[-300:]}" if done.returncode else None


class Swift:
    """A Swift in a folder, as a process that can be killed and started again with what it holds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start and wait until it answers."""
        command = [_SYSTEM_PYTHON, str(ROOT / "tests" / "swift" / "serve.py"), str(self.folder), str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + HANGS_AFTER_S
        while not self._answers():
            told = (self.folder / "log").read_text()
            assert self.process.poll() is None, told
            assert time.monotonic() < deadline, told
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=HANGS_AFTER_S).close()
        except urllib.error.HTTPError:  # who asks without keys is refused
            return True
        except OSError:
            return False
        return True


@contextmanager
def swift_server() -> Iterator[Swift]:
    """A Swift with a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="aforo-swift-", ignore_cleanup_errors=True) as folder:
        running = Swift(Path(folder))
        running.start()
        try:
            yield running
        finally:
            running.kill()


def new_bucket(environment: dict[str, str]) -> str:
    """The name of a bucket that is empty."""
    name = f"aforo-{uuid.uuid4().hex[:12]}"
    client_of(environment).create_bucket(Bucket=name)
    return name
