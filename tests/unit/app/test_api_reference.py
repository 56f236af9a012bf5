"""docs/api-reference.md has every route as it is declared."""

from dataclasses import replace
from pathlib import Path

from farebox.app.api_reference import api_reference, documented_routes

PAGE = Path(__file__).parents[3] / "docs" / "api-reference.md"


def test_reference_is_current() -> None:
    assert api_reference(documented_routes()) == PAGE.read_text(), "run scripts/docs"


def test_reference_differs_when_a_route_is_declared_differently() -> None:
    first, *rest = documented_routes()
    for other in (
        replace(first, path="/elsewhere"),
        replace(first, summary="It does something else."),
        replace(first, access=None),
        replace(first, rate=None),
        replace(first, body_limit_bytes=1024),
    ):
        assert api_reference([other, *rest]) != PAGE.read_text()
