"""Rotation and revocation of API keys over HTTP."""

from typing import Any

import pytest

from farebox.kernel.ids import new_id
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import (
    Wallet,
    bearer,
    create_key,
    send_request,
)
from support.key_requests import KEYS, Replicas, end_key, is_valid_key, list_keys, post_key_request
from support.promises import promise


@promise("api-key:life")
async def test_rotated_key_is_replaced_at_once(replicas: Replicas, wallet: Wallet) -> None:
    client = replicas[0]
    terms: dict[str, object] = {"scopes": ["automation"], "expiresInSeconds": 3600}
    old = await create_key(client, wallet.headers, **terms)
    answer = await send_request(client, "POST", f"{KEYS}/{old['id']}/rotate", wallet.headers)
    assert answer.status == 201
    new = answer.json()
    assert new["id"] != old["id"]
    for same in ("name", "scopes", "expiresAt"):
        assert new[same] == old[same]
    for each in replicas:
        assert not await is_valid_key(each, old["key"])
        assert await is_valid_key(each, new["key"])
    page = await list_keys(client, wallet.headers)
    assert [key["id"] for key in page["items"]] == [new["id"], old["id"]]
    assert page["items"][1]["replacedBy"] == new["id"]
    assert page["items"][1]["revokedAt"] is not None


async def test_rotated_key_works_until_overlap_ends(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    client = replicas[0]
    old = await create_key(client, wallet.headers)
    body = {"overlapSeconds": 600}
    status, new = await post_key_request(client, f"{KEYS}/{old['id']}/rotate", wallet.headers, body)
    assert status == 201
    for each in replicas:
        assert await is_valid_key(each, old["key"])
        assert await is_valid_key(each, new["key"])
    async with database.connection() as db:
        await db.execute(
            "UPDATE api_keys SET revoked_at = clock_timestamp() WHERE id = $1", old["id"]
        )
    for each in replicas:
        assert not await is_valid_key(each, old["key"])
        assert await is_valid_key(each, new["key"])


async def _rotated(client: AsgiClient, key: dict[str, Any], overlap_s: int) -> dict[str, Any]:
    """Rotate the key by itself; return the new one."""
    path, body = f"{KEYS}/{key['id']}/rotate", {"overlapSeconds": overlap_s}
    answer = await send_request(client, "POST", path, bearer(key["key"]), body)
    assert answer.status == 201
    return answer.json()


async def test_revocation_includes_successors_of_key(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    client = replicas[0]
    sibling, before = [await create_key(client, wallet.headers) for _ in range(2)]
    stolen = await _rotated(client, before, 600)
    line = [stolen, await _rotated(client, stolen, 0)]
    for _ in range(2):
        line.append(await _rotated(client, line[-1], 600))
    for key in (sibling, before, *line[1:]):
        assert await is_valid_key(client, key["key"])
    once, twice = [
        await send_request(client, "DELETE", f"{KEYS}/{stolen['id']}", wallet.headers)
        for _ in range(2)
    ]
    assert (once.status, once.json()["id"]) == (200, stolen["id"])
    assert (twice.status, twice.body) == (200, once.body)
    for each in replicas:
        assert not any([await is_valid_key(each, key["key"]) for key in line])
        for key in (sibling, before):
            assert await is_valid_key(each, key["key"])
    trail = await send_request(client, "GET", "/v1/audit?action=key.revoked", wallet.headers)
    subjects = [deed["subject"] for deed in trail.json()["items"]]
    assert subjects == [line[n]["id"] for n in (3, 2, 1)], "the first one was over before"
    path = f"{KEYS}/{line[3]['id']}/rotate"
    assert await post_key_request(client, path, wallet.headers) == (409, "key_revoked")


async def test_revoking_rotated_key_revokes_its_successor_too(
    client: AsgiClient, wallet: Wallet
) -> None:
    old = await create_key(client, wallet.headers)
    new = await _rotated(client, old, 600)
    assert await is_valid_key(client, old["key"])
    await send_request(client, "DELETE", f"{KEYS}/{old['id']}", wallet.headers)
    assert not await is_valid_key(client, old["key"])
    assert not await is_valid_key(client, new["key"])


INVALID_OVERLAPS: list[object] = [
    {"overlapSeconds": -1},
    {"overlapSeconds": 604_801},
    {"overlapSeconds": "1"},
    {"overlapSeconds": None},
    {"overlap": 1},
    [],
]


async def test_rotation_refuses_invalid_overlap(client: AsgiClient, wallet: Wallet) -> None:
    made = await create_key(client, wallet.headers)
    path = f"{KEYS}/{made['id']}/rotate"
    for body in INVALID_OVERLAPS:
        refused = await post_key_request(client, path, wallet.headers, body)
        assert refused == (400, "invalid_request"), body
    assert await is_valid_key(client, made["key"])


async def test_ended_key_is_not_rotated(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    revoked, rotated, overlapping, over = [
        await create_key(client, wallet.headers) for _ in range(4)
    ]
    await send_request(client, "DELETE", f"{KEYS}/{revoked['id']}", wallet.headers)
    await post_key_request(client, f"{KEYS}/{rotated['id']}/rotate", wallet.headers)
    body = {"overlapSeconds": 600}
    await post_key_request(client, f"{KEYS}/{overlapping['id']}/rotate", wallet.headers, body)
    await end_key(database, over["id"])
    for key in (revoked, rotated, overlapping, over):
        path = f"{KEYS}/{key['id']}/rotate"
        assert await post_key_request(client, path, wallet.headers) == (409, "key_revoked")


async def test_key_may_rotate_only_itself(client: AsgiClient, wallet: Wallet) -> None:
    every = ["read", "facilitator", "wrappers", "automation"]
    made = await create_key(client, wallet.headers, scopes=every)
    sibling = await create_key(client, wallet.headers)
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
        answer = await send_request(client, method, path, key, {} if method == "POST" else None)
        assert (answer.status, answer.json()["error"]["code"]) == (403, "session_required"), path
    status, new = await post_key_request(client, f"{KEYS}/{made['id']}/rotate", key)
    assert status == 201
    assert new["scopes"] == sorted(every)
    assert not await is_valid_key(client, made["key"])
    assert await is_valid_key(client, new["key"])
    assert await is_valid_key(client, sibling["key"])


@pytest.mark.parametrize(("method", "ending"), [("DELETE", ""), ("POST", "/revoke")])
async def test_revocation_is_idempotent(
    client: AsgiClient, wallet: Wallet, database: Database, method: str, ending: str
) -> None:
    made = await create_key(client, wallet.headers)
    answers = [
        await send_request(client, method, f"{KEYS}/{made['id']}{ending}", wallet.headers)
        for _ in range(2)
    ]
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].body == answers[1].body
    assert answers[0].json()["revokedAt"] is not None
    async with database.connection() as db:
        count = await db.fetchval("SELECT count(*) FROM audit_trail WHERE action = 'key.revoked'")
    assert count == 1
