"""`/openapi.json` and `/.well-known/x402`: the declared routes and their handler."""

from typing import Final

from starlette.types import Receive, Scope, Send

from farebox.gateway.origin.serve_documents import DocumentName, OriginDocuments
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    ParameterLocation,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    text,
)
from farebox.web.responses import send_json

_CACHED: Final = (b"cache-control", b"public, max-age=30")
_HEADERS: Final = (
    Parameter("ETag", "The version of the document.", text(max_length=40)),
    Parameter("Cache-Control", "public, max-age=30", text(max_length=40)),
)
_IF_NONE_MATCH: Final = Parameter(
    "If-None-Match",
    "The ETag of the document that you have: 304 when it is the newest.",
    text(max_length=4096),
    ParameterLocation.HEADER,
)


def _declare(name: DocumentName, summary: str, example: object) -> RouteDeclaration:
    schema = {"type": "object"}
    return RouteDeclaration(
        method="GET",
        path=name.value,
        tag="origin",
        summary=summary,
        responses={
            200: ResponseDeclaration("The document.", schema, headers=_HEADERS),
            304: ResponseDeclaration("The document has not changed."),
        },
        parameters=(_IF_NONE_MATCH,),
        rate=Rate(RateClass.DISCOVERY),
        is_cross_origin=True,
        example=Example(response=example),
    )


OPENAPI: Final = _declare(
    DocumentName.OPENAPI,
    "The paid operations of the gateway in USDC, as OpenAPI 3.1.",
    {"openapi": "3.1.0", "paths": {}},
)
WELL_KNOWN: Final = _declare(
    DocumentName.WELL_KNOWN,
    "The URLs of the same operations.",
    {"version": 1, "x402Version": 2, "resources": []},
)


class ShowDocument:
    """Shows one of the documents."""

    def __init__(self, documents: OriginDocuments, name: DocumentName) -> None:
        self._documents, self._name = documents, name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        document = await self._documents.find(self._name)
        headers = [(b"etag", document.etag.encode()), _CACHED]
        if _has_document(scope, document.etag):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await send_json(send, 200, document.body, headers)


def origin_endpoints(documents: OriginDocuments) -> list[Endpoint]:
    """Return the routes of the origin documents."""
    return [
        Endpoint(OPENAPI, ShowDocument(documents, DocumentName.OPENAPI)),
        Endpoint(WELL_KNOWN, ShowDocument(documents, DocumentName.WELL_KNOWN)),
    ]


def _has_document(scope: Scope, etag: str) -> bool:
    """Whether `If-None-Match` names the document (RFC 9110, section 13.1.2)."""
    values = b",".join(value for name, value in scope["headers"] if name == b"if-none-match")
    named = {each.strip().removeprefix("W/") for each in values.decode("latin-1").split(",")}
    return etag in named or "*" in named
