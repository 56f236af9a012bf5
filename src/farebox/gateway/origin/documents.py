"""The origin documents: the gateway's paid operations as OpenAPI 3.1, and as a list of URLs."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain
from typing import Any, Final, TypeVar

import msgspec

from farebox.catalog.discovery.info import BODY_METHODS
from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.origin.divide_bytes import Entry, divide_bytes
from farebox.gateway.wrapper import (
    OtherPaths,
    PricedRoute,
    WrapperSettings,
    WrapperTerm,
    route_terms,
)
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from farebox.kernel.slots import Share
from farebox.stellar.asset_contract import usdc_contract
from farebox.x402.wire import SCHEME

Json = dict[str, Any]
T = TypeVar("T")

MAX_BYTES: Final = 4 * 1024 * 1024  # of one document
DECIMALS: Final = 7  # of a Stellar asset
_PARAMETER: Final = re.compile(r"(?<=/):([A-Za-z_][A-Za-z0-9_]*)")  # a whole segment
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_ANY_OBJECT: Final[Json] = {"type": "object"}
_USDC: Final = {network: usdc_contract(network) for network in Network}
# what the gateway answers with for itself, or the server before a request is read; the API's own
# responses are passed on as they are
GATEWAY_CODES: Final = (
    ErrorCode.MALFORMED_HTTP,
    ErrorCode.NOT_FORWARDED,
    ErrorCode.INVALID_PAYMENT_HEADER,
    ErrorCode.NOT_FOUND,
    ErrorCode.METHOD_NOT_ALLOWED,
    ErrorCode.REQUEST_TIMEOUT,
    ErrorCode.PAYMENT_USED,
    ErrorCode.BODY_TOO_LARGE,
    ErrorCode.URL_TOO_LONG,
    ErrorCode.HOST_NOT_ALLOWED,
    ErrorCode.TOO_MANY_CONNECTIONS,
    ErrorCode.HEAD_TOO_LARGE,
    ErrorCode.TOO_MANY_REQUESTS,
    ErrorCode.MONTHLY_QUOTA_USED,
    ErrorCode.INTERNAL_ERROR,
    ErrorCode.UPSTREAM_FAILED,
    ErrorCode.SETTLEMENT_UNKNOWN,
    ErrorCode.SERVICE_UNAVAILABLE,
    ErrorCode.UPSTREAM_UNAVAILABLE,
    ErrorCode.UPSTREAM_TIMEOUT,
)
_ERROR: Final[Json] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "requestId"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "requestId": {"type": "string"},
                "details": _ANY_OBJECT,
            },
        }
    },
}
_GUIDANCE: Final = (
    "Every operation answers an unpaid request with 402 and a PAYMENT-REQUIRED header. Sign one of "
    "its terms and send the request again with PAYMENT-SIGNATURE (x402 version 2)."
)


@dataclass(frozen=True, slots=True)
class ListedWrapper:
    """An enabled wrapper as the documents show it: nothing of its upstream.

    `share` is what its owner's part of the documents is counted under, and is not shown.
    """

    slug: str
    settings: WrapperSettings
    share: Share


@dataclass(frozen=True, slots=True)
class OriginDocument:
    """The bytes of a document and their entity tag (RFC 9110, section 8.8.3)."""

    body: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class _Operation:
    """One method of one paid path."""

    wrapper: ListedWrapper
    method: str
    route: PricedRoute | None
    term: WrapperTerm  # in USDC
    named: RouteTemplate | None  # the wrapper's first route of this shape: its names are shown

    @property
    def path(self) -> str:
        """The path below the gateway's URL, with the names of the first route of its shape.

        Paths that differ in the names of their parameters are the same in OpenAPI (3.1, 4.8.8.2).
        """
        template = self.named.path if self.named is not None else ""
        return f"/{self.wrapper.slug}{template if template != '/' else ''}"

    @property
    def template(self) -> str:
        """The path with parameters in braces (RFC 6570)."""
        return _PARAMETER.sub(r"{\1}", self.path)


def build_openapi(
    wrappers: Sequence[ListedWrapper],
    gateway: GatewayUrl,
    *,
    version: str,
    contact: str | None,
    is_cut: bool = False,
) -> OriginDocument:
    """Build `/openapi.json`: one operation for each price in USDC, of as many as fit.

    Args:
        wrappers: the last changed first.
        gateway: the URL of the gateway.
        version: of the service.
        contact: a URL or an e-mail address; None for an operator who names none.
        is_cut: some enabled wrappers are not among `wrappers`.
    """
    size = len(msgspec.json.encode(_COMPONENTS))
    chosen, is_truncated = divide_bytes(
        _queues(wrappers, _operation_entries), limit_bytes=MAX_BYTES - size
    )
    paths: dict[str, Json] = {}
    for operation, body in chosen:
        path = gateway.prefix + operation.template
        paths.setdefault(path, {})[operation.method.lower()] = body
    return _document(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Paid APIs of this Farebox",
                "version": version,
                "description": "Paid operations of the gateway; /v1/openapi.json has the service.",
                "x-guidance": _GUIDANCE,
                **_contact(contact),
            },
            "servers": [{"url": gateway.origin}],
            "security": [],  # the payment is all that a request needs
            "paths": paths,
            "components": _COMPONENTS,
            **({"x-truncated": True} if is_cut or is_truncated else {}),
        }
    )


def build_well_known(
    wrappers: Sequence[ListedWrapper], gateway: GatewayUrl, *, is_cut: bool = False
) -> OriginDocument:
    """Build `/.well-known/x402`: the URLs of the same operations, each once.

    `is_cut`: some enabled wrappers are not among `wrappers`.
    """

    def entries_of(wrapper: ListedWrapper, number: int) -> Iterator[Entry[str]]:
        urls = (f"{gateway.origin}{gateway.prefix}{each.template}" for each in _operations(wrapper))
        for index, url in enumerate(dict.fromkeys(urls)):
            yield Entry((number, index), len(url) + 3, url)

    resources, is_truncated = divide_bytes(_queues(wrappers, entries_of), limit_bytes=MAX_BYTES)
    document: Json = {"version": 1, "x402Version": 2, "resources": resources}
    return _document(document | ({"isTruncated": True} if is_cut or is_truncated else {}))


def _queues(
    wrappers: Sequence[ListedWrapper],
    entries_of: Callable[[ListedWrapper, int], Iterator[Entry[T]]],
) -> Iterable[tuple[Share, Iterator[Entry[T]]]]:
    """Return the entries of each share, made when they are asked for."""
    found: dict[Share, list[Iterator[Entry[T]]]] = {}
    for number, wrapper in enumerate(wrappers):
        found.setdefault(wrapper.share, []).append(entries_of(wrapper, number))
    return [(share, chain.from_iterable(entries)) for share, entries in found.items()]


def _operation_entries(
    wrapper: ListedWrapper, number: int
) -> Iterator[Entry[tuple[_Operation, Json]]]:
    for index, operation in enumerate(_operations(wrapper)):
        body = _build_operation(operation)
        size = len(msgspec.json.encode(body)) + len(operation.path) + 64
        yield Entry((number, index), size, (operation, body))


def format_usd(amount: int) -> str:
    """Format base units of USDC: 10000 is `0.0010000`."""
    whole, fraction = divmod(amount, 10**DECIMALS)
    return f"{whole}.{fraction:0{DECIMALS}d}"


def _operations(wrapper: ListedWrapper) -> Iterator[_Operation]:
    """Yield what of the wrapper has a price in USDC."""
    settings = wrapper.settings
    if not settings.routes or settings.other_paths is OtherPaths.BASE:
        term = _usdc_of(settings.terms)
        if term is not None:
            yield _Operation(wrapper, settings.method or "GET", None, term, None)
    named: dict[str, RouteTemplate] = {}
    for route in settings.routes:
        term = _usdc_of(route_terms(settings, route))
        if term is not None:
            first = named.setdefault(route.template.shape, route.template)
            yield _Operation(wrapper, route.method, route, term, first)


def _usdc_of(terms: Sequence[WrapperTerm]) -> WrapperTerm | None:
    return next((each for each in terms if each.asset == _USDC[each.network]), None)


def _build_operation(operation: _Operation) -> Json:
    settings, route, term = operation.wrapper.settings, operation.route, operation.term
    described = (route.description if route is not None else "") or settings.description
    built: Json = {
        "operationId": _operation_id(operation),
        "summary": settings.name,
        "description": described,
        "tags": list(settings.tags),
        "parameters": _parameters(operation),
        "x-payment-info": {
            "price": {"mode": "fixed", "currency": "USD", "amount": format_usd(term.amount)},
            "protocols": [{"x402": {}}],
        },
        "x-stellar-payment": {
            "network": term.network.value,
            "asset": term.asset,
            "amount": str(term.amount),
            "decimals": DECIMALS,
            "scheme": SCHEME,
            "areFeesSponsored": True,
        },
        "responses": {
            "200": {
                "description": "The response of the API.",
                "content": {settings.mime_type: {"schema": _output_schema(operation)}},
            },
            **_REFERENCES,
        },
    }
    if operation.method in BODY_METHODS:
        schema = _input_schema(operation)
        body = {"application/json": {"schema": schema or _ANY_OBJECT}}
        built["requestBody"] = {"required": bool(schema), "content": body}
    return built


def _contact(contact: str | None) -> Json:
    if contact is None:
        return {}
    return {"contact": {"url" if "://" in contact else "email": contact}}


def _responses() -> Json:
    """Build the responses that every operation may have beside that of its API, by status."""
    codes: dict[int, list[ErrorCode]] = {}
    for code in GATEWAY_CODES:
        codes.setdefault(code.status, []).append(code)
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    built: Json = {
        str(status): {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(codes[status])}.",
            "content": error,
        }
        for status in sorted(codes)
    }
    built["402"] = {
        "description": "The terms of payment, or why a payment is none.",
        "headers": {
            "PAYMENT-REQUIRED": {
                "description": "The terms, in base64.",
                "schema": {"type": "string"},
            }
        },
        "content": {"application/json": {"schema": _ANY_OBJECT}},
    }
    built["default"] = {"description": "Another response of the API, as it gave it."}
    return built


_RESPONSES: Final = _responses()
_COMPONENTS: Final[Json] = {"responses": _RESPONSES, "schemas": {"Error": _ERROR}}
_REFERENCES: Final[Json] = {
    name: {"$ref": f"#/components/responses/{name}"} for name in sorted(_RESPONSES)
}


def _parameters(operation: _Operation) -> list[Json]:
    """Declare the template's parameters, and the properties of a query's schema."""
    names = _PARAMETER.findall(operation.path)
    found: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]
    if operation.method in BODY_METHODS:
        return found
    schema = _input_schema(operation)
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return [*found, _QUERY | {"schema": schema or _ANY_OBJECT}]
    names_given = required if isinstance(required, list) else []
    needed = {each for each in names_given if isinstance(each, str)}
    return found + [
        {"name": name, "in": "query", "required": name in needed, "schema": each}
        for name, each in properties.items()
        if isinstance(each, dict) and name not in names
    ]


# the members of an object as parameters of the query (OpenAPI 3.1, 4.8.12.3: form, exploded)
_QUERY: Final[Json] = {
    "name": "queryParams",
    "in": "query",
    "required": False,
    "style": "form",
    "explode": True,
}


def _input_schema(operation: _Operation) -> Json:
    return _decode(operation.route.input_schema) if operation.route is not None else {}


def _output_schema(operation: _Operation) -> Json:
    route, mime_type = operation.route, operation.wrapper.settings.mime_type
    if route is not None and route.output_schema:
        return _decode(route.output_schema)
    if mime_type.endswith("json"):
        return {"type": "object"}
    if mime_type.startswith("text/"):
        return {"type": "string"}
    return {"type": "string", "contentEncoding": "base64"}


def _operation_id(operation: _Operation) -> str:
    """Make an id from method and path, in camel case; paths differ, and so do the ids."""
    first, *rest = [operation.method.lower(), *_WORD.findall(operation.path)]
    tail = hashlib.sha256(operation.path.encode()).hexdigest()[:6]
    return first + "".join(word[:1].upper() + word[1:] for word in rest) + f"_{tail}"


def _decode(schema: str) -> Json:
    return msgspec.json.decode(schema, type=Json) if schema else {}


def _document(value: Json) -> OriginDocument:
    body = msgspec.json.encode(value)
    return OriginDocument(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
