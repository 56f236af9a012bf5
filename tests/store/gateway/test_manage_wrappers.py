"""Wrappers in PostgreSQL: created, changed, enabled and deleted by two replicas at once."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from farebox.audit.event import Action
from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers.manage_wrappers import (
    SlugTaken,
    TooManyWrappers,
    delete_abandoned_wrappers,
)
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper
from farebox.gateway.wrappers.wrapper_store import delete_expired_slugs
from farebox.kernel.errors import NotFound
from farebox.storage.client_quota import QuotaReached
from farebox.storage.pool import Database
from farebox.vault.stored_secret import Purpose, SecretInUse
from support.vault import new_owner, random_value, vault_replica
from support.wrappers import (
    ASSET,
    OTHER_PAY_TO,
    NoChecks,
    RecordedListings,
    change_fields,
    wrapper_fields,
    wrappers_of,
)


async def actions(database: Database, owner: str) -> list[str]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT action FROM audit_trail WHERE owner = $1", owner)
    return sorted(row["action"] for row in rows)


async def test_wrapper_is_created_disabled_and_read_back_as_it_was(database: Database) -> None:
    caller, wrappers = new_owner(), wrappers_of(database)
    created = await wrappers.create(caller, "r", wrapper_fields(), slug="city")
    assert not created.is_enabled
    assert (created.slug, created.revision) == ("city", 1)
    assert await wrappers.find(caller.owner, created.id) == created
    assert await actions(database, caller.owner) == [Action.WRAPPER_CREATED]


async def test_wrapper_of_another_owner_is_not_found(database: Database) -> None:
    caller, thief, wrappers = new_owner(), new_owner(), wrappers_of(database)
    wrapper = await wrappers.create(caller, "r", wrapper_fields())
    for use in (wrappers.enable, wrappers.disable, wrappers.delete):
        with pytest.raises(NotFound):
            await use(thief, "r", wrapper.id)
    with pytest.raises(NotFound):
        await wrappers.update(thief, "r", wrapper.id, change_fields(amount="1"))
    for wrapper_id in (wrapper.id, "wrp_", "x" * 500):
        with pytest.raises(NotFound):
            await wrappers.find(thief.owner, wrapper_id)
    assert await wrappers.page(thief.owner, after=None, limit=10) == []
    assert await actions(database, thief.owner) == []


async def test_derived_slug_gets_a_number_while_it_is_taken(database: Database) -> None:
    wrappers = wrappers_of(database)
    name = "Taken by many"
    slugs = [
        (await wrappers.create(new_owner(), "r", wrapper_fields(name=name))).slug for _ in range(3)
    ]
    assert slugs == ["taken-by-many", "taken-by-many-2", "taken-by-many-3"]
    assert await wrappers.suggest_slug(new_owner().owner, name) == ("taken-by-many-4", False)
    assert await wrappers.suggest_slug(new_owner().owner, "Unheard of") == ("unheard-of", True)


async def test_slug_of_a_deleted_wrapper_stays_its_owner_s_until_it_expires(
    database: Database,
) -> None:
    caller, thief, wrappers = new_owner(), new_owner(), wrappers_of(database)
    first = await wrappers.create(caller, "r", wrapper_fields(), slug="mine-alone")
    await wrappers.enable(caller, "r", first.id)
    await wrappers.disable(caller, "r", first.id)
    for owner in (caller, thief):
        with pytest.raises(SlugTaken):
            await wrappers.create(owner, "r", wrapper_fields(), slug="mine-alone")
    await wrappers.delete(caller, "r", first.id)
    assert await expire_slugs(database) == 0
    with pytest.raises(SlugTaken):
        await wrappers.create(thief, "r", wrapper_fields(), slug="mine-alone")
    again = await wrappers.create(caller, "r", wrapper_fields(), slug="mine-alone")
    assert again.id != first.id
    await age(database)
    assert await expire_slugs(database) == 0  # a wrapper has it again
    await wrappers.delete(caller, "r", again.id)
    await age(database)
    assert await expire_slugs(database) == 1
    assert (await wrappers.create(thief, "r", wrapper_fields(), slug="mine-alone")).slug


async def test_slug_under_which_nothing_was_enabled_is_free_with_its_wrapper(
    database: Database,
) -> None:
    caller, other, wrappers = new_owner(), new_owner(), wrappers_of(database, max_wrappers=1)
    for owner in (caller, other, caller):
        made = await wrappers.create(owner, "r", wrapper_fields(), slug="never-sold")
        await wrappers.delete(owner, "r", made.id)


async def test_held_slugs_of_deleted_wrappers_count_for_their_owner_and_client(
    database: Database,
) -> None:
    caller, wrappers = new_owner(), wrappers_of(database, max_wrappers=1)
    made = await wrappers.create(caller, "r", wrapper_fields(), slug="held-one", client="192.0.2.9")
    await wrappers.enable(caller, "r", made.id)
    await wrappers.delete(caller, "r", made.id)
    with pytest.raises(TooManyWrappers):
        await wrappers.create(caller, "r", wrapper_fields(), slug="another")
    async with database.connection() as db:
        held = await db.fetch("SELECT slug FROM wrapper_slugs WHERE client = '192.0.2.9'")
    assert [row["slug"] for row in held] == ["held-one"]


async def test_wrapper_that_was_never_enabled_nor_changed_expires_with_its_slug(
    database: Database,
) -> None:
    caller, wrappers = new_owner(), wrappers_of(database)
    names = ("abandoned", "changed", "enabled", "disabled", "young")
    made = {
        name: await wrappers.create(caller, "r", wrapper_fields(), slug=name) for name in names[:-1]
    }
    for name in names[2:4]:
        await wrappers.enable(caller, "r", made[name].id)
    await wrappers.disable(caller, "r", made["disabled"].id)
    await age(database)
    await wrappers.update(caller, "r", made["changed"].id, change_fields(amount="7"))
    await wrappers.create(caller, "r", wrapper_fields(), slug="young")
    async with database.connection() as db:
        assert await delete_abandoned_wrappers(db, kept=KEPT, limit=10) == 1
        assert await delete_abandoned_wrappers(db, kept=KEPT, limit=10) == 0
    left = await wrappers.page(caller.owner, after=None, limit=10)
    assert {each.slug for each in left} == set(names[1:])
    assert (await actions(database, caller.owner)).count(Action.WRAPPER_DELETED) == 1
    await wrappers.create(new_owner(), "r", wrapper_fields(), slug="abandoned")


KEPT = timedelta(days=90)


async def expire_slugs(database: Database) -> int:
    async with database.connection() as db:
        return await delete_expired_slugs(db, kept=KEPT, limit=10)


async def age(database: Database) -> None:
    """Every slug and wrapper is as old as what expires."""
    async with database.connection() as db:
        await db.execute(
            "UPDATE wrapper_slugs SET taken_at = taken_at - $1::interval,"
            " released_at = released_at - $1::interval",
            KEPT,
        )
        await db.execute("UPDATE wrappers SET updated_at = updated_at - $1::interval", KEPT)


@pytest.mark.parametrize("slug", ["Weather", "we\u0430ther", "a/b", "ab", "-ab", "a" * 64])
async def test_slug_in_another_spelling_is_refused(database: Database, slug: str) -> None:
    with pytest.raises(InvalidWrapper, match="slug"):
        await wrappers_of(database).create(new_owner(), "r", wrapper_fields(), slug=slug)


async def test_one_of_two_replicas_gets_a_slug(database: Database, other_pool: Database) -> None:
    replicas = [wrappers_of(database), wrappers_of(other_pool)]
    results = await asyncio.gather(
        *(each.create(new_owner(), "r", wrapper_fields(), slug="raced") for each in replicas * 4),
        return_exceptions=True,
    )
    assert sum(isinstance(each, Wrapper) for each in results) == 1
    assert sum(isinstance(each, SlugTaken) for each in results) == 7


async def test_change_is_checked_listed_and_recorded_while_the_wrapper_is_enabled(
    database: Database,
) -> None:
    caller, checks, listings = new_owner(), NoChecks(), RecordedListings()
    wrappers = wrappers_of(database, checks=checks, listings=listings)
    wrapper = await wrappers.create(caller, "r", wrapper_fields())
    assert wrapper.slug not in listings.listed
    enabled = await wrappers.enable(caller, "r", wrapper.id)
    assert listings.listed[wrapper.slug] == enabled
    assert enabled == replace(wrapper, is_enabled=True, updated_at=enabled.updated_at)
    changed = await wrappers.update(caller, "r", wrapper.id, change_fields(amount="7"))
    assert (changed.settings.terms[0].amount, changed.revision) == (7, 2)
    assert listings.listed[wrapper.slug] == changed
    await wrappers.update(caller, "r", wrapper.id, change_fields(description="Words alone."))
    assert len(checks.checked) == 3  # at creation, enabling and the change of the price
    await wrappers.disable(caller, "r", wrapper.id)
    assert wrapper.slug not in listings.listed
    await wrappers.delete(caller, "r", wrapper.id)
    assert await actions(database, caller.owner) == sorted(
        [
            Action.WRAPPER_CREATED,
            Action.WRAPPER_ENABLED,
            Action.WRAPPER_UPDATED,
            Action.WRAPPER_UPDATED,
            Action.WRAPPER_DISABLED,
            Action.WRAPPER_DELETED,
        ]
    )


async def test_change_of_a_route_s_recipient_is_checked(database: Database) -> None:
    checks = NoChecks()
    caller, wrappers = new_owner(), wrappers_of(database, checks=checks)
    wrapper = await wrappers.create(caller, "r", wrapper_fields())
    terms = {"network": "stellar:testnet", "asset": ASSET, "amount": "5", "payTo": OTHER_PAY_TO}
    route = {"method": "GET", "path": "/a", "accepts": [terms]}
    await wrappers.update(caller, "r", wrapper.id, change_fields(routes=[route]))
    assert len(checks.checked) == 2
    assert [term.pay_to for each in checks.checked[-1].routes for term in each.terms] == [
        OTHER_PAY_TO
    ]


async def test_of_two_changes_at_once_none_overwrites_the_other(
    database: Database, other_pool: Database
) -> None:
    caller = new_owner()
    wrapper = await wrappers_of(database).create(caller, "r", wrapper_fields())
    changes = [change_fields(amount=str(number)) for number in range(1, 7)]
    results = await asyncio.gather(
        *(
            wrappers_of(pool).update(caller, "r", wrapper.id, change)
            for pool, change in zip([database, other_pool] * 3, changes, strict=True)
        ),
        return_exceptions=True,
    )
    made = [each for each in results if isinstance(each, Wrapper)]
    assert made
    assert all(isinstance(each, Wrapper | InvalidWrapper) for each in results)
    stored = await wrappers_of(database).find(caller.owner, wrapper.id)
    assert stored.revision == 1 + len(made)
    assert sorted(each.revision for each in made) == list(range(2, 2 + len(made)))


async def test_secret_of_another_owner_or_for_no_header_cannot_be_referenced(
    database: Database,
) -> None:
    caller, other, wrappers = new_owner(), new_owner(), wrappers_of(database)
    vault = vault_replica(database)
    foreign = await vault.keep(other, random_value())
    unfit = await vault.keep(caller, random_value(), purpose=Purpose.OTHER)
    for secret in (foreign, unfit):
        fields = wrapper_fields(auth_type="bearer", secret_id=secret.id)
        with pytest.raises(InvalidWrapper, match="secretId"):
            await wrappers.create(caller, "r", fields)


async def test_secret_in_use_cannot_be_deleted(database: Database) -> None:
    caller, wrappers, vault = new_owner(), wrappers_of(database), vault_replica(database)
    secret = await vault.keep(caller, random_value())
    fields = wrapper_fields(auth_type="bearer", secret_id=secret.id)
    wrapper = await wrappers.create(caller, "r", fields)
    with pytest.raises(SecretInUse):
        await vault.vault.delete(caller, "r", secret.id)
    await wrappers.update(caller, "r", wrapper.id, change_fields(secret_id=None))
    await vault.vault.delete(caller, "r", secret.id)


async def test_owner_has_a_maximum_number_of_wrappers(database: Database) -> None:
    caller, wrappers = new_owner(), wrappers_of(database, max_wrappers=2)
    results = await asyncio.gather(
        *(wrappers.create(caller, "r", wrapper_fields()) for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(each, TooManyWrappers) for each in results) == 3


async def test_free_wallets_share_the_quota_of_their_client_address(database: Database) -> None:
    wrappers = wrappers_of(database)
    for _ in range(50):
        await wrappers.create(new_owner(), "r", wrapper_fields(), client="192.0.2.7")
    with pytest.raises(QuotaReached):
        await wrappers.create(new_owner(), "r", wrapper_fields(), client="192.0.2.7")
    await wrappers.create(new_owner(), "r", wrapper_fields(), client=None)


async def test_wrappers_are_listed_by_page_newest_first(database: Database) -> None:
    caller, wrappers = new_owner(), wrappers_of(database)
    made = [await wrappers.create(caller, "r", wrapper_fields()) for _ in range(5)]
    first = await wrappers.page(caller.owner, after=None, limit=3)
    rest = await wrappers.page(caller.owner, after=first[-1].place, limit=3)
    assert [*first, *rest] == made[::-1]
