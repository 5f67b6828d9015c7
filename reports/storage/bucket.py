"""Report files in a bucket of an S3 service. Who writes uploads; who reads goes through a cache on the local disk.

Addresses and credentials come from the service's standard variables (AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, AWS_REGION
and so on), read by its own client.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast
from urllib.parse import urlsplit

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from django.utils.http import content_disposition_header

from reports import conf
from reports.errors import StoreAwayError
from reports.storage.cache import LocalCache
from reports.storage.patience import patient, tried_again
from reports.storage.seam import MARKER, ArtifactStore
from reports.storage.stored import BLOCK, StoredFile, file_sha256, hashes

_T = TypeVar("_T")
_SHA256 = "aforo-sha256"
_LINK_HOLDS_S = 300
_AT_ONCE = 8
_NOT_THERE = {"404", "NoSuchKey", "NotFound"}
# Larger files go in parts, each tried again by itself.
_TRANSFER = TransferConfig(multipart_threshold=64 << 20, multipart_chunksize=16 << 20, max_concurrency=2)


class _AwayError(Exception):
    """The service does not answer, or not as it should; trying again may help."""


class BucketStore(ArtifactStore):
    """Objects of one bucket, below one prefix."""

    def __init__(self, address: str, cache: LocalCache) -> None:
        parts = urlsplit(address)
        self.bucket = parts.netloc
        self.prefix = parts.path.strip("/")
        self.cache = cache
        self._clients: dict[int, Any] = {}
        self._lock = threading.Lock()

    def keep(self, scratch: Path, name: str) -> StoredFile:
        """Upload the scratch file, look whether it arrived whole, and leave it in the cache."""
        stored = StoredFile(name=name, bytes=scratch.stat().st_size, sha256=file_sha256(scratch))

        def upload() -> None:
            extra = {"Metadata": {_SHA256: stored.sha256}}
            self._client().upload_file(str(scratch), self.bucket, self._key(name), ExtraArgs=extra, Config=_TRANSFER)
            if (head := self._head(name)) is None or head["ContentLength"] != stored.bytes:
                raise _AwayError("an upload did not arrive whole")

        self._tried(upload)
        hashes.remember(self.cache.take(scratch, name), stored.sha256)
        return stored

    def local_path(self, name: str) -> Path | None:
        """The file in the cache, fetched if it is not there; None where the bucket has no such object."""
        try:
            return self.cache.used(name) or self.cache.fill(name, lambda path: self._fetch(name, path))
        except FileNotFoundError:
            return None

    def sound_path(self, name: str, size: int | None, sha256: str) -> Path:
        """As every store's; what lies damaged in the cache is fetched anew."""
        if (here := self.cache.used(name) if name else None) is not None and hashes.of(here) != sha256:
            self.cache.drop(name)
        return super().sound_path(name, size, sha256)

    def sound_paths(self, files: Sequence[StoredFile]) -> tuple[Path, ...]:
        """As every store's; some are fetched at once."""
        return tuple(self._at_once(self.sound_path, files))

    def are_sound(self, files: Sequence[StoredFile]) -> list[bool]:
        """As every store's; several are asked for at once."""
        return self._at_once(self.is_sound, files)

    def _at_once(self, call: Callable[[str, int | None, str], _T], files: Sequence[StoredFile]) -> list[_T]:
        """What the call says of each file, in their order; some run at once, as patient as this thread is."""
        context = copy_context()

        def one(file: StoredFile) -> _T:
            return context.copy().run(call, file.name, file.bytes, file.sha256)

        with ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="store") as pool:
            return list(pool.map(one, files))

    def size(self, name: str) -> int | None:
        """Bytes of an object, None when it is not there."""
        head = self._tried(lambda: self._head(name))
        return None if head is None else int(head["ContentLength"])

    def is_sound(self, name: str, size: int | None, sha256: str) -> bool:
        """Whether the object is there with the size and sha256 it was uploaded with; who reads it hashes it too."""
        if not name or size is None:
            return False
        head = self._tried(lambda: self._head(name))
        return head is not None and (head["ContentLength"], head["Metadata"].get(_SHA256)) == (size, sha256)

    def open(self, name: str, start: int, length: int) -> BinaryIO:
        """So many bytes of the object from a place on, as they come from the service."""
        asked = {"Range": f"bytes={start}-{start + length - 1}"} if length else {}
        body = self._tried(lambda: self._client().get_object(**self._object(name), **asked))["Body"]
        return cast(BinaryIO, body)

    def link(self, name: str, *, file_name: str, media_type: str) -> str | None:
        """An address of the service that holds for five minutes, where the settings want readers sent there."""
        if not conf.redirect_downloads():
            return None
        disposition = content_disposition_header(True, file_name) or "attachment"
        asked = self._object(name) | {"ResponseContentDisposition": disposition, "ResponseContentType": media_type}
        return str(self._client().generate_presigned_url("get_object", Params=asked, ExpiresIn=_LINK_HOLDS_S))

    def remove(self, name: str) -> None:
        """Remove an object; one that is gone already is fine, and one that cannot be removed now is an orphan."""
        self.cache.drop(name)
        with patient(0), suppress(StoreAwayError):
            self._tried(lambda: self._client().delete_object(**self._object(name)))

    def walk(self) -> Iterator[tuple[str, float]]:
        """All objects below the prefix with their time of last change (seconds since 1970); not the marker."""
        start = f"{self.prefix}/" if self.prefix else ""
        asked: dict[str, Any] = {"Bucket": self.bucket, "Prefix": start}
        while True:
            page = self._tried(lambda: self._client().list_objects_v2(**asked))
            for found in page.get("Contents", ()):
                name = found["Key"].removeprefix(start)
                if name != MARKER:
                    yield name, found["LastModified"].timestamp()
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def read_marker(self) -> str | None:
        """Whose bucket this is; None where nobody has said so."""

        def read() -> bytes | None:
            if self._head(MARKER) is None:
                return None
            return bytes(self._client().get_object(**self._object(MARKER))["Body"].read())

        found = self._tried(read)
        return None if found is None else found.decode().strip()

    def write_marker(self, text: str) -> None:
        """Say whose bucket this is."""
        self._tried(lambda: self._client().put_object(**self._object(MARKER), Body=text.encode()))

    def readable(self) -> tuple[Path, ...]:
        """The cache."""
        return (self.cache.folder,)

    def _fetch(self, name: str, path: Path) -> None:
        def fetch() -> None:
            body = self._client().get_object(**self._object(name))["Body"]
            with path.open("wb") as file:
                while block := body.read(BLOCK):
                    file.write(block)

        self._tried(fetch)

    def _head(self, name: str) -> Any:
        try:
            return self._client().head_object(**self._object(name))
        except ClientError as error:
            if _code_of(error) in _NOT_THERE:
                return None
            raise

    def _tried(self, call: Callable[[], _T]) -> _T:
        """What the call returns.

        Raises:
            FileNotFoundError: There is no such object.
            StoreAwayError: The service does not answer, or refuses: the log has the reason.
        """

        def once() -> _T:
            try:
                return call()
            except ClientError as error:
                if _code_of(error) in _NOT_THERE:
                    raise FileNotFoundError from error
                raise _AwayError(str(error)) from error
            except (BotoCoreError, Boto3Error, HTTPClientError) as error:
                raise _AwayError(str(error)) from error

        return tried_again(once, (_AwayError,))

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _object(self, name: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self._key(name)}

    def _client(self) -> Any:
        """This process's client: connections do not outlive a fork."""
        with self._lock:
            client = self._clients.get(os.getpid())
            if client is None:
                self._clients.clear()
                client = self._clients[os.getpid()] = Session().client("s3", config=_config())
        return client


def _config() -> Config:
    return Config(
        connect_timeout=3,
        read_timeout=20,
        tcp_keepalive=True,
        max_pool_connections=32,
        # We try again by ourselves, under a lease that is kept.
        retries={"mode": "standard", "total_max_attempts": 1},
        # Services that only speak like S3 do not all know checksums in trailers.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": conf.s3_addressing()},
    )


def _code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
