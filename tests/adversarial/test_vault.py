"""Cases of section 7 about the vault: edited rows and values out of bounds."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import combinations
from typing import Any, Final

import pytest

from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import Outage
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection, Database
from farebox.vault.sealing import AssociatedData, Sealer
from farebox.vault.stored_secret import Purpose, StoredSecret
from support.asgi import AsgiClient
from support.callers import Wallet, replica
from support.planted_secrets import find_planted
from support.promises import case
from support.vault import (
    NEW,
    OLD,
    SECRETS,
    VAULT_SETTING,
    VaultReplica,
    keys,
    new_owner,
    random_value,
    send_without_leak,
    vault_replica,
)

BOUND: Final = ("id", "owner", "purpose", "key_version", "nonce", "sealed")
Edit = Callable[[Connection, str], Awaitable[Any]]


def edit(assignment: str) -> Edit:
    return lambda db, row: db.execute(f"UPDATE vault_secrets SET {assignment} WHERE id = $1", row)


EDITS: Final = {
    "another owner": edit("owner = 'user_' || repeat('0', 32)"),
    "another purpose": edit("purpose = 'other'"),
    "the older version": edit("key_version = 1"),
    "a newer version": edit("key_version = 3"),
    "a bit of the nonce": edit("nonce = set_bit(nonce, 3, 1 - get_bit(nonce, 3))"),
    "a bit of the text": edit("sealed = set_bit(sealed, 3, 1 - get_bit(sealed, 3))"),
    "a bit of the tag": edit(
        "sealed = set_bit(sealed, length(sealed)*8-1, 1 - get_bit(sealed, length(sealed)*8-1))"
    ),
    "cut short": edit("sealed = substr(sealed, 1, length(sealed) - 1)"),
    "the tag alone": edit("sealed = substr(sealed, length(sealed) - 15)"),
    "nothing": edit("sealed = ''"),
    "more": edit("sealed = sealed || '\\x00'"),
    "the value in plain": edit("sealed = convert_to('plain', 'UTF8')"),
}


async def outcome(own: VaultReplica, owner: str, secret_id: str) -> str:
    """How opening ends: the same words and the same shape, whatever is wrong."""
    try:
        opened = await own.reader.read(OwnerId(owner), secret_id, purposes=list(Purpose))
    except Outage as outage:  # and nothing else may leave
        words = f"{outage.part}: {outage.message}: {outage.args}"
        return f"{type(outage).__name__}: {outage.__cause__}: {words}"
    return f"opened: {opened.reveal()}"


BROKEN: Final = (
    "SealBroken: None: vault: A secret cannot be opened.: ('A secret cannot be opened.',)"
)


@case("VA-001")
@pytest.mark.parametrize("name", EDITS)
async def test_edited_row_does_not_open(
    database: Database, name: str, log_text: Callable[[], str]
) -> None:
    own, value = vault_replica(database, NEW, OLD), random_value()
    secret = await own.keep(new_owner(), value)
    assert await outcome(own, secret.owner, new_id("sec")) == BROKEN
    async with database.connection() as db:
        await EDITS[name](db, secret.id)
        owner = await db.fetchval("SELECT owner FROM vault_secrets WHERE id = $1", secret.id)
    assert await outcome(own, owner, secret.id) == BROKEN, "the response does not say what is wrong"
    assert '"vault.seal_broken"' in log_text()
    assert find_planted(log_text()) == []


async def _two(own: VaultReplica) -> tuple[StoredSecret, StoredSecret]:
    made = [
        await own.keep(new_owner(), random_value(), purpose=purpose)
        for purpose in (Purpose.HEADER, Purpose.BEARER)
    ]
    return made[0], made[1]


_SWAP: Final = """
    UPDATE vault_secrets AS own SET ({columns}) = ROW({columns_of_other}) FROM kept AS other
    WHERE own.name = $1 AND other.name = $2
"""


async def swap(database: Database, first: str, second: str, columns: tuple[str, ...]) -> None:
    """Both rows have each other's values in these columns."""
    statement = _SWAP.format(
        columns=", ".join(columns), columns_of_other=", ".join(f"other.{each}" for each in columns)
    )
    async with database.transaction() as db:
        await db.execute("CREATE TEMPORARY TABLE kept ON COMMIT DROP AS TABLE vault_secrets")
        # out of the way of what must be unique
        await db.execute(
            "UPDATE vault_secrets SET id = 'away' || id, nonce = overlay(nonce PLACING"
            " substr(convert_to(name, 'UTF8'), 1, 12) FROM 1)"
        )
        for one, other in ((first, second), (second, first)):
            untouched = ", ".join(f"{c} = own.{c}" for c in ("id", "nonce") if c not in columns)
            if untouched:
                await db.execute(
                    f"UPDATE vault_secrets AS row SET {untouched} FROM kept AS own"
                    " WHERE row.name = $1 AND own.name = $1",
                    one,
                )
            await db.execute(statement, one, other)


SWAPS: Final = [chosen for count in range(1, len(BOUND)) for chosen in combinations(BOUND, count)]


@case("VA-001", "VA-003")
async def test_columns_exchanged_between_rows_do_not_open(database: Database) -> None:
    """Every choice of columns but none and all, which are the rows themselves."""
    first, second = vault_replica(database, NEW, OLD), vault_replica(database, OLD, NEW)
    one = await first.keep(new_owner(), random_value(), purpose=Purpose.HEADER, name="first secret")
    two = await second.keep(
        new_owner(), random_value(), purpose=Purpose.BEARER, name="second secret"
    )
    for columns in SWAPS:
        await swap(database, one.name, two.name, columns)
        async with database.connection() as db:
            rows = await db.fetch("SELECT id, owner FROM vault_secrets")
        for row in rows:
            ended = await outcome(first, row["owner"], row["id"])
            assert ended == BROKEN, columns
        await swap(database, one.name, two.name, columns)
    await swap(database, one.name, two.name, BOUND)
    for secret in (one, two):
        ended = await outcome(first, secret.owner, secret.id)
        assert ended.startswith("opened: "), "whole rows exchanged are the rows they were"


@case("VA-003")
async def test_value_sealed_for_another_table_does_not_open(
    database: Database,
) -> None:
    own, caller = vault_replica(database, OLD), new_owner()
    secret = await own.keep(caller, random_value())
    delegates = Sealer(keys(OLD), domain="delegate key")
    moved = delegates.seal(random_value(), AssociatedData(caller.owner, "header", secret.id))
    async with database.connection() as db:
        await db.execute(
            "UPDATE vault_secrets SET key_version = $2, nonce = $3, sealed = $4 WHERE id = $1",
            *(secret.id, moved.key_version, moved.nonce, moved.body),
        )
    assert (await outcome(own, caller.owner, secret.id)) == BROKEN


@case("VA-004")
async def test_key_under_another_version_opens_nothing(database: Database) -> None:
    secret = await vault_replica(database, OLD).keep(new_owner(), random_value())
    for entries in ((f"2:{OLD[2:]}",), (f"1:{NEW[2:]}",), (f"1:{NEW[2:]}", f"2:{OLD[2:]}")):
        ended = await outcome(vault_replica(database, *entries), secret.owner, secret.id)
        assert ended == BROKEN


@pytest.fixture
async def client(database: Database, postgres_url: Secret[str]) -> AsyncIterator[AsgiClient]:
    async with replica(postgres_url, VAULT_SETTING) as running:
        yield running


@case("VA-007")
async def test_header_value_is_bounded_and_has_no_line_break(
    client: AsgiClient, wallet: Wallet
) -> None:
    made = await send_without_leak(
        client, "POST", SECRETS, wallet.headers, {"name": "Kept", "value": random_value().reveal()}
    )
    path = f"{SECRETS}/{made.json()['id']}/rotate"
    for value, status in (
        ("", 400),
        ("x" * 16_384, 201),
        ("x" * 16_385, 400),
        ("x" * 2**20, 413),
        ("\0\x01\x02\x7f", 400),
        ("token\r\nX-Admin: 1", 400),
        ("token\n", 400),
        ("tökén", 400),
    ):
        for purpose in ("header", "bearer"):
            body = {"name": new_id("name"), "value": value, "purpose": purpose}
            answer = await send_without_leak(client, "POST", SECRETS, wallet.headers, body)
            assert answer.status == status, value[:20]
            assert len(value) < 2 or value.encode() not in answer.body, value[:20]
        answer = await send_without_leak(client, "POST", path, wallet.headers, {"value": value})
        assert answer.status == (200 if status == 201 else status), value[:20]


@case("VA-007")
async def test_other_purpose_value_is_stored_exactly(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    for value in ("\0\x01\x02\x7f", "-----BEGIN KEY-----\r\nabc\r\n", "tökén \U0001f511", " "):
        body = {"name": new_id("name"), "value": value, "purpose": "other"}
        answer = await send_without_leak(client, "POST", SECRETS, wallet.headers, body)
        assert answer.status == 201
        ended = await outcome(vault_replica(database), wallet.owner, answer.json()["id"])
        assert ended == f"opened: {value}"
    raw = b'{"name": "Raw bytes", "value": "\xff\xfe\xfd\xfc", "purpose": "other"}'
    assert (await client.post(SECRETS, raw, wallet.headers)).status == 400
