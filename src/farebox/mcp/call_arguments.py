"""Read the arguments of the tools, strictly: a wrong one is named, and an unknown one refused."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from farebox.catalog.discovery.canonical_url import MAX_URL
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.mcp.rpc_error import RpcError, RpcReason
from farebox.search.query.expression import MAX_QUERY, normalize_query
from farebox.x402.headers import decode_header, encode_header

DEFAULT_HITS: Final = 10
MAX_HITS: Final = 50
MAX_SIGNATURE_CHARS: Final = 24 * 1024  # with all else of a head below 32 KB
PAYMENT_META: Final = "x402/payment"  # x402's MCP transport
_SEARCH_NAMES: Final = frozenset({"query", "network", "limit"})
_CALL_NAMES: Final = frozenset({"url", "paymentSignature", "method", "body", "pathParams", "query"})
_MAX_SHOWN: Final = 64


class CallMethod(StrEnum):
    """The methods of a paid call."""

    GET = "GET"
    POST = "POST"


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """The arguments of `search_services`."""

    query: str
    network: Network | None = None
    limit: int = DEFAULT_HITS


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The arguments of `paid_call`; `signature` is a value of `PAYMENT-SIGNATURE`."""

    url: str
    method: CallMethod | None = None  # None: the listing's own
    signature: Secret[str] | None = None
    has_body: bool = False
    body: object = None
    path_params: Mapping[str, object] | None = None
    query: Mapping[str, object] | None = None


def read_search_arguments(arguments: Mapping[str, Any]) -> SearchArguments:
    """Read the arguments of `search_services`.

    Raises:
        RpcError: QUERY_REQUIRED without a query, INVALID_ARGUMENTS for all else.
    """
    _refuse_unknown(arguments, _SEARCH_NAMES)
    query, limit = arguments.get("query", ""), arguments.get("limit", DEFAULT_HITS)
    if not isinstance(query, str) or len(query) > MAX_QUERY:
        raise _invalid(f"query is a string of at most {MAX_QUERY} characters.")
    query = normalize_query(query)
    if not query:
        raise RpcError(RpcReason.QUERY_REQUIRED)
    if len(query) > MAX_QUERY:
        raise _invalid(f"query is a string of at most {MAX_QUERY} characters.")
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_HITS:
        raise _invalid(f"limit is a whole number from 1 to {MAX_HITS}.")
    network = arguments.get("network")
    if network is not None and network not in list(Network):
        raise _invalid(f"network is one of {', '.join(Network)}.")
    return SearchArguments(query, None if network is None else Network(network), limit)


def read_call_arguments(arguments: Mapping[str, Any], meta: object) -> CallArguments:
    """Read the arguments of `paid_call`; `meta` is the `_meta` of the request.

    Raises:
        RpcError: INVALID_ARGUMENTS, or INVALID_PAYMENT_SIGNATURE for a payment that no header can
            hold.
    """
    _refuse_unknown(arguments, _CALL_NAMES)
    url, method = arguments.get("url"), arguments.get("method")
    if not isinstance(url, str) or not 0 < len(url) <= MAX_URL:
        raise _invalid(f"url is a string of at most {MAX_URL} characters.")
    if method is not None and method not in list(CallMethod):
        raise _invalid("method is GET or POST.")
    has_body = arguments.get("body") is not None
    if has_body and method == CallMethod.GET:
        raise _invalid("A GET request has no body: put parameters in query.")
    return CallArguments(
        url=url,
        method=None if method is None else CallMethod(method),
        signature=_read_signature(arguments.get("paymentSignature"), meta),
        has_body=has_body,
        body=arguments.get("body"),
        path_params=_read_object(arguments, "pathParams"),
        query=_read_object(arguments, "query"),
    )


def _read_signature(argument: object, meta: object) -> Secret[str] | None:
    """Read the payment: the argument, or the object or its JSON that MCP buyers put in `_meta`."""
    given = meta.get(PAYMENT_META) if isinstance(meta, dict) else None
    if given is not None and argument is not None:
        raise _invalid(f"Give the payment once: as paymentSignature or as _meta[{PAYMENT_META!r}].")
    if isinstance(given, dict):
        return Secret(_checked(encode_header(given)))
    if isinstance(given, str) and given.lstrip().startswith("{"):  # some clients send its JSON
        return Secret(_checked(base64.b64encode(given.encode(errors="replace")).decode()))
    text = argument if given is None else given
    if text is None:
        return None
    if not isinstance(text, str):
        raise RpcError(RpcReason.INVALID_PAYMENT_SIGNATURE)
    return Secret(_checked(text))


def _checked(header: str) -> str:
    if len(header) > MAX_SIGNATURE_CHARS or decode_header(header) is None:
        raise RpcError(RpcReason.INVALID_PAYMENT_SIGNATURE)
    return header.strip()


def _read_object(arguments: Mapping[str, Any], name: str) -> Mapping[str, object] | None:
    value = arguments.get(name)
    if value is not None and not isinstance(value, dict):
        raise _invalid(f"{name} is an object.")
    return value


def _refuse_unknown(arguments: Mapping[str, Any], known: frozenset[str]) -> None:
    for name in arguments:
        if name not in known:
            shown = "".join(c if c.isprintable() else "?" for c in name[:_MAX_SHOWN])
            raise _invalid(f"There is no argument {shown!r}: use {', '.join(sorted(known))}.")


def _invalid(message: str) -> RpcError:
    return RpcError(RpcReason.INVALID_ARGUMENTS, message)
