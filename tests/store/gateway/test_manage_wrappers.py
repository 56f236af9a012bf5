"""Wrappers in PostgreSQL: created, changed, enabled and deleted by two replicas at once."""

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum

import pytest

from farebox.audit.event import Action
from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers.manage_wrappers import (
    SlugTaken,
    TooManyWrappers,
    delete_abandoned_wrappers,
)
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper
from farebox.gateway.wrappers.wrapper_store import delete_expired_slugs, release_unused_slugs
from farebox.kernel.errors import NotFound
from farebox.kernel.slots import Share
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


async def test_owner_at_the_limit_takes_a_released_slug_of_its_own_back(
    database: Database,
) -> None:
    """Controls: another slug, and the slug of a wrapper that it has."""
    caller, wrappers = new_owner(), wrappers_of(database, max_wrappers=1)
    made = await wrappers.create(caller, "r", wrapper_fields(), slug="back-again")
    await wrappers.enable(caller, "r", made.id)
    await wrappers.delete(caller, "r", made.id)
    for slug in ("something-else", None):
        with pytest.raises(TooManyWrappers):
            await wrappers.create(caller, "r", wrapper_fields(), slug=slug)
    assert (await wrappers.create(caller, "r", wrapper_fields(), slug="back-again")).slug
    with pytest.raises(SlugTaken):
        await wrappers.create(caller, "r", wrapper_fields(), slug="back-again")


async def test_site_at_its_quota_takes_a_released_slug_back_that_counts_for_it(
    database: Database,
) -> None:
    """Controls: the owner at another full site, and another owner of the full one."""
    caller, wrappers = new_owner(), wrappers_of(database)
    made = await wrappers.create(caller, "r", wrapper_fields(), slug="site-s", client="192.0.2.8")
    await wrappers.enable(caller, "r", made.id)
    await wrappers.delete(caller, "r", made.id)
    for client, count in (("192.0.2.8", 49), ("192.0.2.7", 50)):
        for _ in range(count):
            await wrappers.create(new_owner(), "r", wrapper_fields(), client=client)
    for owner, slug, client in (
        (caller, "site-s", "192.0.2.7"),
        (new_owner(), "other-s", "192.0.2.8"),
        (new_owner(), None, "192.0.2.7"),  # free wallets share the quota of their site
    ):
        with pytest.raises(QuotaReached):
            await wrappers.create(owner, "r", wrapper_fields(), slug=slug, client=client)
    await wrappers.create(new_owner(), "r", wrapper_fields(), client=None)
    again = await wrappers.create(caller, "r", wrapper_fields(), slug="site-s", client="192.0.2.8")
    assert again.slug == "site-s"


async def test_wrapper_of_an_owner_who_is_not_established_counts_for_its_site(
    database: Database,
) -> None:
    """Control: one of an established owner counts for the owner."""
    wrappers, site = wrappers_of(database), Share("192.0.2.6", is_new=True)
    for caller, client, share in (
        (replace(new_owner(), is_established=False), site.name, site),
        (known := replace(new_owner(), is_established=True), None, Share(known.owner)),
    ):
        made = await wrappers.create(caller, "r", wrapper_fields(), client=client)
        assert made.share == (await wrappers.find(caller.owner, made.id)).share == share


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


class Evidence(StrEnum):
    """What a replica of the version before leaves of a wrapper that it has enabled."""

    LISTING = """
        INSERT INTO listings (network, resource_key, pay_to, wrapper_id, type, url, extensions,
                              extension_keys, source, bound_at, listed_at, updated_at, removed_at)
        VALUES ('stellar:testnet', $1, 'G', $1, 'http', $1, '{}', '{}', 'wrapper', now(), now(),
                now(), now())"""
    PAYMENT = """
        INSERT INTO gateway_payments (network, payer, nonce, wrapper_id, owner, slug, binding,
                                      request_digest, method, path, asset, amount, pay_to, state,
                                      minute, month)
        VALUES ('stellar:testnet', $1, 1, $1, '', '', sha256(''), '', 'GET', '', '', 1, '',
                'reserved', now(), now())"""


@pytest.mark.parametrize("evidence", [*Evidence, None])
async def test_wrapper_that_an_old_replica_has_enabled_is_not_abandoned_nor_its_slug_free(
    database: Database, evidence: Evidence | None
) -> None:
    """Control: without evidence it was never enabled."""
    caller, thief, wrappers = new_owner(), new_owner(), wrappers_of(database)
    made = [await wrappers.create(caller, "r", wrapper_fields()) for _ in range(2)]
    async with database.connection() as db:
        for wrapper in made if evidence is not None else ():
            await db.execute(evidence.value, wrapper.id)  # type: ignore[union-attr]
    await wrappers.delete(caller, "r", made[0].id)
    await age(database)
    async with database.connection() as db:
        abandoned = await delete_abandoned_wrappers(db, kept=KEPT, limit=10)
    assert abandoned == (1 if evidence is None else 0)
    for wrapper in made:
        with nullcontext() if evidence is None else pytest.raises(SlugTaken):
            await wrappers.create(thief, "r", wrapper_fields(), slug=wrapper.slug)


async def test_slug_whose_wrapper_an_old_replica_has_deleted_is_released_and_expires(
    database: Database,
) -> None:
    """Control: the slug of a wrapper that is there."""
    caller, wrappers = new_owner(), wrappers_of(database)
    gone, _ = [
        await wrappers.create(caller, "r", wrapper_fields(), slug=x) for x in ("gone", "kept")
    ]
    await age(database)
    async with database.connection() as db:
        await db.execute("DELETE FROM wrappers WHERE id = $1", gone.id)
        assert await release_unused_slugs(db, limit=10) == 1
        assert await release_unused_slugs(db, limit=10) == 0
    assert await expire_slugs(database) == 0  # it was released just now, however old it is
    await age(database)
    assert await expire_slugs(database) == 1
    await wrappers.create(new_owner(), "r", wrapper_fields(), slug="gone")


async def test_released_slug_that_an_old_replica_has_taken_again_does_not_expire(
    database: Database,
) -> None:
    """Such a replica leaves `released_at`; the slugs behind it expire all the same."""
    caller, wrappers = new_owner(), wrappers_of(database)
    for slug in ("again", "released"):
        made = await wrappers.create(caller, "r", wrapper_fields(), slug=slug)
        await wrappers.enable(caller, "r", made.id)
        await wrappers.delete(caller, "r", made.id)
    await wrappers.create(caller, "r", wrapper_fields(), slug="again")
    async with database.connection() as db:
        await db.execute("UPDATE wrapper_slugs SET released_at = now() WHERE slug = 'again'")
    await age(database)
    assert await expire_slugs(database) == 1
    assert [each.slug for each in await wrappers.page(caller.owner, after=None, limit=5)] == [
        "again"
    ]


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


async def test_slug_in_another_spelling_is_refused(database: Database) -> None:
    for slug in ("Weather", "we\u0430ther", "a/b", "ab", "-ab", "a" * 64):
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


async def test_wrappers_are_listed_by_page_newest_first(database: Database) -> None:
    caller, wrappers = new_owner(), wrappers_of(database)
    made = [await wrappers.create(caller, "r", wrapper_fields()) for _ in range(5)]
    first = await wrappers.page(caller.owner, after=None, limit=3)
    rest = await wrappers.page(caller.owner, after=first[-1].place, limit=3)
    assert [*first, *rest] == made[::-1]
