"""The wrappers that the origin documents are made of: owners divide the limits."""

import threading
from collections.abc import Sequence

import pytest

from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers import wrapper_store
from farebox.gateway.wrappers.wrapper_store import list_enabled
from farebox.kernel.slots import Share
from farebox.storage.pool import Database, Row
from support.vault import new_owner
from support.wrappers import wrapper_fields, wrappers_of

HOSTILE = tuple(f"hostile {number}" for number in range(5))
MANY = 1_000_000


async def insert(
    database: Database,
    owner: str,
    count: int,
    *,
    site: str | None = None,
    description: str = "",
) -> None:
    """Insert enabled wrappers of an owner, each newer than all before; new ones of a site."""
    caller, wrappers = new_owner(), wrappers_of(database)
    made = await wrappers.create(caller, "r", wrapper_fields(description=description))
    async with database.connection() as db:
        await db.execute(
            "INSERT INTO wrapper_slugs (slug, owner)"
            " SELECT 's' || md5($1) || i, $1 FROM generate_series(1, $2::int) i",
            owner,
            count,
        )
        await db.execute(
            """
            INSERT INTO wrappers (id, owner, slug, settings, is_established, is_enabled, client)
            SELECT 'wrp_' || md5($1) || i, $1, 's' || md5($1) || i, settings, $3::text IS NULL,
                   true, $3
            FROM wrappers, generate_series(1, $2::int) i WHERE id = $4
            """,
            owner,
            count,
            site,
            made.id,
        )


async def listed(
    database: Database, *, limit: int = 100, limit_bytes: int = MANY
) -> tuple[Sequence[Share], bool]:
    """List the shares of the wrappers, and check the order of these."""
    async with database.connection() as db:
        wrappers, is_cut = await list_enabled(db, limit=limit, limit_bytes=limit_bytes)
    moments = [each.updated_at for each in wrappers]
    assert moments == sorted(moments, reverse=True)
    return [each.share for each in wrappers], is_cut


async def test_owners_with_many_wrappers_leave_those_of_others_their_places(
    database: Database,
) -> None:
    await insert(database, "honest", 15)
    for owner in HOSTILE:
        await insert(database, owner, 100)
    shares, is_cut = await listed(database)
    assert is_cut
    assert len(shares) == 100
    assert {owner: shares.count(Share(owner)) for owner in ("honest", *HOSTILE)} == {
        "honest": 15, **dict.fromkeys(HOSTILE, 17),
    }  # fmt: skip


async def test_owners_with_long_settings_leave_those_of_others_their_bytes(
    database: Database,
) -> None:
    await insert(database, "honest", 10)
    for owner in HOSTILE:
        await insert(database, owner, 15, description="x" * 500)
    shares, is_cut = await listed(database, limit_bytes=60_000)
    assert is_cut
    assert shares.count(Share("honest")) == 10
    assert all(1 < shares.count(Share(owner)) < 10 for owner in HOSTILE)


async def test_new_owners_have_what_one_has_and_their_sites_divide_it(database: Database) -> None:
    await insert(database, "new of a small site", 3, site="192.0.2.9")
    await insert(database, "established", 100)
    for site in range(5):
        await insert(database, f"new {site}", 50, site=f"192.0.2.{site}")
    shares, is_cut = await listed(database)
    assert is_cut
    assert shares.count(Share("established")) == 50
    assert shares.count(Share("192.0.2.9", is_new=True)) == 3
    assert all(9 <= shares.count(Share(f"192.0.2.{n}", is_new=True)) <= 10 for n in range(5))


async def test_all_wrappers_are_listed_where_they_fit(database: Database) -> None:
    assert await listed(database) == ([], False)
    await insert(database, "one", 3)
    await insert(database, "other", 97)
    shares, is_cut = await listed(database)
    assert (shares.count(Share("one")), len(shares), is_cut) == (3, 100, False)


async def test_settings_are_decoded_off_the_event_loop(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of 1,000 wrappers with 32 routes take half a second."""
    threads = set[int]()
    read = wrapper_store._read

    def recorded(row: Row) -> Wrapper:
        threads.add(threading.get_ident())
        return read(row)

    await insert(database, "one", 3)
    monkeypatch.setattr(wrapper_store, "_read", recorded)
    await listed(database)
    assert threads
    assert threading.get_ident() not in threads
