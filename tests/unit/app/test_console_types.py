"""console/src/api/schema.d.ts has the types of the schema that the service serves."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from farebox.app.api_reference import documented_routes
from farebox.app.console_schema import console_schema

TYPES: Final = Path(__file__).parents[3] / "console" / "src" / "api" / "schema.d.ts"
PATHS: Final = TYPES.with_name("paths.ts")
HEAD: Final = re.compile(r"// schema ([0-9a-f]{64}) types ([0-9a-f]{64})\n")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read() -> tuple[str, str, str]:
    """Return the digest of the schema, the digest of the types, and the types."""
    text = TYPES.read_text()
    head = HEAD.match(text)
    assert head, "schema.d.ts has no digest in its first line: run scripts/docs"
    return head[1], head[2], text[head.end() :]


def test_types_are_made_from_the_schema_of_the_service() -> None:
    schema, _, _ = _read()
    assert schema == _digest(console_schema(documented_routes())), "run scripts/docs"


def test_types_are_as_they_were_generated() -> None:
    _, expected, types = _read()
    assert expected == _digest(types.encode()), "schema.d.ts was edited: run scripts/docs"


def test_digest_differs_when_a_route_is_declared_differently() -> None:
    schema, _, _ = _read()
    first, *rest = documented_routes()
    for other in (replace(first, path="/elsewhere"), replace(first, summary="Something else.")):
        assert schema != _digest(console_schema([other, *rest]))


def test_paths_that_the_console_calls_are_routes_of_the_service() -> None:
    called = re.findall(r'^  "([A-Z]+ /[^"]+)",$', PATHS.read_text(), re.MULTILINE)
    declared = {f"{route.method} {route.path}" for route in documented_routes()}
    assert len(called) == len(set(called)) > 10
    assert set(called) <= declared
