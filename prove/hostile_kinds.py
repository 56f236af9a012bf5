"""The data of hostile clients: each kind is a sequence of bytes and pauses in seconds."""

import random
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Final

Sent = Iterator[tuple[bytes, float]]
_START: Final = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_GET: Final = _START + b"\r\n"
_POST: Final = b"POST /verify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
_PIECE: Final = 64 * 1024
_PIECES: Final = 160  # 10 MB
_BODY: Final = 250 * 1024
_DRIPS: Final = 200


class Hostility(StrEnum):
    """The behaviour of a hostile client on a connection."""

    FIELD = "one field without an end"
    FIELDS = "fields without an end"
    URL = "a URL without an end"
    TRAILERS = "fields without an end behind a body"
    EXTENSION = "a chunk whose extension does not end"
    PIPELINE = "thousands of requests at once, their answers read"
    DEAF = "thousands of requests at once, no answer read"
    SILENT = "nothing at all"
    HALF_HEAD = "half a head"
    DRIPPING_HEAD = "a field every half second"
    HALF_BODY = "half a body"
    DRIPPING_BODY = "a byte of a body every half second"
    NOISE = "bytes that are no HTTP"


def _flood(start: bytes, piece: bytes, rng: random.Random) -> Sent:
    yield start, 0.0
    for _ in range(_PIECES):
        yield piece, rng.uniform(0.0, 0.02)


def _field(rng: random.Random) -> Sent:
    return _flood(_START + b"A: ", b"a" * _PIECE, rng)


def _fields(rng: random.Random) -> Sent:
    field = rng.choice((b"a:b\r\n", b"a: " + b"b" * 90 + b"\r\n"))
    return _flood(_START, field * (_PIECE // len(field)), rng)


def _url(rng: random.Random) -> Sent:
    return _flood(b"GET /", b"a" * _PIECE, rng)


def _chunked(rng: random.Random, then: bytes, piece: bytes) -> Sent:
    return _flood(_POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n" + then, piece, rng)


def _trailers(rng: random.Random) -> Sent:
    return _chunked(rng, b"0\r\n", b"a:b\r\n" * (_PIECE // 5))


def _extension(rng: random.Random) -> Sent:
    return _chunked(rng, b"1;", b"a" * _PIECE)


def _pipeline(rng: random.Random) -> Sent:
    for _ in range(rng.randint(1, 40)):
        yield _GET * (_PIECE // len(_GET)), 0.005


def _nothing(rng: random.Random) -> Sent:
    del rng
    return iter(())


def _half_head(rng: random.Random) -> Sent:
    yield (_START + b"a: b\r\n" * 8)[: rng.randint(1, 90)], 0.0


def _dripping_head(rng: random.Random) -> Sent:
    yield _START, rng.random()
    for _ in range(_DRIPS):
        yield b"a: b\r\n", 0.5


def _half_body(rng: random.Random) -> Sent:
    yield _POST + b"Content-Length: %d\r\n\r\n" % _BODY, rng.random()
    yield b" " * rng.randint(1, _BODY - 1), 0.0


def _dripping_body(rng: random.Random) -> Sent:
    yield _POST + b"Content-Length: %d\r\n\r\n" % _BODY, rng.random()
    for _ in range(_DRIPS):
        yield b" ", 0.5


def _noise(rng: random.Random) -> Sent:
    yield rng.randbytes(rng.randint(1, 4_000)), 0.0


BYTES_OF: Final[Mapping[Hostility, Callable[[random.Random], Sent]]] = {
    Hostility.FIELD: _field,
    Hostility.FIELDS: _fields,
    Hostility.URL: _url,
    Hostility.TRAILERS: _trailers,
    Hostility.EXTENSION: _extension,
    Hostility.PIPELINE: _pipeline,
    Hostility.DEAF: _pipeline,
    Hostility.SILENT: _nothing,
    Hostility.HALF_HEAD: _half_head,
    Hostility.DRIPPING_HEAD: _dripping_head,
    Hostility.HALF_BODY: _half_body,
    Hostility.DRIPPING_BODY: _dripping_body,
    Hostility.NOISE: _noise,
}
