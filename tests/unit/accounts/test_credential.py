"""The credential in a request's headers, read without looking it up."""

import hashlib

import pytest

from farebox.accounts.credential import (
    Credential,
    CredentialFault,
    CredentialType,
    ReadCredential,
    read_credential,
)
from farebox.accounts.token import TokenType, new_token
from farebox.kernel.caller import OwnerId
from support.promises import case

KEY = new_token(TokenType.KEY).value.reveal()
OTHER_KEY = new_token(TokenType.KEY).value.reveal()
SESSION = new_token(TokenType.SESSION).value.reveal()
OPERATOR = "0f" * 32
ORIGIN = "https://farebox.example"


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def shown(
    *headers: tuple[str, str], method: str = "GET", origin: str | None = ORIGIN
) -> ReadCredential:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return read_credential(method, raw, origin=origin)


@pytest.mark.parametrize(
    ("token", "form"),
    [
        (KEY, CredentialType.KEY),
        (SESSION, CredentialType.SESSION),
        (OPERATOR, CredentialType.OPERATOR),
    ],
)
@pytest.mark.parametrize("name", ["bearer", "x-api-key"])
def test_each_token_type_is_read_from_either_header(
    name: str, token: str, form: CredentialType
) -> None:
    header = ("Authorization", f"Bearer {token}") if name == "bearer" else ("X-API-Key", token)
    assert shown(header) == Credential(form, digest(token))


@case("AU-027")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_bearer_scheme_is_read_in_any_case(scheme: str) -> None:
    assert shown(("Authorization", f"{scheme} {KEY}")) == Credential(
        CredentialType.KEY, digest(KEY)
    )


@case("AU-027")
@pytest.mark.parametrize(
    "value",
    [
        "", " ", "Bearer", "bearer", "BEARER ", "Bearer bearer", "bearer Bearer", f"Basic {KEY}",
        f"Token {KEY}", f"BearerX {KEY}", KEY, f"Bearer  {KEY}", f"Bearer\t{KEY}", f" Bearer {KEY}",
        f"Bearer {KEY} ", f"Bearer {KEY},{KEY}", f"Bearer {KEY} {KEY}", f"Bearer {KEY[:-1]}",
        f"Bearer {KEY}0", f"Bearer {KEY.upper()}", f"Bearer {KEY[:-1]}é", f"Bearer {KEY[:-1]}\x00",
        "Bearer fbx_live_", "Bearer fbx_test_" + KEY[9:], "Bearer " + "k" * 257,
        "Bearer " + "k" * 100_000, "Bearer " + "k" * 15,
    ],
)  # fmt: skip
def test_authorization_header_is_unusable_unless_it_is_one_bearer_token(value: str) -> None:
    assert shown(("Authorization", value)) is CredentialFault.UNUSABLE
    with_cookie = [("Authorization", value), ("Cookie", f"__Host-fbx_sess={SESSION}")]
    assert shown(*with_cookie) is CredentialFault.UNUSABLE
    with_key = [("Authorization", value), ("X-API-Key", KEY)]
    assert shown(*with_key) is CredentialFault.UNUSABLE


@case("AU-027")
def test_repeated_header_is_unusable_even_when_its_values_agree() -> None:
    assert shown(*[("Authorization", f"Bearer {KEY}")] * 2) is CredentialFault.UNUSABLE
    assert shown(*[("X-API-Key", KEY)] * 2) is CredentialFault.UNUSABLE


@case("AU-027")
def test_differing_credentials_are_unusable() -> None:
    both = [("Authorization", f"Bearer {KEY}"), ("X-API-Key", OTHER_KEY)]
    assert shown(*both) is CredentialFault.UNUSABLE
    agreeing = [("Authorization", f"Bearer {KEY}"), ("X-API-Key", KEY)]
    assert shown(*agreeing) == Credential(CredentialType.KEY, digest(KEY))


def test_header_takes_precedence_over_the_cookie() -> None:
    cookie = ("Cookie", f"__Host-fbx_sess={SESSION}")
    for header in (("Authorization", f"Bearer {KEY}"), ("X-API-Key", KEY)):
        assert shown(header, cookie) == Credential(CredentialType.KEY, digest(KEY))
        assert shown(header, cookie, method="POST") == Credential(CredentialType.KEY, digest(KEY))


@pytest.mark.parametrize(
    "cookie",
    [
        f"__Host-fbx_sess={SESSION}",
        f"theme=dark; __Host-fbx_sess={SESSION}; a=b",
        f"__Host-fbx_sess={SESSION};__Host-fbx_sess={SESSION}",
        f"broken;;=;  __Host-fbx_sess={SESSION}",
    ],
)
def test_session_is_read_from_its_cookie(cookie: str) -> None:
    assert shown(("Cookie", cookie)) == Credential(CredentialType.SESSION, digest(SESSION))


@case("AU-027")
@pytest.mark.parametrize(
    "cookie",
    [
        f"__Host-fbx_sess={KEY}",
        f"__Host-fbx_sess={OPERATOR}",
        f"key={KEY}",
        f"__Host-fbx_sess={SESSION}; key={KEY}",
        "__Host-fbx_sess=",
        f'__Host-fbx_sess="{SESSION}"',
        f"__Host-fbx_sess={SESSION}x",
        f"__Host-fbx_sess={SESSION}; __Host-fbx_sess={new_token(TokenType.SESSION).value.reveal()}",
        f"__Host-fbx_sess={SESSION}; a=" + "b" * 16_384,
    ],
)
def test_cookie_is_unusable_unless_it_has_exactly_one_session(cookie: str) -> None:
    assert shown(("Cookie", cookie)) is CredentialFault.UNUSABLE


def test_headers_without_a_credential_give_none() -> None:
    assert shown() is None
    assert shown(("Cookie", "theme=dark; fbx_sess=1"), ("Accept", "*/*")) is None
    assert shown(("Cookie", f"__host-fbx_sess={SESSION}")) is None


COOKIE = ("Cookie", f"__Host-fbx_sess={SESSION}")
OURS = ("Origin", ORIGIN)
CSRF = ("X-Farebox-CSRF", "1")
HOST = ("Host", "farebox.example")


@case("AU-038")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "post", "LOCK"])
def test_cookie_is_accepted_for_changes_only_from_the_own_origin(method: str) -> None:
    taken = Credential(CredentialType.SESSION, digest(SESSION))
    assert shown(COOKIE, OURS, CSRF, HOST, method=method) == taken
    same = ("Sec-Fetch-Site", "same-origin")
    assert shown(COOKIE, OURS, CSRF, HOST, same, method=method) == taken
    for given in (
        [],
        [OURS],
        [CSRF],
        [OURS, ("X-Farebox-CSRF", "")],
        [OURS, CSRF, OURS],
        [OURS, CSRF, ("Sec-Fetch-Site", "same-site")],
        [OURS, CSRF, ("Sec-Fetch-Site", "cross-site")],
    ):
        assert shown(COOKIE, HOST, *given, method=method) is CredentialFault.CROSS_SITE, given


@case("AU-038")
@pytest.mark.parametrize(
    "origin",
    [
        "null", "", "https://evil.example", "https://farebox.example.evil.example",
        "https://evil-farebox.example", "https://sub.farebox.example", "http://farebox.example",
        "https://farebox.example:444", "https://farebox.example/", "HTTPS://FAREBOX.EXAMPLE",
    ],
)  # fmt: skip
def test_cookie_from_another_origin_is_cross_site(origin: str) -> None:
    given = [COOKIE, CSRF, HOST, ("Origin", origin)]
    assert shown(*given, method="POST") is CredentialFault.CROSS_SITE


def test_own_origin_is_the_host_header_without_a_public_url() -> None:
    taken = Credential(CredentialType.SESSION, digest(SESSION))
    host = ("Host", "127.0.0.1:8402")
    for origin, expected in (
        ("http://127.0.0.1:8402", taken),
        ("https://127.0.0.1:8402", taken),
        ("http://127.0.0.1", CredentialFault.CROSS_SITE),
        ("http://localhost:8402", CredentialFault.CROSS_SITE),
        ("ftp://127.0.0.1:8402", CredentialFault.CROSS_SITE),
    ):
        given = [COOKIE, CSRF, host, ("Origin", origin)]
        assert shown(*given, method="POST", origin=None) == expected
    assert shown(COOKIE, CSRF, OURS, method="POST", origin=None) is CredentialFault.CROSS_SITE
    two = [COOKIE, CSRF, OURS, HOST, HOST]
    assert shown(*two, method="POST", origin=None) is CredentialFault.CROSS_SITE


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_cookie_needs_no_csrf_header_for_safe_methods(method: str) -> None:
    assert shown(COOKIE, method=method) == Credential(CredentialType.SESSION, digest(SESSION))


@pytest.mark.parametrize(
    ("named", "is_for"),
    [
        ([], True),
        (["user_ada"], True),
        (["user_ada", "user_ada"], True),
        (["user_ada", "user_bob"], False),
        (["user_bob", "user_ada"], False),
        (["user_ada,user_bob"], False),
        ([" user_ada"], False),
        ([""], False),
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_page_names_one_account_which_is_the_cookies(
    method: str, named: list[str], is_for: bool
) -> None:
    read = shown(
        *(COOKIE, OURS, CSRF, HOST), *[("X-Farebox-Account", each) for each in named], method=method
    )
    assert isinstance(read, Credential)
    assert read.is_for(OwnerId("user_ada")) is is_for
