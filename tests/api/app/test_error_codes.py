"""The error codes: docs/api.md lists each with its status, and each route declares its own."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.kernel.error_codes import ErrorCode
from farebox.web.endpoint import Endpoint
from farebox.web.error_responses import EARLY_CODES

ROOT: Final = Path(__file__).parents[3]
# answers of the service itself, whatever the route
OF_NO_ROUTE: Final = {ErrorCode.INTERNAL_ERROR, ErrorCode.METHOD_NOT_ALLOWED, *EARLY_CODES}
# responses of the gateway, which stands before the routes
OF_THE_GATEWAY: Final = {
    ErrorCode.INVALID_PAYMENT_HEADER,
    ErrorCode.MONTHLY_QUOTA_USED,
    ErrorCode.NOT_FORWARDED,
    ErrorCode.PAYMENT_USED,
    ErrorCode.SETTLEMENT_UNKNOWN,
    ErrorCode.UPSTREAM_FAILED,
    ErrorCode.UPSTREAM_TIMEOUT,
    ErrorCode.UPSTREAM_UNAVAILABLE,
}
_ROW: Final = re.compile(r"^\| (\d{3}) \| (.+?) \|", re.MULTILINE)


@pytest.fixture(scope="module")
def endpoints() -> list[Endpoint]:
    """The routes of a service."""
    environment = {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing"}
    return [*create_app(read_settings(environment, needs_network=False)).endpoints]


def undeclared(sources: Iterable[str], declared: Iterable[ErrorCode]) -> set[str]:
    """The names of the codes that some sources use and that are not among the declared ones."""
    used = {
        node.attr
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "ErrorCode"
    }
    return used - {code.name for code in declared}


def test_docs_list_every_error_code_with_its_status() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    listed = {
        code: int(status)
        for status, codes in _ROW.findall(page)
        for code in re.findall(r"`(\w+)`", codes)
    }
    assert listed == {code.value: code.status for code in ErrorCode}


def test_every_error_code_is_declared_by_a_route_or_is_general(endpoints: list[Endpoint]) -> None:
    declared = {code for each in endpoints for code in each.route.codes}
    assert declared | OF_NO_ROUTE | OF_THE_GATEWAY == set(ErrorCode)


@pytest.mark.parametrize(
    "feature",
    [
        *("accounts", "audit", "catalog", "explorer", "facilitator", "gateway", "ingress"),
        *("search", "signing", "skills", "vault"),
    ],
)
def test_feature_declares_every_error_code_it_raises(
    feature: str, endpoints: list[Endpoint]
) -> None:
    # the search reads its query string with the catalog's functions
    served = [feature, "search"] if feature == "catalog" else [feature]
    routes = [
        each.route for each in endpoints if type(each.handler).__module__.split(".")[1] in served
    ]
    assert routes
    paths = (ROOT / "src" / "farebox" / feature).rglob("*.py")
    sources = [path.read_text() for path in paths]
    declared = {code for route in routes for code in route.codes}
    if feature == "gateway":
        declared |= OF_THE_GATEWAY | OF_NO_ROUTE
    assert undeclared(sources, declared) == set()


def test_control_undeclared_error_code_is_detected() -> None:
    source = "raise Refusal(ErrorCode.SECRET_IN_USE)"
    assert undeclared([source], [ErrorCode.NOT_FOUND]) == {"SECRET_IN_USE"}
    assert undeclared([source], [ErrorCode.SECRET_IN_USE]) == set()
