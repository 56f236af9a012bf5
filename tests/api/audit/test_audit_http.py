"""The audit log over HTTP, and its retention."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from farebox.audit.audit_log import AuditLogRetention
from farebox.cli.main import command
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.web.paging import write_cursor
from support.asgi import AsgiClient
from support.callers import OPERATOR_KEY, Wallet, bearer, create_key, replica, sign_in_wallet
from support.manual_clock import ManualClock
from support.promises import case
from support.vault import SECRETS, VAULT_SETTING, create_secret, random_value, send_without_leak

AUDIT = "/v1/audit"


@pytest.fixture(scope="module")
async def shared_client(postgres_url: Secret[str]) -> AsyncIterator[AsgiClient]:
    """A replica with master keys, on whatever rows exist."""
    async with replica(postgres_url, VAULT_SETTING) as running:
        yield running


async def trail(client: AsgiClient, headers: dict[str, str], query: str = "") -> Any:
    answer = await send_without_leak(client, "GET", AUDIT + query, headers)
    assert answer.status == 200, answer.body
    return answer.json()


@case("AU-048")
async def test_audit_events_are_shown_to_their_owner_only(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    key = await create_key(client, wallet.headers, scopes=["wrappers", "read"])
    secret = await create_secret(client, wallet.headers)
    path = f"{SECRETS}/{secret['id']}"
    rotated = await send_without_leak(
        client, "POST", f"{path}/rotate", bearer(key["key"]), {"value": random_value().reveal()}
    )
    assert rotated.status == 200
    assert (await send_without_leak(client, "DELETE", path, wallet.headers)).status == 204
    events = (await trail(client, wallet.headers))["items"]
    session = ("session", wallet.caller.session_id)
    assert [(d["action"], d["subject"], (d["actor"], d["actorId"])) for d in events] == [
        ("secret.deleted", secret["id"], session),
        ("secret.rotated", secret["id"], ("key", key["id"])),
        ("secret.created", secret["id"], session),
        ("key.created", key["id"], session),
    ]
    assert all(re.fullmatch(r"[0-9a-f]{16}", deed["requestId"]) for deed in events)
    assert len({deed["requestId"] for deed in events}) == 4
    assert all(set(deed) == _MEMBERS for deed in events)
    moments = [deed["doneAt"] for deed in events]
    assert moments == sorted(moments, reverse=True)
    assert (await trail(client, bearer(key["key"])))["items"] == events, (
        "a key that reads, reads it"
    )
    stranger = await sign_in_wallet(database)
    for headers in (stranger.headers, bearer(OPERATOR_KEY)):
        assert (await trail(client, headers))["items"] == []


_MEMBERS = {"id", "action", "subject", "actor", "actorId", "requestId", "doneAt"}


async def test_command_line_actions_are_in_operators_audit_log(
    client: AsgiClient, wallet: Wallet, postgres_url: Secret[str]
) -> None:
    settings = {"FAREBOX_DATABASE_URL": postgres_url.reveal()}
    runner = CliRunner(env=settings | VAULT_SETTING)
    for arguments in (
        ["sponsor", "stop", "--network", "testnet"],
        ["sponsor", "start", "--network", "testnet"],
        ["sponsor", "status", "--network", "testnet"],  # changes nothing, leaves no trace
        ["vault", "rekey"],
    ):
        ran = await asyncio.to_thread(runner.invoke, command, arguments)
        assert ran.exit_code == 0, ran.output
    events = (await trail(client, bearer(OPERATOR_KEY)))["items"]
    assert [(d["action"], d["subject"], d["actor"], d["requestId"]) for d in events] == [
        ("vault.rekeyed", "version 1", "operator", "command"),
        ("sponsor.started", "stellar:testnet", "operator", "command"),
        ("sponsor.stopped", "stellar:testnet", "operator", "command"),
    ]
    assert (await trail(client, wallet.headers))["items"] == []


async def test_refused_or_rolled_back_action_writes_no_audit_event(
    client: AsgiClient, wallet: Wallet
) -> None:
    await create_secret(client, wallet.headers, name="Weather")
    body = {"name": "Weather", "value": random_value().reveal()}
    assert (await send_without_leak(client, "POST", SECRETS, wallet.headers, body)).status == 409
    assert len((await trail(client, wallet.headers))["items"]) == 1


async def test_audit_log_is_paged_and_filtered_by_action(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    for _ in range(3):
        await create_secret(client, wallet.headers)
    await create_key(client, wallet.headers)
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
    foreign = await trail(client, (await sign_in_wallet(database)).headers, behind)
    assert foreign["items"] == [], "a cursor opens no other owner's log"


INVALID = [
    ("?action=secret.opened", "invalid_action"),
    ("?action=", "invalid_action"),
    ("?action=secret.created&action=secret.deleted", "invalid_action"),
    ("?action=%00", "invalid_action"),
    ("?limit=0", "invalid_limit"),
    ("?cursor=", "invalid_cursor"),
    ("?cursor=AAAA", "invalid_cursor"),
    (f"?cursor={write_cursor([-1, 'evt_' + 'a' * 22])}", "invalid_cursor"),
    (f"?cursor={write_cursor([2**60, 'evt_' + 'a' * 22])}", "invalid_cursor"),
    (f"?cursor={write_cursor([1, 'evt_' + chr(0) * 22])}", "invalid_cursor"),
    (f"?cursor={write_cursor([1, 'key_' + 'a' * 22])}", "invalid_cursor"),
    (f"?cursor={write_cursor(['0001-01-01T00:00:00+14:00', 'a'])}", "invalid_cursor"),
]


async def test_audit_query_is_refused_when_invalid(client: AsgiClient, wallet: Wallet) -> None:
    for query, code in INVALID:
        answer = await send_without_leak(client, "GET", AUDIT + query, wallet.headers)
        assert (answer.status, answer.json()["error"]["code"]) == (400, code), query


async def test_audit_cursor_at_extreme_times_is_answered(
    client: AsgiClient, wallet: Wallet
) -> None:
    await create_secret(client, wallet.headers)
    for moment, count in ((0, 0), (2**53, 1)):
        cursor = write_cursor(msgspec.to_builtins([moment, "evt_" + "a" * 22]))
        page = await trail(client, wallet.headers, f"?cursor={cursor}")
        assert len(page["items"]) == count


async def test_audit_event_keeps_id_of_earlier_release(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    for _ in range(3):
        await create_secret(client, wallet.headers)
    events = (await trail(client, wallet.headers))["items"]
    assert all(re.fullmatch(r"evt_[0-9A-Za-z]{22}", event["id"]) for event in events)
    renamed = [event["id"].replace("evt_", "deed_") for event in events[:2]]
    async with database.connection() as db:
        for event, old_id in zip(events, renamed, strict=False):
            await db.execute("UPDATE audit_trail SET id = $2 WHERE id = $1", event["id"], old_id)
    listed: list[str] = []
    query = "?limit=1"
    while query:
        page = await trail(client, wallet.headers, query)
        listed += [event["id"] for event in page["items"]]
        cursor = page["pagination"]["nextCursor"]
        query = f"?limit=1&cursor={cursor}" if cursor else ""
    assert listed == [*renamed, events[2]["id"]]


async def test_audit_event_is_deleted_after_retention_period_only(
    client: AsgiClient, wallet: Wallet, database: Database, clock: ManualClock
) -> None:
    for _ in range(3):
        await create_secret(client, wallet.headers)
    oldest = (await trail(client, wallet.headers))["items"][-1]
    async with database.connection() as db:
        await db.execute(
            "UPDATE audit_trail SET done_at = done_at - interval '401 days' WHERE id = $1",
            oldest["id"],
        )
    retention = AuditLogRetention(database, clock, kept=timedelta(days=400))
    assert await retention.delete_expired() == 1
    assert await retention.delete_expired() == 0
    left = (await trail(client, wallet.headers))["items"]
    assert len(left) == 2
    assert oldest["id"] not in {deed["id"] for deed in left}
