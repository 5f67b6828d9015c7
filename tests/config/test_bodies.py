"""Reading a body: whole or refused, and nothing stays held."""

import asyncio

import pytest

from config import bodies, uploads


def environ_of(path="/api/v1/estimates/tokens/", **more):
    return {"PATH_INFO": path, **more}


async def parts(*sent: bytes, ends: bool = True):
    for part in sent:
        yield part
    if not ends:
        await asyncio.Event().wait()


def read(source, **environ):
    reader = bodies.Reader()
    try:
        return asyncio.run(reader.read(source, environ_of(**environ)))
    finally:
        assert reader.held_bytes == 0


def test_parts_are_put_together():
    assert read(parts(b'{"words"', b": 3}")) == b'{"words": 3}'


def test_of_chunks_over_the_limit_one_byte_too_many_is_kept(settings):
    settings.AFORO_MAX_BODY_BYTES, settings.AFORO_MAX_UPLOAD_BYTES = 1024, 2048
    assert len(read(parts(b"x" * 1000, b"x" * 1000, ends=False))) == 1025
    assert len(read(parts(b"x" * 1500), path="/admin/login/")) == 1500


def test_a_body_that_is_cut_off_is_no_body():
    with pytest.raises(bodies.RefusedError) as refused:
        read(parts(b'{"words"'), CONTENT_LENGTH="12")
    assert refused.value.status == 400


def test_a_body_that_does_not_come_is_given_up(settings):
    settings.AFORO_BODY_WITHIN_S = 0.001
    with pytest.raises(bodies.RefusedError) as refused:
        read(parts(b'{"words"', ends=False), CONTENT_LENGTH="12")
    assert refused.value.status == 408


def test_all_unfinished_bodies_share_what_they_may_hold(settings):
    settings.AFORO_MAX_HELD_BODY_BYTES = 1000
    reader = bodies.Reader()

    async def both():
        held = asyncio.ensure_future(reader.read(parts(b"x" * 800, ends=False), environ_of()))
        while not reader.held_bytes:
            await asyncio.sleep(0)
        with pytest.raises(bodies.RefusedError) as refused:
            await reader.read(parts(b"x" * 300), environ_of())
        assert refused.value.status == 503
        assert ("retry-after", "5") in refused.value.headers
        assert reader.held_bytes == 800
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)

    asyncio.run(both())
    assert reader.held_bytes == 0


def test_of_too_many_silent_bodies_the_oldest_is_given_up_and_a_whole_one_is_read(settings):
    settings.AFORO_MAX_WAITING_BODIES = 3
    reader = bodies.Reader()

    async def many():
        silent = [asyncio.ensure_future(reader.read(parts(b"{", ends=False), environ_of())) for _ in range(3)]
        while len(reader.waiting) < 3:
            await asyncio.sleep(0)
        assert await reader.read(parts(b"{}"), environ_of()) == b"{}"
        with pytest.raises(bodies.RefusedError) as refused:
            await silent[0]
        assert refused.value.status == 408
        assert not silent[1].done()
        for one in silent[1:]:
            one.cancel()
        await asyncio.gather(*silent, return_exceptions=True)

    asyncio.run(many())
    assert not reader.waiting
    assert reader.held_bytes == 0


@pytest.mark.parametrize(
    ("path", "length", "status"),
    [("/api/v1/reports/", 2 * 1024 * 1024 + 1, None), ("/admin/login/", 10 * 1024 * 1024 + 1, 413)],
)
def test_a_stated_length_over_the_limit_is_refused_before_a_read(path, length, status):
    environ = environ_of(path, CONTENT_LENGTH=str(length))
    if status is None:
        # Django's own middleware says so, as a problem of the API.
        assert bodies.is_too_large(environ)
        return
    with pytest.raises(bodies.RefusedError) as refused:
        bodies.is_too_large(environ)
    assert refused.value.status == status


def test_a_length_that_is_no_number_counts_as_none():
    assert [bodies.length_of({"CONTENT_LENGTH": text}) for text in ("", "-5", "x", "1.5")] == [0, 0, 0, 0]


UPLOAD = {"path": "/api/v1/estimates/cost/batch/", "CONTENT_TYPE": "text/csv"}


def spooled(source, **environ):
    async def in_thread(function, *arguments):
        return function(*arguments)

    spooler = uploads.Spooler(in_thread)
    try:
        with asyncio.run(spooler.read(source, environ_of(**UPLOAD, **environ))) as kept:
            return kept.read()
    finally:
        assert spooler.coming == 0


def test_an_upload_is_a_file_and_refused_as_a_body_is(settings, tmp_path):
    settings.AFORO_SCRATCH_DIR, settings.AFORO_MAX_BATCH_BYTES, settings.AFORO_MAX_BODY_BYTES = tmp_path, 3000, 1024
    assert spooled(parts(b"x" * 1500, b"y" * 1500)) == b"x" * 1500 + b"y" * 1500
    for status, source, more in (
        (413, parts(b"x" * 3001, ends=False), {}),
        (400, parts(b"x"), {"CONTENT_LENGTH": "2"}),
        (408, parts(b"x", ends=False), {}),
    ):
        settings.AFORO_BODY_WITHIN_S = 0.001 if status == 408 else 20
        with pytest.raises(bodies.RefusedError) as refused:
            spooled(source, **more)
        assert refused.value.status == status
