"""The trail of management actions over HTTP, and how long it is kept."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from farebox.audit.forget import Forgetting
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.web.paging import write_cursor
from support.asgi import AsgiClient
from support.callers import OPERATOR_KEY, Wallet, bearer, made_key, replica, signed_in
from support.manual_clock import ManualClock
from support.promises import case
from support.vault import SECRETS, VAULT_SETTING, a_value, kept, quietly

AUDIT = "/v1/audit"


@pytest.fixture
async def client(database: Database, postgres_url: Secret[str]) -> AsyncIterator[AsgiClient]:
    async with replica(postgres_url, VAULT_SETTING) as running:
        yield running


async def trail(client: AsgiClient, headers: dict[str, str], query: str = "") -> Any:
    answer = await quietly(client, "GET", AUDIT + query, headers)
    assert answer.status == 200, answer.body
    return answer.json()


@case("AU-048")
async def test_who_did_what_to_which_record_is_told_to_its_owner_alone(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    key = await made_key(client, wallet.headers, scopes=["wrappers", "read"])
    secret = await kept(client, wallet.headers)
    path = f"{SECRETS}/{secret['id']}"
    rotated = await quietly(
        client, "POST", f"{path}/rotate", bearer(key["key"]), {"value": a_value().reveal()}
    )
    assert rotated.status == 200
    assert (await quietly(client, "DELETE", path, wallet.headers)).status == 204
    told = (await trail(client, wallet.headers))["items"]
    session = ("session", wallet.caller.session_id)
    assert [(d["action"], d["subject"], (d["actor"], d["actorId"])) for d in told] == [
        ("secret.deleted", secret["id"], session),
        ("secret.rotated", secret["id"], ("key", key["id"])),
        ("secret.created", secret["id"], session),
        ("key.created", key["id"], session),
    ]
    assert all(re.fullmatch(r"[0-9a-f]{16}", deed["requestId"]) for deed in told)
    assert len({deed["requestId"] for deed in told}) == 4
    assert all(set(deed) == _MEMBERS for deed in told)
    moments = [deed["doneAt"] for deed in told]
    assert moments == sorted(moments, reverse=True)
    assert (await trail(client, bearer(key["key"])))["items"] == told, "a key that reads, reads it"
    stranger = await signed_in(database)
    for headers in (stranger.headers, bearer(OPERATOR_KEY)):
        assert (await trail(client, headers))["items"] == []


_MEMBERS = {"id", "action", "subject", "actor", "actorId", "requestId", "doneAt"}


async def test_what_was_refused_or_undone_leaves_no_trace(
    client: AsgiClient, wallet: Wallet
) -> None:
    await kept(client, wallet.headers, name="Weather")
    body = {"name": "Weather", "value": a_value().reveal()}
    assert (await quietly(client, "POST", SECRETS, wallet.headers, body)).status == 409
    assert len((await trail(client, wallet.headers))["items"]) == 1


async def test_the_trail_is_walked_by_pages_and_by_kind(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    for _ in range(3):
        await kept(client, wallet.headers)
    await made_key(client, wallet.headers)
    everything = (await trail(client, wallet.headers))["items"]
    walked: list[Any] = []
    query = "?limit=1"
    while query:
        page = await trail(client, wallet.headers, query)
        walked += page["items"]
        cursor = page["pagination"]["nextCursor"]
        query = f"?limit=1&cursor={cursor}" if cursor else ""
    assert walked == everything
    made = await trail(client, wallet.headers, "?action=secret.created&limit=2")
    assert [deed["action"] for deed in made["items"]] == ["secret.created"] * 2
    behind = f"?action=secret.created&limit=2&cursor={made['pagination']['nextCursor']}"
    rest = await trail(client, wallet.headers, behind)
    assert [deed["id"] for deed in made["items"] + rest["items"]] == [
        deed["id"] for deed in everything if deed["action"] == "secret.created"
    ]
    assert rest["pagination"]["nextCursor"] is None
    foreign = await trail(client, (await signed_in(database)).headers, behind)
    assert foreign["items"] == [], "a cursor opens nobody else's trail"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("?action=secret.opened", "invalid_action"),
        ("?action=", "invalid_action"),
        ("?action=secret.created&action=secret.deleted", "invalid_action"),
        ("?action=%00", "invalid_action"),
        ("?limit=0", "invalid_limit"),
        ("?cursor=", "invalid_cursor"),
        ("?cursor=AAAA", "invalid_cursor"),
        (f"?cursor={write_cursor([-1, 'deed_' + 'a' * 22])}", "invalid_cursor"),
        (f"?cursor={write_cursor([2**60, 'deed_' + 'a' * 22])}", "invalid_cursor"),
        (f"?cursor={write_cursor([1, 'deed_' + chr(0) * 22])}", "invalid_cursor"),
        (f"?cursor={write_cursor(['0001-01-01T00:00:00+14:00', 'a'])}", "invalid_cursor"),
    ],
)
async def test_a_query_that_cannot_be_obeyed_is_refused(
    client: AsgiClient, wallet: Wallet, query: str, code: str
) -> None:
    answer = await quietly(client, "GET", AUDIT + query, wallet.headers)
    assert (answer.status, answer.json()["error"]["code"]) == (400, code)


async def test_the_farthest_moments_a_cursor_can_name_are_answered(
    client: AsgiClient, wallet: Wallet
) -> None:
    await kept(client, wallet.headers)
    for moment, count in ((0, 0), (2**53, 1)):
        cursor = write_cursor(msgspec.to_builtins([moment, "deed_" + "a" * 22]))
        page = await trail(client, wallet.headers, f"?cursor={cursor}")
        assert len(page["items"]) == count


async def test_a_deed_is_forgotten_once_it_is_old_enough_and_no_sooner(
    client: AsgiClient, wallet: Wallet, database: Database, clock: ManualClock
) -> None:
    for _ in range(3):
        await kept(client, wallet.headers)
    oldest = (await trail(client, wallet.headers))["items"][-1]
    async with database.connection() as db:
        await db.execute(
            "UPDATE audit_trail SET done_at = done_at - interval '401 days' WHERE id = $1",
            oldest["id"],
        )
    forgetting = Forgetting(database, clock, kept=timedelta(days=400))
    assert await forgetting.forget() == 1
    assert await forgetting.forget() == 0
    left = (await trail(client, wallet.headers))["items"]
    assert len(left) == 2
    assert oldest["id"] not in {deed["id"] for deed in left}
