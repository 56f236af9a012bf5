"""Pages of other sites, in the browser of somebody who has signed in."""

from typing import Final

import pytest

from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import ORIGIN, Wallet, ask, made_key
from support.promises import case

KEYS: Final = "/v1/api-keys"


@case("AU-037")
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://farebox.test.evil.example", "http://xfarebox.test"],
)
async def test_a_page_of_another_origin_is_let_to_read_nothing(
    client: AsgiClient, wallet: Wallet, origin: str
) -> None:
    asked = {"origin": origin, "cookie": f"__Host-fbx_sess={wallet.token}"}
    preflight = asked | {"access-control-request-method": "POST"}
    for method, headers in (("GET", asked), ("POST", asked), ("OPTIONS", preflight)):
        answer = await ask(client, method, KEYS, headers)
        assert not [name for name in answer.headers if name.startswith("access-control-")]


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
async def test_what_another_site_has_a_browser_send_changes_nothing(
    client: AsgiClient, wallet: Wallet, database: Database, sent: dict[str, str]
) -> None:
    made = await made_key(client, wallet.headers)
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
