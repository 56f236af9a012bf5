"""The `bazaar` block of a wrapper's offer: how to call the resource (x402 extension `bazaar`)."""

from typing import Any, Final

import msgspec

from farebox.catalog.discovery.info import BODY_METHODS
from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.gateway.wrapper import PricedRoute

Json = dict[str, Any]
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_ANY_OBJECT: Final[Json] = {"type": "object"}
_ROOT: Final = RouteTemplate("/")


def build_discovery_block(
    method: str, route: PricedRoute | None, *, slug: str, prefix: str
) -> Json:
    """Build the block of one method of a wrapper, or of one of its routes.

    Args:
        method: the method of the described request.
        route: the route with its schemas; None for the wrapper's own price.
        slug: the wrapper's slug.
        prefix: the path of the gateway's public URL, as in `/gateway`.
    """
    schema_in = _decode(route.input_schema) if route is not None else {}
    schema_out = _decode(route.output_schema) if route is not None else {}
    info: Json = {"input": {"type": "http", "method": method}}
    input_schema: Json = {"type": {"const": "http"}, "method": {"const": method}}
    if method in BODY_METHODS:
        info["input"] |= {"bodyType": "json", "body": {}}  # an example without values
        input_schema["bodyType"] = {"const": "json"}
        input_schema["body"] = {"anyOf": [schema_in, {"const": {}}]} if schema_in else _ANY_OBJECT
    elif schema_in:
        input_schema["queryParams"] = schema_in
    properties: Json = {"input": {"type": "object", "properties": input_schema}}
    if schema_out:
        info["output"] = {"type": "json"}
        properties["output"] = {"type": "object", "properties": {"example": schema_out}}
    block: Json = {
        "info": info,
        "schema": {
            "$schema": _DRAFT,
            "type": "object",
            "properties": properties,
            "required": ["input"],
        },
    }
    if route is not None and route.template != _ROOT:
        block["routeTemplate"] = f"{prefix}/{slug}{route.template.path}"
    return block


def _decode(schema: str) -> Json:
    return msgspec.json.decode(schema, type=Json) if schema else {}
