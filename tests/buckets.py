"""A bucket of a server that speaks S3, for tests: moto's, in this process or as one of its own."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.live import free_port


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


def new_bucket(environment: dict[str, str]) -> str:
    """The name of a bucket that is empty."""
    name = f"aforo-{uuid.uuid4().hex[:12]}"
    client_of(environment).create_bucket(Bucket=name)
    return name
