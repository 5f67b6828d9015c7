"""A body sent in chunks is read as one with its length, up to the limit."""

import io

from config.chunked_body import ChunkedBodies


def seen_by_django(environ: dict) -> dict:
    seen: dict = {}
    ChunkedBodies(lambda given, start_response: seen.update(given) or [])(environ, None)
    return seen


def chunked(body: bytes, **more) -> dict:
    return {
        "PATH_INFO": "/api/v1/estimates/tokens/",
        "HTTP_TRANSFER_ENCODING": "chunked",
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        **more,
    }


def test_a_body_in_chunks_gets_its_length():
    seen = seen_by_django(chunked(b'{"words": 3}'))
    assert seen["CONTENT_LENGTH"] == "12"
    assert seen["wsgi.input"].read() == b'{"words": 3}'


def test_of_a_body_over_the_limit_one_byte_too_many_is_read(settings):
    settings.AFORO_MAX_BODY_BYTES = 1024
    given = io.BytesIO(b"x" * 5000)
    seen = seen_by_django(chunked(b"", **{"wsgi.input": given}))
    assert seen["CONTENT_LENGTH"] == "1025"
    assert given.tell() == 1025


def test_without_a_marked_end_nothing_is_read():
    given = io.BytesIO(b"x")
    seen = seen_by_django(chunked(b"", **{"wsgi.input": given, "wsgi.input_terminated": False}))
    assert "CONTENT_LENGTH" not in seen
    assert given.tell() == 0
