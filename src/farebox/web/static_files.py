"""Files held in memory and served by their exact paths, before the routing table.

Each response is prepared once, for its first request: with an entity tag, and compressed where that
makes it smaller. No path is joined, no file is opened and nothing is counted while a request is
answered, so that the files are served while the database is away. They are no routes: the API
schema has none of them.
"""

import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.web.conditional import has_entity
from farebox.web.guard import Headers

_GZIP: Final = "gzip"
_MAX_ACCEPT_ENCODING: Final = 256  # characters; a longer list of codings gets the plain file
_NOT_WORTH_IT: Final = 0.95  # of the plain size
_REFUSED: Final = re.compile(r"q=0(\.0{0,3})?\Z")


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file: its bytes, media type and `Cache-Control`."""

    body: bytes
    media: str
    caching: str


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The whole response in one coding, and the headers of the 304 in its place."""

    body: bytes
    etag: str
    headers: Headers
    headers_of_304: Headers


@dataclass(frozen=True, slots=True)
class _Choice:
    """A file in its plain form, and compressed where that is smaller."""

    plain: _Prepared
    zipped: _Prepared | None


class StaticFiles:
    """Answers GET and HEAD for the paths of `files`, and passes all other paths on."""

    def __init__(
        self, app: ASGIApp, files: Mapping[str, StaticFile], headers: Headers = ()
    ) -> None:
        """`headers` are sent with every file."""
        self._app, self._files, self._headers = app, files, headers
        self._prepared: dict[str, _Choice] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path not in self._files:
            await self._app(scope, receive, send)
            return
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(status_code=405, headers={"Allow": "GET, HEAD"})
        if path not in self._prepared:
            self._prepared[path] = _prepare(self._files[path], self._headers)
        choice = self._prepared[path]
        is_zipped = choice.zipped is not None and _accepts_gzip(scope["headers"])
        file = choice.zipped if is_zipped and choice.zipped else choice.plain
        if has_entity(scope, file.etag):
            status, headers, body = 304, file.headers_of_304, b""
        else:
            status, headers, body = 200, file.headers, file.body
        await send({"type": "http.response.start", "status": status, "headers": headers})
        is_head = scope["method"] == "HEAD"
        await send({"type": "http.response.body", "body": b"" if is_head else body})


def _prepare(file: StaticFile, further: Headers) -> _Choice:
    digest = sha256(file.body).hexdigest()[:32]
    zipped = gzip.compress(file.body, mtime=0)
    if len(zipped) > _NOT_WORTH_IT * len(file.body):
        return _Choice(_response(file, file.body, f'"{digest}"', further), None)
    varied = (*further, (b"vary", b"Accept-Encoding"))
    coded = (*varied, (b"content-encoding", _GZIP.encode()))
    return _Choice(
        _response(file, file.body, f'"{digest}"', varied),
        _response(file, zipped, f'"{digest}-{_GZIP}"', coded),
    )


def _response(file: StaticFile, body: bytes, etag: str, further: Headers) -> _Prepared:
    same = [
        (b"etag", etag.encode()),
        (b"cache-control", file.caching.encode()),
        *further,
    ]
    own = [(b"content-type", file.media.encode()), (b"content-length", b"%d" % len(body))]
    return _Prepared(body, etag, (*own, *same), tuple(each for each in same if _is_of_304(each)))


def _is_of_304(header: tuple[bytes, bytes]) -> bool:
    return header[0] != b"content-encoding"  # a 304 has no content


def _accepts_gzip(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    values = [value for name, value in headers if name == b"accept-encoding"]
    text = b",".join(values)
    return len(text) <= _MAX_ACCEPT_ENCODING and _lists_gzip(text.decode("latin-1"))


@lru_cache(maxsize=256)
def _lists_gzip(accepted: str) -> bool:
    """Return whether a value of `Accept-Encoding` admits gzip (RFC 9110, section 12.5.3)."""
    weights: dict[str, str] = {}
    for element in accepted.lower().split(","):
        coding, _, weight = (part.strip() for part in element.partition(";"))
        weights[coding] = weight
    weight_of_gzip = weights.get(_GZIP, weights.get("*"))
    return weight_of_gzip is not None and _REFUSED.match(weight_of_gzip) is None
