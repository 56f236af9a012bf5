"""Cross-site pages in the browser of a signed-in wallet."""

from typing import Final

from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import ORIGIN, Wallet, create_key, send_request
from support.promises import case

KEYS: Final = "/v1/api-keys"


@case("AU-037")
async def test_foreign_origin_can_read_nothing(client: AsgiClient, wallet: Wallet) -> None:
    evil = ("https://evil.example", "http://farebox.test.evil.example", "http://xfarebox.test")
    for origin in (*evil, "null"):
        foreign = {"origin": origin, "cookie": f"__Host-fbx_sess={wallet.token}"}
        preflight = foreign | {"access-control-request-method": "POST"}
        for method, headers in (("GET", foreign), ("POST", foreign), ("OPTIONS", preflight)):
            answer = await send_request(client, method, KEYS, headers)
            assert not [name for name in answer.headers if name.startswith("access-control-")]


@case("AU-037")
async def test_foreign_origin_can_read_public_records_without_credentials(
    client: AsgiClient,
) -> None:
    for path in (
        "/supported", "/discovery/resources", "/discovery/search?query=a", "/discovery/merchant",
        "/v1/errors", "/v1/openapi.json", "/v1/skills",
    ):  # fmt: skip
        answer = await send_request(client, "GET", path, {"origin": "https://page.example"})
        assert answer.status != 404, path
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


SENT: Final = (
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
)


@case("AU-038")
async def test_cross_site_request_changes_nothing(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers)
    cookie, body = {"cookie": f"__Host-fbx_sess={wallet.token}"}, b'{"name": "evil robot"}'
    path = f"{KEYS}/{made['id']}"
    requests = (("POST", KEYS), ("DELETE", path), ("POST", f"{path}/revoke"))
    for sent in SENT:
        for method, place in (*requests, ("POST", f"{path}/rotate")):
            answer = await client.request(method, place, body=body, headers=cookie | sent)
            error = answer.json()["error"]["code"]
            assert (answer.status, error) == (403, "cross_site_request"), sent
    async with database.connection() as db:
        rows = await db.fetch("SELECT id FROM api_keys WHERE revoked_at IS NULL")
    assert [row["id"] for row in rows] == [made["id"]]
