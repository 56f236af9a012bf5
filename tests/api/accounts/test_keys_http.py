"""API keys over HTTP: creation, limits and lists."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import pytest

from farebox.accounts.api_key import MAX_INVALID, MAX_LIVE
from farebox.kernel.ids import new_id
from farebox.storage.pool import Database
from farebox.web.paging import write_cursor
from support.asgi import AsgiClient
from support.callers import (
    OPERATOR,
    OPERATOR_KEY,
    Wallet,
    bearer,
    create_key,
    send_request,
    sign_in_wallet,
)
from support.key_requests import (
    KEYS,
    Replicas,
    end_key,
    is_valid_key,
    list_keys,
    post_key_request,
)
from support.promises import promise


@promise("api-key:shown-once", "api-key:prefix", "version:v1-management")
async def test_key_is_shown_at_creation_only(client: AsgiClient, wallet: Wallet) -> None:
    answer = await send_request(client, "POST", KEYS, wallet.headers, {"name": "  Build  robot "})
    assert answer.status == 201
    assert answer.headers["cache-control"] == "no-store"
    made = answer.json()
    key = made.pop("key")
    assert re.fullmatch(r"fbx_live_[0-9A-Za-z]{32}", key)
    assert made["prefix"] == key[:13]
    assert re.fullmatch(r"key_[0-9A-Za-z]{22}", made["id"])
    assert made == {
        "id": made["id"],
        "name": "Build  robot",
        "prefix": made["prefix"],
        "scopes": ["read"],
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
        "expiresAt": None,
        "revokedAt": None,
        "lastUsedAt": None,
        "replacedBy": None,
    }
    shown = await send_request(client, "GET", KEYS, wallet.headers)
    assert shown.json() == {"items": [made], "pagination": {"limit": 20, "nextCursor": None}}
    assert key.encode() not in shown.body


@promise("api-key:hashed")
async def test_database_holds_digest_and_not_key(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers)
    rotated = await send_request(client, "POST", f"{KEYS}/{made['id']}/rotate", wallet.headers)
    async with database.connection() as db:
        rows = await db.fetch("SELECT k::text AS row FROM api_keys k")
        trail = await db.fetch("SELECT t::text AS row FROM audit_trail t")
    text = "".join(row["row"] for row in [*rows, *trail])
    for key in (made["key"], rotated.json()["key"]):
        assert key[:13] in text
        assert key[:14] not in text


async def test_key_has_given_scopes_and_expiry(client: AsgiClient, wallet: Wallet) -> None:
    given = {"scopes": ["wrappers", "facilitator", "wrappers"], "expiresInSeconds": 3600}
    made = await create_key(client, wallet.headers, **given)
    assert made["scopes"] == ["facilitator", "wrappers"]
    left = datetime.fromisoformat(made["expiresAt"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < left < timedelta(minutes=61)
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=400)
    dated = await create_key(client, wallet.headers, expiresAt=at.isoformat())
    assert datetime.fromisoformat(dated["expiresAt"]) == at


INVALID_TERMS: list[tuple[object, str]] = [
    ({}, "invalid_request"),
    (["name"], "invalid_request"),
    ({"name": 1}, "invalid_request"),
    ({"name": ""}, "invalid_request"),
    ({"name": "x"}, "invalid_name"),
    ({"name": "x" * 1000}, "invalid_request"),
    ({"name": "with\x00nul"}, "invalid_name"),
    ({"name": "robot", "owner": "user_1"}, "invalid_request"),
    ({"name": "robot", "scopes": []}, "invalid_request"),
    ({"name": "robot", "scopes": ["root"]}, "invalid_request"),
    ({"name": "robot", "scopes": ["read"] * 9}, "invalid_request"),
    ({"name": "robot", "expiresInSeconds": 59}, "invalid_request"),
    ({"name": "robot", "expiresInSeconds": 60.5}, "invalid_request"),
    ({"name": "robot", "expiresInSeconds": 10**12}, "invalid_request"),
    ({"name": "robot", "expiresAt": "2020-01-01T00:00:00Z"}, "invalid_expiry"),
    ({"name": "robot", "expiresAt": "9999-12-31T23:59:59Z"}, "invalid_expiry"),
    ({"name": "robot", "expiresAt": "9999-12-31T23:59:59-23:59"}, "invalid_expiry"),
    ({"name": "robot", "expiresAt": "0001-01-01T00:00:00+23:59"}, "invalid_expiry"),
    ({"name": "robot", "expiresAt": "2099-01-01T00:00:00"}, "invalid_request"),
    ({"name": "robot", "expiresAt": 4102444800}, "invalid_request"),
    (
        {"name": "robot", "expiresAt": "2099-01-01T00:00:00Z", "expiresInSeconds": 60},
        "invalid_expiry",
    ),
]


async def test_invalid_key_terms_are_refused(client: AsgiClient, wallet: Wallet) -> None:
    for body, code in INVALID_TERMS:
        refused = await post_key_request(client, KEYS, wallet.headers, body)
        assert refused == (400, code), body
    assert (await list_keys(client, wallet.headers))["items"] == []


NAMED: list[tuple[object, str]] = [
    ({"name": 1}, "name"),
    ({"name": "x"}, "name"),
    ({"name": "robot", "scopes": ["root"]}, "scopes[0]"),
    ({"name": "robot", "expiresInSeconds": 59}, "expiresInSeconds"),
    ({"name": "robot", "expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
]


async def test_refusal_of_key_terms_names_the_member(client: AsgiClient, wallet: Wallet) -> None:
    for body, field in NAMED:
        answer = await client.post(KEYS, body, wallet.headers)
        assert answer.json()["error"]["details"] == {"field": field}, body


MALFORMED = [b"{", b"\xff", b'"name"', b"[" * 10_000, b'{"name": "\xed\xa0"}']


async def test_key_creation_refuses_malformed_json(client: AsgiClient, wallet: Wallet) -> None:
    for body in MALFORMED:
        answer = await client.request("POST", KEYS, body=body, headers=wallet.headers)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_request"), body


@pytest.mark.parametrize("seconds", ["60.0", "6e1", "0.6e2", "60.000"])
async def test_integer_of_a_body_is_taken_however_it_is_written(
    client: AsgiClient, wallet: Wallet, seconds: str
) -> None:
    made = await create_key(client, wallet.headers)
    path, body = f"{KEYS}/{made['id']}/rotate", f'{{"overlapSeconds": {seconds}}}'.encode()
    assert (await client.post(path, body, wallet.headers)).status == 201
    again = b'{"overlapSeconds": 60.5}'
    assert (await client.post(path, again, wallet.headers)).status == 400


REPEATED = [
    b'{"name": "one", "name": "two"}',
    b'{"name": "one", "n\\u0061me": "two"}',
    b'{"name": "one", "scopes": ["read"], "scopes": ["wrappers"]}',
    b'{"name": "one", "s3cr3t": 1}',
]


async def test_member_that_is_repeated_or_unknown_is_refused_and_not_repeated(
    client: AsgiClient, wallet: Wallet
) -> None:
    for body in REPEATED:
        answer = await client.post(KEYS, body, wallet.headers)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_request"), body
        assert not {b"s3cr3t", b"two"} & set(answer.body.replace(b'"', b" ").split()), body
    assert (await list_keys(client, wallet.headers))["items"] == []


async def test_key_name_is_unique_among_live_keys(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers, name="robot")
    body = {"name": " robot "}
    assert await post_key_request(client, KEYS, wallet.headers, body) == (409, "name_taken")
    other = await sign_in_wallet(database)
    await create_key(client, other.headers, name="robot")
    await send_request(client, "DELETE", f"{KEYS}/{made['id']}", wallet.headers)
    again = await create_key(client, wallet.headers, name="robot")
    await end_key(database, again["id"])
    await create_key(client, wallet.headers, name="robot")


async def test_concurrent_creations_of_one_name_on_two_replicas_create_one_key(
    replicas: Replicas, wallet: Wallet
) -> None:
    answers = await asyncio.gather(
        *(
            post_key_request(replicas[n % 2], KEYS, wallet.headers, {"name": "robot"})
            for n in range(12)
        )
    )
    assert sorted(status for status, _ in answers) == [201] + [409] * 11


async def test_live_keys_per_owner_are_limited_under_concurrency(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    await _fill(database, wallet, live=MAX_LIVE - 3)
    answers = await asyncio.gather(
        *(
            post_key_request(replicas[n % 2], KEYS, wallet.headers, {"name": f"key {n}"})
            for n in range(8)
        )
    )
    assert sorted(status for status, _ in answers) == [201] * 3 + [409] * 5
    assert {code for status, code in answers if status == 409} == {"too_many_keys"}
    (made, *_) = [key for status, key in answers if status == 201]
    path = f"{KEYS}/{made['id']}/rotate"
    overlap = {"overlapSeconds": 60}
    assert await post_key_request(replicas[0], path, wallet.headers, overlap) == (
        409,
        "too_many_keys",
    )
    assert await is_valid_key(replicas[0], made["key"])
    status, _ = await post_key_request(replicas[0], path, wallet.headers)
    assert status == 201


async def _fill(database: Database, wallet: Wallet, *, live: int = 0, dead: int = 0) -> None:
    async with database.connection() as db:
        await db.execute(
            """
            INSERT INTO api_keys (id, owner, name, prefix, digest, grants, created_at, revoked_at)
            SELECT 'key_' || lpad(n::text, 22, '0'), $1, 'filler ' || n, 'fbx_live_0000',
                   sha256(n::text::bytea), '{read}', now() - interval '1 day' + n * interval '1 s',
                   CASE WHEN n > $2 THEN now() END
            FROM generate_series(1, $2 + $3::int) AS n
            """,
            *(wallet.owner, live, dead),
        )


async def test_newest_ended_keys_are_kept(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    await _fill(database, wallet, dead=MAX_INVALID + 20)
    await create_key(client, wallet.headers)
    async with database.connection() as db:
        names = await db.fetch("SELECT name FROM api_keys ORDER BY created_at")
    assert len(names) == MAX_INVALID + 1
    assert names[0]["name"] == "filler 21"


async def test_keys_are_listed_newest_first_without_gap_or_repetition(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    other = await sign_in_wallet(database)
    await create_key(client, other.headers)
    made = [await create_key(client, wallet.headers) for _ in range(7)]
    await send_request(client, "DELETE", f"{KEYS}/{made[2]['id']}", wallet.headers)
    found: list[str] = []
    query = "?limit=3"
    for size, goes_on in ((3, True), (3, True), (1, False)):
        page = await list_keys(client, wallet.headers, query)
        assert len(page["items"]) == size
        found += [key["id"] for key in page["items"]]
        cursor = page["pagination"]["nextCursor"]
        assert (cursor is not None) is goes_on
        query = f"?limit=3&cursor={cursor}"
    assert found == [key["id"] for key in reversed(made)]


INVALID_PAGES = [
    ("?limit=0", "invalid_limit"),
    ("?limit=-1", "invalid_limit"),
    ("?limit=a", "invalid_limit"),
    ("?cursor=AAAA", "invalid_cursor"),
    ("?cursor=%00", "invalid_cursor"),
    ("?cursor=kqExoTE", "invalid_cursor"),
    ("?cursor=" + write_cursor([0, "key_" + "\0" * 22]), "invalid_cursor"),
    ("?cursor=" + write_cursor([2**60, "key_" + "a" * 22]), "invalid_cursor"),
    ("?cursor=" + write_cursor([0, "key_" + "a" * 22, 1]), "invalid_cursor"),
    ("?" + "&".join(["a=b"] * 100), "invalid_query_string"),
]


async def test_key_list_refuses_invalid_page(client: AsgiClient, wallet: Wallet) -> None:
    for query, code in INVALID_PAGES:
        answer = await send_request(client, "GET", KEYS + query, wallet.headers)
        assert (answer.status, answer.json()["error"]["code"]) == (400, code), query


async def test_key_list_caps_large_limit(client: AsgiClient, wallet: Wallet) -> None:
    page = await list_keys(client, wallet.headers, "?limit=999999")
    assert page["pagination"]["limit"] == 100


async def test_key_changes_write_audit_events_without_secrets(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers)
    path = f"{KEYS}/{made['id']}/rotate"
    answer = await send_request(client, "POST", path, bearer(made["key"]))
    new = answer.json()
    await send_request(client, "DELETE", f"{KEYS}/{new['id']}", wallet.headers)
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT owner, actor, actor_id, action, subject FROM audit_trail ORDER BY done_at"
        )
        logged_id = await db.fetchval(
            "SELECT request_id FROM audit_trail ORDER BY done_at LIMIT 1 OFFSET 1"
        )
    session = ("session", wallet.caller.session_id)
    assert [tuple(row) for row in rows] == [
        (wallet.owner, *session, "key.created", made["id"]),
        (wallet.owner, "key", made["id"], "key.rotated", made["id"]),
        (wallet.owner, "key", made["id"], "key.created", new["id"]),
        (wallet.owner, *session, "key.revoked", new["id"]),
    ]
    assert logged_id == answer.headers["x-request-id"]


@promise("operator-key:derived-owner", "management:three-credentials")
async def test_operator_owns_its_own_keys(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    users = await create_key(client, wallet.headers)
    for headers in (bearer(OPERATOR_KEY), {"x-api-key": OPERATOR_KEY}):
        made = await create_key(client, headers)
        assert made["id"] in {key["id"] for key in (await list_keys(client, headers))["items"]}
        assert await is_valid_key(client, made["key"])
        found = await send_request(client, "DELETE", f"{KEYS}/{users['id']}", headers)
        assert found.status == 404
    async with database.connection() as db:
        owners = await db.fetch("SELECT DISTINCT owner, k::text AS row FROM api_keys k")
    assert {row["owner"] for row in owners} == {wallet.owner, OPERATOR}
    assert not any(OPERATOR_KEY in row["row"] for row in owners)


@pytest.mark.parametrize(("method", "ending"), [("DELETE", ""), ("POST", "/rotate")])
async def test_key_of_another_owner_is_not_found(
    client: AsgiClient, wallet: Wallet, database: Database, method: str, ending: str
) -> None:
    stranger = await sign_in_wallet(database)
    made = await create_key(client, wallet.headers)
    errors = set()
    for key_id in (made["id"], new_id("key"), "nonsense", "key_", "%00", "key_" + "é" * 22):
        path = f"{KEYS}/{key_id}{ending}"
        answer = await send_request(client, method, path, stranger.headers, {} if ending else None)
        error = answer.json()["error"]
        errors.add((answer.status, error["code"], error["message"]))
    assert errors == {(404, "not_found", "There is nothing at this path.")}
    assert await is_valid_key(client, made["key"])
    assert len((await list_keys(client, wallet.headers))["items"]) == 1


async def test_unsupported_method_gets_allow_header(client: AsgiClient, wallet: Wallet) -> None:
    answer = await send_request(client, "PUT", KEYS, wallet.headers)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")
