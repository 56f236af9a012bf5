"""The console's files over HTTP. The service has no database in any of these tests."""

import gzip
from pathlib import Path
from typing import Final

import msgspec
import pytest

from farebox.app.console import HEADERS, read_console
from support.asgi import AsgiClient
from support.console import PAGE, SCRIPT, SCRIPT_PATH, console_app, console_client, write_console

ZIPPED: Final = {"accept-encoding": "gzip, deflate, br, zstd"}
POLICY: Final = {
    "default-src 'none'",
    *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "font", "connect")),
    *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> AsgiClient:
    """The service with a console, which requests do not change."""
    return console_client(write_console(tmp_path_factory.mktemp("console")))


async def test_page_is_served_at_the_root_with_its_security_headers(client: AsgiClient) -> None:
    for path in ("/", "/index.html", "/?utm=1"):
        answer = await client.get(path)
        assert (answer.status, answer.body) == (200, PAGE)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        assert set(answer.headers["content-security-policy"].split("; ")) == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin-allow-popups"
        assert "access-control-allow-origin" not in answer.headers
        assert "set-cookie" not in answer.headers


async def test_named_by_hash_is_kept_for_ever_and_other_names_are_checked(
    client: AsgiClient,
) -> None:
    hashed, plain = await client.get(SCRIPT_PATH), await client.get("/assets/early.js")
    assert (hashed.status, hashed.body) == (200, SCRIPT)
    assert hashed.headers["content-type"] == "text/javascript; charset=utf-8"
    assert hashed.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (plain.status, plain.headers["cache-control"]) == (200, "no-cache")
    for answer in (hashed, plain):
        assert {name.decode() for name, _ in HEADERS} <= answer.headers.keys()


@pytest.mark.parametrize(
    ("accepted", "is_zipped"),
    [
        ("gzip, deflate, br, zstd", True),
        ("GZIP", True),
        ("br;q=1, gzip;q=0.5", True),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("gzip;q=0.000", False),
        ("gzip;q=0.001", True),
        ("identity", False),
        ("xgzip", False),
        ("", False),
        ("gzip" + ", a" * 200, False),
    ],
)
async def test_file_is_compressed_where_the_caller_accepts_it(
    client: AsgiClient, accepted: str, is_zipped: bool
) -> None:
    answer = await client.request("GET", SCRIPT_PATH, headers={"accept-encoding": accepted})
    assert (answer.headers.get("content-encoding") == "gzip") is is_zipped
    assert (gzip.decompress(answer.body) if is_zipped else answer.body) == SCRIPT
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert answer.headers["vary"] == "Accept-Encoding"


async def test_file_that_compression_makes_no_smaller_is_sent_as_it_is(client: AsgiClient) -> None:
    answer = await client.request("GET", "/assets/mark-abcdefgh.png", headers=ZIPPED)
    assert (answer.status, answer.body) == (200, bytes(range(256)))
    assert not {"content-encoding", "vary"} & answer.headers.keys()


@pytest.mark.parametrize("headers", [{}, ZIPPED])
async def test_entity_tag_is_answered_with_304_for_the_same_coding(
    client: AsgiClient, headers: dict[str, str]
) -> None:
    for path in ("/", SCRIPT_PATH):
        first = await client.request("GET", path, headers=headers)
        tag = first.headers["etag"]
        for known in (tag, f'"other", W/{tag}', "*"):
            again = await client.request("GET", path, headers={**headers, "if-none-match": known})
            assert (again.status, again.body) == (304, b"")
            assert again.headers["etag"] == tag
            assert again.headers["cache-control"] == first.headers["cache-control"]
            assert again.headers["content-security-policy"]
            assert not {"content-type", "content-encoding"} & again.headers.keys()
        changed = await client.request("GET", path, headers={**headers, "if-none-match": '"old"'})
        assert (changed.status, changed.body) == (200, first.body)


async def test_entity_tags_of_the_two_codings_differ(client: AsgiClient) -> None:
    plain = await client.get(SCRIPT_PATH)
    zipped = await client.request("GET", SCRIPT_PATH, headers=ZIPPED)
    assert plain.headers["etag"] != zipped.headers["etag"]
    crossed = {**ZIPPED, "if-none-match": plain.headers["etag"]}
    assert (await client.request("GET", SCRIPT_PATH, headers=crossed)).status == 200


async def test_head_has_the_headers_of_get_and_no_body(client: AsgiClient) -> None:
    for path in ("/", SCRIPT_PATH):
        got = await client.request("GET", path, headers=ZIPPED)
        head = await client.request("HEAD", path, headers=ZIPPED)
        assert (head.status, head.body) == (200, b"")
        own = dict(got.headers) | {"x-request-id": head.headers["x-request-id"]}
        assert dict(head.headers) == own


@pytest.mark.parametrize(
    "path",
    [
        *("/assets", "/assets/", "/assets/none.js", "/assets/nested/deep.js", "/assets/nested"),
        *("/secret.txt", "/assets/../secret.txt", "/assets/..%2fsecret.txt", "/assets//early.js"),
        *("/assets/source-abcdefgh.map", "/assets/early.js/", "//", "/console", "/admin"),
        *("/Index.html", "/index.htm", "/assets/EARLY.js", "/favicon.ico"),
    ],
)
async def test_path_that_names_no_file_is_404(client: AsgiClient, path: str) -> None:
    answer = await client.get(path)
    assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found")
    assert "content-security-policy" not in answer.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
async def test_other_methods_are_405(client: AsgiClient, method: str) -> None:
    for path in ("/", SCRIPT_PATH):
        answer = await client.request(method, path)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
        assert answer.json()["error"]["code"] == "method_not_allowed"


async def test_credentials_change_nothing(client: AsgiClient) -> None:
    plain = await client.get("/")
    headers = {"authorization": "Bearer x", "cookie": "__Host-fbx_sess=x", "x-api-key": "x"}
    answer = await client.request("GET", "/", headers=headers)
    assert (answer.status, answer.body) == (200, plain.body)


async def test_service_without_a_build_answers_404(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "early.js").write_text("left behind")
    client = console_client(tmp_path)
    for path in ("/", "/index.html", "/assets/early.js"):
        assert (await client.get(path)).status == 404
    assert "console: none, because" in read_console(tmp_path).summary
    assert (await client.get("/health/live")).status == 200


async def test_files_are_read_once(tmp_path: Path) -> None:
    client = console_client(write_console(tmp_path))
    (tmp_path / "index.html").unlink()
    assert (await client.get("/")).body == PAGE


async def test_page_without_assets_is_served(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes(PAGE)
    assert (await console_client(tmp_path).get("/")).status == 200


async def test_schema_and_routes_have_no_file_of_the_console(tmp_path: Path) -> None:
    app = console_app(write_console(tmp_path))
    declared = {each.route.path for each in app.endpoints}
    assert not {"/", "/index.html", SCRIPT_PATH} & declared
    schema = msgspec.json.decode((await AsgiClient(app).get("/v1/openapi.json")).body)
    assert set(schema["paths"]) == declared
