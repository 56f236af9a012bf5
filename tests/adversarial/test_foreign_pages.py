"""Cross-site pages in the browser of a signed-in wallet."""

from typing import Final

import pytest

from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import ORIGIN, Wallet, create_key, send_request
from support.promises import case

KEYS: Final = "/v1/api-keys"


@case("AU-037")
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://farebox.test.evil.example", "http://xfarebox.test"],
)
async def test_foreign_origin_can_read_nothing(
    client: AsgiClient, wallet: Wallet, origin: str
) -> None:
    foreign = {"origin": origin, "cookie": f"__Host-fbx_sess={wallet.token}"}
    preflight = foreign | {"access-control-request-method": "POST"}
    for method, headers in (("GET", foreign), ("POST", foreign), ("OPTIONS", preflight)):
        answer = await send_request(client, method, KEYS, headers)
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@case("AU-037")
@pytest.mark.parametrize(
    "path",
    ["/supported", "/discovery/resources", "/discovery/search?query=a", "/discovery/merchant",
     "/v1/errors", "/v1/openapi.json", "/v1/skills"],
)  # fmt: skip
async def test_foreign_origin_can_read_public_records_without_credentials(
    client: AsgiClient, path: str
) -> None:
    answer = await send_request(client, "GET", path, {"origin": "https://page.example"})
    assert answer.status != 404
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers


@case("AU-038")
@pytest.mark.parametrize(
    "sent",
    [
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "text/plain"},
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-type": "application/json"},
        {"content-type": "text/plain", "origin": "https://evil.example"},
        {"content-type": "text/plain", "origin": "null"},
        {"origin": ORIGIN},
        {"origin": f"{ORIGIN}.evil.example", "x-farebox-csrf": "1"},
        {"origin": ORIGIN, "x-farebox-csrf": ""},
        {"origin": ORIGIN, "x-farebox-csrf": "1", "sec-fetch-site": "cross-site"},
        {"referer": f"{ORIGIN}/", "x-farebox-csrf": "1"},
    ],
)
async def test_cross_site_request_changes_nothing(
    client: AsgiClient, wallet: Wallet, database: Database, sent: dict[str, str]
) -> None:
    made = await create_key(client, wallet.headers)
    cookie = {"cookie": f"__Host-fbx_sess={wallet.token}"}
    for method, path in (
        ("POST", KEYS),
        ("DELETE", f"{KEYS}/{made['id']}"),
        ("POST", f"{KEYS}/{made['id']}/revoke"),
        ("POST", f"{KEYS}/{made['id']}/rotate"),
    ):
        body = b'{"name": "evil robot"}'
        answer = await client.request(method, path, body=body, headers=cookie | sent)
        assert (answer.status, answer.json()["error"]["code"]) == (403, "cross_site_request")
    async with database.connection() as db:
        rows = await db.fetch("SELECT id FROM api_keys WHERE revoked_at IS NULL")
    assert [row["id"] for row in rows] == [made["id"]]
