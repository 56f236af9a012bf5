"""Personal keys over HTTP."""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from farebox.accounts.api_key import KEPT_DEAD, MOST_LIVE
from farebox.kernel.ids import new_id
from farebox.storage.pool import Database
from farebox.web.paging import write_cursor
from support.asgi import AsgiClient
from support.callers import OPERATOR, OPERATOR_KEY, Wallet, ask, bearer, made_key, signed_in
from support.promises import promise

KEYS = "/v1/api-keys"
Replicas = tuple[AsgiClient, AsgiClient]
Headers = Mapping[str, str]


async def listed(client: AsgiClient, headers: Headers, query: str = "") -> dict[str, Any]:
    answer = await ask(client, "GET", KEYS + query, headers)
    assert answer.status == 200, answer.body
    return answer.json()


async def post(
    client: AsgiClient, path: str, headers: Headers, value: object = None
) -> tuple[int, Any]:
    answer = await ask(client, "POST", path, headers, value)
    body = answer.json()
    return answer.status, body.get("error", {}).get("code", body)


async def is_taken(client: AsgiClient, key: str) -> bool:
    """Whether the key is anybody's: a key may ask for another's rotation and is told it may not."""
    answer = await ask(client, "POST", f"{KEYS}/{new_id('key')}/rotate", bearer(key))
    assert answer.status in (401, 403), answer.body
    return answer.status == 403


@promise("api-key:shown-once", "api-key:prefix", "version:v1-management")
async def test_a_key_is_shown_when_it_is_made_and_never_again(
    client: AsgiClient, wallet: Wallet
) -> None:
    answer = await ask(client, "POST", KEYS, wallet.headers, {"name": "  Build  robot "})
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
    shown = await ask(client, "GET", KEYS, wallet.headers)
    assert shown.json() == {"items": [made], "pagination": {"limit": 20, "nextCursor": None}}
    assert key.encode() not in shown.body


@promise("api-key:hashed")
async def test_the_database_has_a_digest_and_not_the_key(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await made_key(client, wallet.headers)
    rotated = await ask(client, "POST", f"{KEYS}/{made['id']}/rotate", wallet.headers)
    async with database.connection() as db:
        rows = await db.fetch("SELECT k::text AS row FROM api_keys k")
        trail = await db.fetch("SELECT t::text AS row FROM audit_trail t")
    text = "".join(row["row"] for row in [*rows, *trail])
    for key in (made["key"], rotated.json()["key"]):
        assert key[:13] in text
        assert key[:14] not in text


async def test_a_key_has_the_scopes_and_the_end_it_was_given(
    client: AsgiClient, wallet: Wallet
) -> None:
    given = {"scopes": ["wrappers", "facilitator", "wrappers"], "expiresInSeconds": 3600}
    made = await made_key(client, wallet.headers, **given)
    assert made["scopes"] == ["facilitator", "wrappers"]
    left = datetime.fromisoformat(made["expiresAt"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < left < timedelta(minutes=61)
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=400)
    dated = await made_key(client, wallet.headers, expiresAt=at.isoformat())
    assert datetime.fromisoformat(dated["expiresAt"]) == at


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_request"),
        (["name"], "invalid_request"),
        ({"name": 1}, "invalid_request"),
        ({"name": ""}, "invalid_request"),
        ({"name": "x"}, "invalid_name"),
        ({"name": "  x  "}, "invalid_name"),
        ({"name": "x" * 81}, "invalid_name"),
        ({"name": "x" * 1000}, "invalid_request"),
        ({"name": "with\x00nul"}, "invalid_name"),
        ({"name": "two\nlines"}, "invalid_name"),
        ({"name": "right\u202eleft"}, "invalid_name"),
        ({"name": "robot", "owner": "user_1"}, "invalid_request"),
        ({"name": "robot", "scopes": []}, "invalid_request"),
        ({"name": "robot", "scopes": ["root"]}, "invalid_request"),
        ({"name": "robot", "scopes": ["read"] * 9}, "invalid_request"),
        ({"name": "robot", "expiresInSeconds": 59}, "invalid_request"),
        ({"name": "robot", "expiresInSeconds": 60.0}, "invalid_request"),
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
    ],
)
async def test_terms_that_no_key_can_have_are_refused(
    client: AsgiClient, wallet: Wallet, body: object, code: str
) -> None:
    assert await post(client, KEYS, wallet.headers, body) == (400, code)
    assert (await listed(client, wallet.headers))["items"] == []


@pytest.mark.parametrize("body", [b"{", b"\xff", b'"name"', b"[" * 10_000, b'{"name": "\xed\xa0"}'])
async def test_a_body_that_is_no_json_is_refused(
    client: AsgiClient, wallet: Wallet, body: bytes
) -> None:
    answer = await client.request("POST", KEYS, body=body, headers=wallet.headers)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_request")


async def test_a_name_is_taken_as_long_as_a_live_key_has_it(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await made_key(client, wallet.headers, name="robot")
    body = {"name": " robot "}
    assert await post(client, KEYS, wallet.headers, body) == (409, "name_taken")
    other = await signed_in(database)
    await made_key(client, other.headers, name="robot")
    await ask(client, "DELETE", f"{KEYS}/{made['id']}", wallet.headers)
    again = await made_key(client, wallet.headers, name="robot")
    await _end(database, again["id"])
    await made_key(client, wallet.headers, name="robot")


async def _end(database: Database, key_id: str) -> None:
    async with database.connection() as db:
        await db.execute("UPDATE api_keys SET expires_at = clock_timestamp() WHERE id = $1", key_id)


async def test_one_name_asked_for_at_once_on_two_replicas_is_given_once(
    replicas: Replicas, wallet: Wallet
) -> None:
    told = await asyncio.gather(
        *(post(replicas[n % 2], KEYS, wallet.headers, {"name": "robot"}) for n in range(12))
    )
    assert sorted(status for status, _ in told) == [201] + [409] * 11


async def test_nobody_has_more_live_keys_than_the_limit_however_they_are_asked_for(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    await _fill(database, wallet, live=MOST_LIVE - 3)
    told = await asyncio.gather(
        *(post(replicas[n % 2], KEYS, wallet.headers, {"name": f"key {n}"}) for n in range(8))
    )
    assert sorted(status for status, _ in told) == [201] * 3 + [409] * 5
    assert {code for status, code in told if status == 409} == {"too_many_keys"}
    (made, *_) = [key for status, key in told if status == 201]
    path = f"{KEYS}/{made['id']}/rotate"
    overlap = {"overlapSeconds": 60}
    assert await post(replicas[0], path, wallet.headers, overlap) == (409, "too_many_keys")
    assert await is_taken(replicas[0], made["key"])
    status, _ = await post(replicas[0], path, wallet.headers)
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


async def test_of_the_keys_that_work_no_more_the_newest_are_kept(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    await _fill(database, wallet, dead=KEPT_DEAD + 20)
    await made_key(client, wallet.headers)
    async with database.connection() as db:
        names = await db.fetch("SELECT name FROM api_keys ORDER BY created_at")
    assert len(names) == KEPT_DEAD + 1
    assert names[0]["name"] == "filler 21"


async def test_the_list_is_walked_newest_first_without_gap_or_repetition(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    other = await signed_in(database)
    await made_key(client, other.headers)
    made = [await made_key(client, wallet.headers) for _ in range(7)]
    await ask(client, "DELETE", f"{KEYS}/{made[2]['id']}", wallet.headers)
    found: list[str] = []
    query = "?limit=3"
    for size, goes_on in ((3, True), (3, True), (1, False)):
        page = await listed(client, wallet.headers, query)
        assert len(page["items"]) == size
        found += [key["id"] for key in page["items"]]
        cursor = page["pagination"]["nextCursor"]
        assert (cursor is not None) is goes_on
        query = f"?limit=3&cursor={cursor}"
    assert found == [key["id"] for key in reversed(made)]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("?limit=0", "invalid_limit"),
        ("?limit=-1", "invalid_limit"),
        ("?limit=a", "invalid_limit"),
        ("?limit=1&limit=2", "invalid_limit"),
        ("?cursor=", "invalid_cursor"),
        ("?cursor=AAAA", "invalid_cursor"),
        ("?cursor=%00", "invalid_cursor"),
        ("?cursor=" + "A" * 5000, "invalid_cursor"),
        ("?cursor=kqExoTE", "invalid_cursor"),
        ("?cursor=" + write_cursor([0, "key_" + "\0" * 22]), "invalid_cursor"),
        ("?cursor=" + write_cursor([2**60, "key_" + "a" * 22]), "invalid_cursor"),
        ("?cursor=" + write_cursor([0, "key_" + "a" * 22, 1]), "invalid_cursor"),
        ("?" + "&".join(["a=b"] * 100), "invalid_query_string"),
    ],
)
async def test_a_page_that_is_none_is_refused(
    client: AsgiClient, wallet: Wallet, query: str, code: str
) -> None:
    answer = await ask(client, "GET", KEYS + query, wallet.headers)
    assert (answer.status, answer.json()["error"]["code"]) == (400, code)


async def test_a_large_limit_is_the_largest(client: AsgiClient, wallet: Wallet) -> None:
    page = await listed(client, wallet.headers, "?limit=999999")
    assert page["pagination"]["limit"] == 100


@promise("api-key:life")
async def test_a_rotated_key_is_replaced_at_once(replicas: Replicas, wallet: Wallet) -> None:
    client = replicas[0]
    terms: dict[str, object] = {"scopes": ["automation"], "expiresInSeconds": 3600}
    old = await made_key(client, wallet.headers, **terms)
    answer = await ask(client, "POST", f"{KEYS}/{old['id']}/rotate", wallet.headers)
    assert answer.status == 201
    new = answer.json()
    assert new["id"] != old["id"]
    for same in ("name", "scopes", "expiresAt"):
        assert new[same] == old[same]
    for each in replicas:
        assert not await is_taken(each, old["key"])
        assert await is_taken(each, new["key"])
    page = await listed(client, wallet.headers)
    assert [key["id"] for key in page["items"]] == [new["id"], old["id"]]
    assert page["items"][1]["replacedBy"] == new["id"]
    assert page["items"][1]["revokedAt"] is not None


async def test_with_an_overlap_the_old_key_works_until_it_is_over(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    client = replicas[0]
    old = await made_key(client, wallet.headers)
    body = {"overlapSeconds": 600}
    status, new = await post(client, f"{KEYS}/{old['id']}/rotate", wallet.headers, body)
    assert status == 201
    for each in replicas:
        assert await is_taken(each, old["key"])
        assert await is_taken(each, new["key"])
    async with database.connection() as db:
        await db.execute(
            "UPDATE api_keys SET revoked_at = clock_timestamp() WHERE id = $1", old["id"]
        )
    for each in replicas:
        assert not await is_taken(each, old["key"])
        assert await is_taken(each, new["key"])


async def _rotated(client: AsgiClient, key: dict[str, Any], overlap_s: int) -> dict[str, Any]:
    """What the key, or whoever has it, has made of it."""
    path, body = f"{KEYS}/{key['id']}/rotate", {"overlapSeconds": overlap_s}
    answer = await ask(client, "POST", path, bearer(key["key"]), body)
    assert answer.status == 201
    return answer.json()


async def test_what_came_of_a_key_by_rotation_is_revoked_with_it(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    client = replicas[0]
    sibling, before = [await made_key(client, wallet.headers) for _ in range(2)]
    stolen = await _rotated(client, before, 600)
    line = [stolen, await _rotated(client, stolen, 0)]
    for _ in range(2):
        line.append(await _rotated(client, line[-1], 600))
    for key in (sibling, before, *line[1:]):
        assert await is_taken(client, key["key"])
    once, twice = [
        await ask(client, "DELETE", f"{KEYS}/{stolen['id']}", wallet.headers) for _ in range(2)
    ]
    assert (once.status, once.json()["id"]) == (200, stolen["id"])
    assert (twice.status, twice.body) == (200, once.body)
    for each in replicas:
        assert not any([await is_taken(each, key["key"]) for key in line])
        for key in (sibling, before):
            assert await is_taken(each, key["key"])
    trail = await ask(client, "GET", "/v1/audit?action=key.revoked", wallet.headers)
    told = [deed["subject"] for deed in trail.json()["items"]]
    assert told == [line[n]["id"] for n in (3, 2, 1)], "the first one was over before"
    path = f"{KEYS}/{line[3]['id']}/rotate"
    assert await post(client, path, wallet.headers) == (409, "key_revoked")


async def test_an_overlap_is_not_cut_short_without_what_came_of_the_key(
    client: AsgiClient, wallet: Wallet
) -> None:
    old = await made_key(client, wallet.headers)
    new = await _rotated(client, old, 600)
    assert await is_taken(client, old["key"])
    await ask(client, "DELETE", f"{KEYS}/{old['id']}", wallet.headers)
    assert not await is_taken(client, old["key"])
    assert not await is_taken(client, new["key"])


@pytest.mark.parametrize(
    "body",
    [
        {"overlapSeconds": -1},
        {"overlapSeconds": 604_801},
        {"overlapSeconds": "1"},
        {"overlapSeconds": None},
        {"overlap": 1},
        [],
    ],
)
async def test_an_overlap_that_is_none_is_refused(
    client: AsgiClient, wallet: Wallet, body: object
) -> None:
    made = await made_key(client, wallet.headers)
    path = f"{KEYS}/{made['id']}/rotate"
    assert await post(client, path, wallet.headers, body) == (400, "invalid_request")
    assert await is_taken(client, made["key"])


async def test_a_key_that_works_no_more_is_not_rotated(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    revoked, rotated, overlapping, over = [await made_key(client, wallet.headers) for _ in range(4)]
    await ask(client, "DELETE", f"{KEYS}/{revoked['id']}", wallet.headers)
    await post(client, f"{KEYS}/{rotated['id']}/rotate", wallet.headers)
    body = {"overlapSeconds": 600}
    await post(client, f"{KEYS}/{overlapping['id']}/rotate", wallet.headers, body)
    await _end(database, over["id"])
    for key in (revoked, rotated, overlapping, over):
        path = f"{KEYS}/{key['id']}/rotate"
        assert await post(client, path, wallet.headers) == (409, "key_revoked")


async def test_a_key_may_rotate_itself_and_nothing_else(client: AsgiClient, wallet: Wallet) -> None:
    every = ["read", "facilitator", "wrappers", "automation"]
    made = await made_key(client, wallet.headers, scopes=every)
    sibling = await made_key(client, wallet.headers)
    key = bearer(made["key"])
    for method, path in (
        ("GET", KEYS),
        ("POST", KEYS),
        ("POST", f"{KEYS}/{sibling['id']}/rotate"),
        ("POST", f"{KEYS}/{new_id('key')}/rotate"),
        ("POST", f"{KEYS}/nonsense/rotate"),
        ("DELETE", f"{KEYS}/{sibling['id']}"),
        ("DELETE", f"{KEYS}/{made['id']}"),
        ("POST", f"{KEYS}/{made['id']}/revoke"),
    ):
        answer = await ask(client, method, path, key, {} if method == "POST" else None)
        assert (answer.status, answer.json()["error"]["code"]) == (403, "session_required"), path
    status, new = await post(client, f"{KEYS}/{made['id']}/rotate", key)
    assert status == 201
    assert new["scopes"] == sorted(every)
    assert not await is_taken(client, made["key"])
    assert await is_taken(client, new["key"])
    assert await is_taken(client, sibling["key"])


@pytest.mark.parametrize(("method", "ending"), [("DELETE", ""), ("POST", "/revoke")])
async def test_revoking_twice_is_as_good_as_once(
    client: AsgiClient, wallet: Wallet, database: Database, method: str, ending: str
) -> None:
    made = await made_key(client, wallet.headers)
    answers = [
        await ask(client, method, f"{KEYS}/{made['id']}{ending}", wallet.headers) for _ in range(2)
    ]
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].body == answers[1].body
    assert answers[0].json()["revokedAt"] is not None
    async with database.connection() as db:
        count = await db.fetchval("SELECT count(*) FROM audit_trail WHERE action = 'key.revoked'")
    assert count == 1


async def test_every_change_leaves_its_trace_and_nothing_secret(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await made_key(client, wallet.headers)
    path = f"{KEYS}/{made['id']}/rotate"
    answer = await ask(client, "POST", path, bearer(made["key"]))
    new = answer.json()
    await ask(client, "DELETE", f"{KEYS}/{new['id']}", wallet.headers)
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT owner, actor, actor_id, action, subject FROM audit_trail ORDER BY done_at"
        )
        told = await db.fetchval(
            "SELECT request_id FROM audit_trail ORDER BY done_at LIMIT 1 OFFSET 1"
        )
    session = ("session", wallet.caller.session_id)
    assert [tuple(row) for row in rows] == [
        (wallet.owner, *session, "key.created", made["id"]),
        (wallet.owner, "key", made["id"], "key.rotated", made["id"]),
        (wallet.owner, "key", made["id"], "key.created", new["id"]),
        (wallet.owner, *session, "key.revoked", new["id"]),
    ]
    assert told == answer.headers["x-request-id"]


@promise("operator-key:derived-owner", "management:three-credentials")
async def test_the_operator_has_keys_of_its_own(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    users = await made_key(client, wallet.headers)
    for headers in (bearer(OPERATOR_KEY), {"x-api-key": OPERATOR_KEY}):
        made = await made_key(client, headers)
        assert made["id"] in {key["id"] for key in (await listed(client, headers))["items"]}
        assert await is_taken(client, made["key"])
        found = await ask(client, "DELETE", f"{KEYS}/{users['id']}", headers)
        assert found.status == 404
    async with database.connection() as db:
        owners = await db.fetch("SELECT DISTINCT owner, k::text AS row FROM api_keys k")
    assert {row["owner"] for row in owners} == {wallet.owner, OPERATOR}
    assert not any(OPERATOR_KEY in row["row"] for row in owners)


@pytest.mark.parametrize(("method", "ending"), [("DELETE", ""), ("POST", "/rotate")])
async def test_somebody_elses_key_is_not_there(
    client: AsgiClient, wallet: Wallet, database: Database, method: str, ending: str
) -> None:
    stranger = await signed_in(database)
    made = await made_key(client, wallet.headers)
    told = set()
    for key_id in (made["id"], new_id("key"), "nonsense", "key_", "%00", "key_" + "é" * 22):
        path = f"{KEYS}/{key_id}{ending}"
        answer = await ask(client, method, path, stranger.headers, {} if ending else None)
        error = answer.json()["error"]
        told.add((answer.status, error["code"], error["message"]))
    assert told == {(404, "not_found", "There is nothing at this path.")}
    assert await is_taken(client, made["key"])
    assert len((await listed(client, wallet.headers))["items"]) == 1


async def test_a_method_no_route_takes_is_told_those_that_are(
    client: AsgiClient, wallet: Wallet
) -> None:
    answer = await ask(client, "PUT", KEYS, wallet.headers)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")
