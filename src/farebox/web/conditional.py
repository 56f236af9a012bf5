"""Documents with an entity tag: whoever has the newest version is not sent it again."""

from dataclasses import dataclass
from typing import Final

from starlette.types import Scope, Send

from farebox.web.endpoint import JSON, Parameter, ParameterLocation, text

IF_NONE_MATCH: Final = Parameter(
    "If-None-Match",
    "The ETag of the document that you have: 304 when it is the newest.",
    text(max_length=4096),
    ParameterLocation.HEADER,
)
ENTITY_HEADERS: Final = (
    Parameter("ETag", "The version of the document.", text(max_length=80)),
    Parameter("Cache-Control", "How long the document may be kept.", text(max_length=80)),
)


@dataclass(frozen=True, slots=True)
class Entity:
    """A document with its entity tag, quotes included, and how long it may be kept."""

    body: bytes
    etag: str
    caching: str
    media: str = JSON


async def send_entity(scope: Scope, send: Send, entity: Entity) -> None:
    """Send a document with 200, or 304 to a caller that has it (RFC 9110, section 13.1.2)."""
    headers = [(b"etag", entity.etag.encode()), (b"cache-control", entity.caching.encode())]
    if has_entity(scope, entity.etag):
        await send({"type": "http.response.start", "status": 304, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
        return
    length = (b"content-length", b"%d" % len(entity.body))
    headers = [(b"content-type", entity.media.encode()), length, *headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": entity.body})


def has_entity(scope: Scope, etag: str) -> bool:
    """Return whether the caller has the document with this tag (`If-None-Match`)."""
    values = b",".join(value for name, value in scope["headers"] if name == b"if-none-match")
    named = {each.strip().removeprefix("W/") for each in values.decode("latin-1").split(",")}
    return etag in named or "*" in named
