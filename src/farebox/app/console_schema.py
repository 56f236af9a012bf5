"""The schema that the console's types are generated from: `scripts/docs`."""

import sys
from collections.abc import Sequence

import msgspec

from farebox.app.api_reference import documented_routes
from farebox.app.openapi import openapi_document
from farebox.web.endpoint import RouteDeclaration


def console_schema(routes: Sequence[RouteDeclaration]) -> bytes:
    """Serialize the schema of these routes with sorted keys: equal schemas give equal bytes."""
    document = msgspec.json.encode(openapi_document(routes), order="deterministic")
    return msgspec.json.format(document, indent=1) + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(console_schema(documented_routes()))
