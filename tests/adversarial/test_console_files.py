"""The built files of the console: no secret, no wallet of a demo, no route that does not exist."""

import re
from collections.abc import Mapping
from typing import Final

import pytest

from farebox.app.api_reference import documented_routes
from farebox.app.console import read_console
from support.promises import case, promise

# what a build may not contain: a key, a token, a wallet that has one, the way back to the sources
FORBIDDEN: Final = {
    "seed": re.compile(r"(?<![A-Z2-7])S[A-Z2-7]{55}(?![A-Z2-7])"),
    "token": re.compile(r"fbx_(sess|live)_[A-Za-z0-9]{16,}"),
    "private key": re.compile(r"BEGIN [A-Z ]*PRIVATE KEY|302e020100300506032b6570"),
    "wallet of the demo": re.compile(r"development.?wallet", re.IGNORECASE),
    "operator's key": re.compile(r"OPERATOR_KEY|operator.?key", re.IGNORECASE),
    "source map": re.compile(r"sourceMappingURL"),
    "markup from text": re.compile(
        r"dangerouslySetInnerHTML:|\.insertAdjacentHTML|document\.write"
    ),
    "code from text": re.compile(r"\bnew Function\(|\beval\("),
    "foreign script": re.compile(r"importScripts|<script[^>]+src=\"(?!/assets/)"),
}
_ROUTE: Final = re.compile(r"[\"'`](GET|POST|PUT|PATCH|DELETE) (/[^\"'`\s]*)[\"'`]")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Every text of the packaged build, by path."""
    console = read_console(None)
    if not console.files:
        pytest.skip(console.summary)
    return {path: file.body.decode(errors="replace") for path, file in console.files.items()}


def find_forbidden(files: Mapping[str, str]) -> list[str]:
    """What the files contain and must not, with the path of each."""
    return [
        f"{path}: {name}: {found[0][:60]}"
        for path, text in files.items()
        for name, pattern in FORBIDDEN.items()
        if (found := pattern.search(text))
    ]


@case("AU-040")
@promise("console:no-secret-key")
def test_built_files_have_no_secret_and_no_development_wallet(files: dict[str, str]) -> None:
    assert find_forbidden(files) == []


@case("AU-040")
@pytest.mark.parametrize(
    "planted",
    [
        'const seed="SCZANGBA5YHTNYVVV4C3U252E2B6P6F5T3U6MM63WBSBZATAQI3EBTQ4"',
        'fetch("/x",{headers:{authorization:"Bearer fbx_live_abcdefghijklmnop"}})',
        "(function developmentWallet(config)",
        "//# sourceMappingURL=index.js.map",
        '<script src="https://cdn.example.com/x.js">',
        'jsx("p",{dangerouslySetInnerHTML:{__html:name}})',
    ],
)
def test_planted_secret_or_wallet_is_found(files: dict[str, str], planted: str) -> None:
    found = find_forbidden({**files, "/assets/planted.js": planted})
    assert [each for each in found if each.startswith("/assets/planted.js")] == found != []


@promise("console:uses-these-apis")
def test_every_route_in_the_built_code_is_one_of_the_api(files: dict[str, str]) -> None:
    declared = {f"{route.method} {route.path}" for route in documented_routes()}
    called = {" ".join(found) for text in files.values() for found in _ROUTE.findall(text)}
    assert {"POST /v1/auth/challenge", "POST /v1/auth/verify"} <= called
    assert sorted(called - declared) == []
