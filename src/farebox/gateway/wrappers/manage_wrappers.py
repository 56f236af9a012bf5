"""Create, list, change, enable, disable and delete the wrappers of an owner."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import islice
from typing import Final, Protocol

from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.catalog.wrapper_listing_store import WrapperListing
from farebox.gateway.wrapper import ID_KIND, Wrapper, WrapperSettings
from farebox.gateway.wrappers import wrapper_store
from farebox.gateway.wrappers.slug import alternative_slugs, derive_slug, is_slug
from farebox.gateway.wrappers.wire import WrapperFields
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper, change_settings, make_settings
from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.ids import is_id, new_id
from farebox.kernel.pages import Place
from farebox.kernel.quota import Quota
from farebox.storage.client_quota import enforce_quota
from farebox.storage.owner_lock import OwnerLocks
from farebox.storage.pool import Connection, Database

MAX_WRAPPERS: Final = 1_000  # of one owner, with the slugs that it still holds
_SLUGS_TRIED: Final = 100  # for a derived slug
_RETENTION: Final = "retention"  # the request id of events that no caller's request made


class SlugTaken(Refusal):
    """A wrapper has the slug, or another owner holds it."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.SLUG_TAKEN)


class TooManyWrappers(Refusal):
    """The owner holds the maximum number of slugs, those of deleted wrappers included."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.TOO_MANY_WRAPPERS)


class WrapperChecks(Protocol):
    """The checks of settings that need the network; no transaction is open meanwhile."""

    async def check(self, settings: WrapperSettings, caller: Caller) -> None:
        """Check upstream and recipients, as part of the caller's share.

        Raises:
            InvalidWrapper: the upstream is not public, or a recipient cannot be paid.
            Outage: it cannot be checked now.
        """
        ...


class WrapperListings(Protocol):
    """The catalog's listings of wrappers, written in the transaction of the wrapper."""

    async def prepare(self, slug: str, settings: WrapperSettings) -> Sequence[WrapperListing]:
        """Make the listings of a wrapper, one for each route and network.

        Raises:
            InvalidWrapper: the catalog does not take one of them.
            Outage: they cannot be judged now.
        """
        ...

    async def put(
        self, db: Connection, wrapper: Wrapper, listings: Sequence[WrapperListing]
    ) -> None:
        """Show exactly these listings of an enabled wrapper.

        Raises:
            Refusal: a recipient has the maximum number of listings.
        """
        ...

    async def remove(self, db: Connection, wrapper: Wrapper) -> None:
        """Remove every listing of the wrapper."""
        ...


class Wrappers:
    """The use cases of wrappers; each change and its audit event are one transaction.

    `changes` limits how often an owner changes wrappers; disabling and deleting are not limited.
    """

    def __init__(
        self,
        database: Database,
        checks: WrapperChecks,
        listings: WrapperListings,
        changes: Quota,
        *,
        max_wrappers: int = MAX_WRAPPERS,
    ) -> None:
        self._database, self._checks, self._listings = database, checks, listings
        self._max_wrappers = max_wrappers
        self._owner_locks = OwnerLocks(changes)

    async def create(
        self,
        caller: Caller,
        request_id: str,
        fields: WrapperFields,
        *,
        slug: str | None = None,
        client: str | None = None,
    ) -> Wrapper:
        """Create a disabled wrapper; without `slug` one is derived from its name.

        Raises:
            InvalidWrapper: a member breaks a rule, or the secret is not the owner's.
            SlugTaken: the slug cannot be used.
            TooManyWrappers: the owner has the maximum number.
            QuotaReached: the quota of the client address, or of all, is exhausted.
            TooManyRequests: the owner exceeded the change limit; also by `update` and `enable`.
            Outage: upstream or recipients cannot be checked now; also by `update` and `enable`.
        """
        settings = make_settings(fields)
        if slug is not None and not is_slug(slug):
            raise InvalidWrapper("slug", "It has 3 to 63 lower-case letters, digits and hyphens.")
        await self._owner_locks.count_change(caller.owner)
        await self._checks.check(settings, caller)
        wrapper_id = new_id(ID_KIND)
        async with self._owner_locks.hold(caller.owner), self._database.transaction() as db:
            await wrapper_store.lock_owner(db, caller.owner)
            if await wrapper_store.count_slugs(db, caller.owner, but=slug) >= self._max_wrappers:
                raise TooManyWrappers
            if not await wrapper_store.counts_for(db, client, slug):
                await enforce_quota(db, wrapper_store.QUOTA, client)
            await _check_secret(db, caller.owner, settings)
            names = [slug] if slug is not None else alternative_slugs(derive_slug(settings.name))
            taken = await _take_slug(db, caller.owner, names, client=client)
            wrapper = await wrapper_store.insert_wrapper(
                db, wrapper_id, caller, taken, settings, client=client
            )
            event = AuditEvent(caller, Action.WRAPPER_CREATED, wrapper_id, request_id)
            await insert_event(db, event)
        return wrapper

    async def find(self, owner: OwnerId, wrapper_id: str) -> Wrapper:
        """Find the owner's wrapper.

        Raises:
            NotFound: the owner has no such wrapper.
        """
        async with self._database.connection() as db:
            wrapper = await wrapper_store.find_wrapper(db, owner, _checked_id(wrapper_id))
        if wrapper is None:
            raise NotFound
        return wrapper

    async def find_to_check(self, owner: OwnerId, wrapper_id: str) -> Wrapper:
        """Find the owner's wrapper for a dry run, which counts as a change.

        Raises:
            NotFound: the owner has no such wrapper.
            TooManyRequests: the owner exceeded the change limit.
        """
        await self._owner_locks.count_change(owner)
        return await self.find(owner, wrapper_id)

    async def page(self, owner: OwnerId, *, after: Place | None, limit: int) -> Sequence[Wrapper]:
        """List the owner's wrappers after a position, newest first."""
        async with self._database.connection() as db:
            return await wrapper_store.list_wrappers(db, owner, after=after, limit=limit)

    async def suggest_slug(self, owner: OwnerId, name: str) -> tuple[str, bool]:
        """Derive a free slug from a name; also whether it is the name's own one.

        Raises:
            SlugTaken: the first hundred alternatives are taken.
        """
        derived = derive_slug(name)
        async with self._database.connection() as db:
            for slug in islice(alternative_slugs(derived), _SLUGS_TRIED):
                if await wrapper_store.is_slug_free(db, owner, slug):
                    return slug, slug == derived
        raise SlugTaken

    async def update(
        self, caller: Caller, request_id: str, wrapper_id: str, fields: WrapperFields
    ) -> Wrapper:
        """Change the settings of a wrapper; an enabled one is listed with the new ones at once.

        Raises:
            NotFound: the owner has no such wrapper.
            InvalidWrapper: the result breaks a rule, or the wrapper was changed meanwhile.
        """
        await self._owner_locks.count_change(caller.owner)
        known = await self.find(caller.owner, wrapper_id)
        settings = change_settings(known.settings, fields)
        listings = await self._listings.prepare(known.slug, settings)
        if _needs_checks(known.settings, settings):
            await self._checks.check(settings, caller)
        async with self._change(caller, request_id, known, Action.WRAPPER_UPDATED) as (db, locked):
            _check_revision(known, locked)
            await _check_secret(db, caller.owner, settings)
            wrapper = await wrapper_store.write_settings(
                db, locked, settings, is_established=caller.is_established
            )
            if wrapper.is_enabled:
                await self._listings.put(db, wrapper, listings)
        return wrapper

    async def enable(self, caller: Caller, request_id: str, wrapper_id: str) -> Wrapper:
        """Enable a wrapper and list it; an enabled one stays as it is.

        Raises:
            NotFound: the owner has no such wrapper.
            InvalidWrapper: its upstream or a recipient does not pass the checks any more.
            Refusal: a recipient has the maximum number of listings.
        """
        await self._owner_locks.count_change(caller.owner)
        known = await self.find(caller.owner, wrapper_id)
        await self._checks.check(known.settings, caller)
        listings = await self._listings.prepare(known.slug, known.settings)
        async with self._change(caller, request_id, known, Action.WRAPPER_ENABLED) as (db, locked):
            _check_revision(known, locked)
            wrapper = await wrapper_store.write_enabled(db, locked, is_enabled=True)
            await self._listings.put(db, wrapper, listings)
        return wrapper

    async def disable(self, caller: Caller, request_id: str, wrapper_id: str) -> Wrapper:
        """Disable a wrapper and remove its listings.

        Raises:
            NotFound: the owner has no such wrapper.
        """
        known = await self.find(caller.owner, wrapper_id)
        async with self._change(caller, request_id, known, Action.WRAPPER_DISABLED) as (db, locked):
            await self._listings.remove(db, locked)
            return await wrapper_store.write_enabled(db, locked, is_enabled=False)

    async def delete(self, caller: Caller, request_id: str, wrapper_id: str) -> None:
        """Delete a wrapper and its listings; its slug stays the owner's until it expires.

        Raises:
            NotFound: the owner has no such wrapper.
        """
        known = await self.find(caller.owner, wrapper_id)
        async with self._change(caller, request_id, known, Action.WRAPPER_DELETED) as (db, locked):
            await self._listings.remove(db, locked)
            await wrapper_store.delete_wrapper(db, locked)

    @asynccontextmanager
    async def _change(
        self, caller: Caller, request_id: str, known: Wrapper, action: Action
    ) -> AsyncIterator[tuple[Connection, Wrapper]]:
        """Lock the wrapper in a transaction that records the action."""
        async with self._owner_locks.hold(caller.owner), self._database.transaction() as db:
            locked = await wrapper_store.lock_wrapper(db, caller.owner, known.id)
            if locked is None:
                raise NotFound
            yield db, locked
            await insert_event(db, AuditEvent(caller, action, known.id, request_id))


async def delete_abandoned_wrappers(db: Connection, *, kept: timedelta, limit: int) -> int:
    """Delete wrappers that were never enabled nor changed for `kept`; return the count."""
    async with db.transaction():
        abandoned = await wrapper_store.delete_abandoned(db, kept=kept, limit=limit)
        for wrapper_id, owner in abandoned:
            caller = Caller(owner, CallerKind.SERVICE)
            event = AuditEvent(caller, Action.WRAPPER_DELETED, wrapper_id, _RETENTION)
            await insert_event(db, event)
    return len(abandoned)


def _needs_checks(before: WrapperSettings, after: WrapperSettings) -> bool:
    """Whether a change may name an upstream or a recipient that was not checked."""
    return (before.upstream, before.terms, before.routes) != (
        after.upstream, after.terms, after.routes,
    )  # fmt: skip


def _check_revision(known: Wrapper, locked: Wrapper) -> None:
    """Refuse a change whose checks were made for other settings."""
    if locked.revision != known.revision:
        raise InvalidWrapper("", "The wrapper was changed at the same time: send it again.")


async def _take_slug(
    db: Connection, owner: OwnerId, names: Iterable[str], *, client: str | None
) -> str:
    """Take the first of the names that is free."""
    for slug in islice(names, _SLUGS_TRIED):
        if await wrapper_store.take_slug(db, owner, slug, client=client):
            return slug
    raise SlugTaken


async def _check_secret(db: Connection, owner: OwnerId, settings: WrapperSettings) -> None:
    secret_id = settings.upstream.secret_id
    if secret_id is not None and not await wrapper_store.owns_secret(db, owner, secret_id):
        raise InvalidWrapper("secretId", "You have no such secret for a header.")


def _checked_id(wrapper_id: str) -> str:
    if not is_id(ID_KIND, wrapper_id):
        raise NotFound
    return wrapper_id
