"""`/openapi.json` and `/.well-known/x402`: the declared routes and their handler."""

from typing import Final

from starlette.types import Receive, Scope, Send

from farebox.gateway.origin.serve_documents import DocumentName, OriginDocuments
from farebox.web.conditional import ENTITY_HEADERS, IF_NONE_MATCH, Entity, send_entity
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
)

_CACHING: Final = "public, max-age=30"


def _declare(name: DocumentName, summary: str, example: object) -> RouteDeclaration:
    schema = {"type": "object"}
    return RouteDeclaration(
        method="GET",
        path=name.value,
        tag="origin",
        summary=summary,
        responses={
            200: ResponseDeclaration("The document.", schema, headers=ENTITY_HEADERS),
            304: ResponseDeclaration("The document has not changed."),
        },
        parameters=(IF_NONE_MATCH,),
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
        await send_entity(scope, send, Entity(document.body, document.etag, _CACHING))


def origin_endpoints(documents: OriginDocuments) -> list[Endpoint]:
    """Return the routes of the origin documents."""
    return [
        Endpoint(OPENAPI, ShowDocument(documents, DocumentName.OPENAPI)),
        Endpoint(WELL_KNOWN, ShowDocument(documents, DocumentName.WELL_KNOWN)),
    ]
