"""The URL of a paid call, built from the listing and the validated parameters."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from farebox.catalog.discovery.route_template import RouteTemplate, parse_route_template
from farebox.catalog.listing import Resource
from farebox.mcp.call_arguments import CallArguments
from farebox.mcp.listed_block import read_block
from farebox.mcp.rpc_error import RpcError, RpcReason, named_by_seller

MAX_QUERY_CHARS: Final = 8 * 1024
_FORBIDDEN: Final = frozenset("/\\?#%")  # of a path parameter: it stays one segment everywhere


def listing_key(url: str) -> str:
    """Return the key under which the catalog keeps the HTTP resource of a listing's URL."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    template = parse_route_template(f"/{path}") if "/:" in f"/{path}" else None
    if template is None:
        return url
    return f"{scheme}{separator}{authority}{template.shape}" if slash else url


def build_url(resource: Resource, arguments: CallArguments) -> str:
    """Build the URL to call: the listing's, with its parameters filled in.

    Raises:
        RpcError: INVALID_ARGUMENTS; a parameter is missing, unknown, or no value of a URL.
    """
    origin, path = _split(resource.url)
    filled = _fill(RouteTemplate(path), arguments.path_params or {})
    query = _query_string(arguments.query or {})
    return f"{origin}{filled}?{query}" if query else f"{origin}{filled}"


def discovery_text(resource: Resource, arguments: CallArguments) -> bytes | None:
    """Return discovery data that describes this call, to be judged by the listing's own schema.

    None for a call without parameters or body.
    """
    given = {
        "queryParams": arguments.query,
        "pathParams": arguments.path_params,
        "body": arguments.body if arguments.has_body else None,
    }
    if all(value is None for value in given.values()):
        return None
    block = read_block(resource.extensions)
    listed = {name: value for name, value in block.input.items() if name not in given}
    own = {name: value for name, value in given.items() if value is not None}
    url = {"url": resource.paid_url or resource.url}
    judged = {"info": block.info | {"input": listed | own}, "schema": block.schema}
    return msgspec.json.encode({"resource": url, "bazaar": judged})


def _split(url: str) -> tuple[str, str]:
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority}", f"{slash}{path}"


def _fill(template: RouteTemplate, values: Mapping[str, object]) -> str:
    segments = template.path.split("/")
    names = [segment[1:] for segment in segments if segment.startswith(":")]
    unknown, missing = set(values) - set(names), set(names) - set(values)
    if unknown or missing:
        words = "pathParams are not those of this resource: data.detail names them."
        expected = ", ".join(names) or "none"
        raise RpcError(RpcReason.INVALID_ARGUMENTS, words, named_by_seller(expected))
    return "/".join(
        _segment(segment[1:], values[segment[1:]]) if segment.startswith(":") else segment
        for segment in segments
    )


def _segment(name: str, value: object) -> str:
    text = _text_of(f"pathParams.{name}", value)
    if text in ("", ".", "..") or not text.isprintable() or _FORBIDDEN & set(text):
        raise _invalid(f"pathParams.{name} is one segment of a path.")
    return quote(text, safe="")


def _query_string(values: Mapping[str, object]) -> str:
    pairs = [
        (name, _text_of(f"query.{name}", each))
        for name, value in values.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    try:
        text = urlencode(pairs)
    except UnicodeEncodeError:
        raise _invalid("query holds characters that are not Unicode.") from None
    if len(text) > MAX_QUERY_CHARS:
        raise _invalid(f"query has at most {MAX_QUERY_CHARS} characters.")
    return text


def _text_of(place: str, value: object) -> str:
    """Return a parameter as a URL spells it: JSON's own spelling of numbers and booleans."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return msgspec.json.encode(value).decode()
    raise _invalid(f"{place[:64]} is a string, a number or a boolean.")


def _invalid(message: str) -> RpcError:
    return RpcError(RpcReason.INVALID_ARGUMENTS, message)
