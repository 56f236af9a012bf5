"""A database in which every labelled listing was settled and listed the way of the service."""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import uuid4

from eval.labelled import Listing
from eval.listing_text import discovery_of
from farebox.catalog.discovery.reader import DirectReader
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.listing_outcome import Listed
from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.delivery.sales import OwnSales
from farebox.gateway.offers.offer import GatewayUrl
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.networks import Network
from farebox.local.postgres import EmbeddedPostgres
from farebox.search.index_store import StoredIndex
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Connection, Database
from testing.machine import RunFailed, say, scratch_folder, subfolder

SETTLED: Final = datetime(2026, 11, 1, 12, tzinfo=UTC)
_ASSET: Final = contract_address(bytes(32))


@asynccontextmanager
async def opened_database() -> AsyncIterator[Database]:
    """An empty migrated database of its own, removed at the end."""
    with (
        scratch_folder("fbx-eval-") as folder,
        EmbeddedPostgres(subfolder(folder, "postgres"), is_throwaway=True) as server,
    ):
        await migrate(server.url, packaged_migrations())
        async with Database(server.url) as database:
            yield database


async def list_all(database: Database, listings: Sequence[Listing]) -> Mapping[int, str]:
    """Every listing is in the catalog; catalog ids to the set's own.

    Raises:
        RunFailed: the rules refuse one of them.
    """
    no_gateway = OwnSales(GatewayUrl("https://gateway.invalid"))
    ingestion = Ingestion(database, StoredIndex(), DirectReader(), no_gateway)
    refused = []
    for place, listing in enumerate(listings):
        identity = PaymentIdentity(Network(listing.network), _account(listing.id), place + 1)
        async with database.connection() as db:
            await _settle(db, identity, listing, place)
        outcome = await ingestion.list(identity)
        if not isinstance(outcome, Listed):
            refused.append(f"{listing.id}: {outcome}")
    if refused:
        raise RunFailed("the catalog refuses listings of the set\n" + "\n".join(refused))
    say(f"{len(listings)} listings are in the catalog")
    return await _ids(database, listings)


async def _settle(db: Connection, identity: PaymentIdentity, listing: Listing, place: int) -> None:
    """The row of a settlement as the journal leaves it when all went well."""
    at = SETTLED + timedelta(minutes=place)
    await db.execute(
        """
        INSERT INTO settlements (
            network, payer, nonce, state, request_digest, claim_id, claimed_at, asset, amount,
            pay_to, expires_at_ledger, tx_hash, envelope, source, source_sequence, max_time,
            fee_limit, sent_after_ledger, ledger, fee_charged, finished_at, answered_at,
            max_timeout_s, discovery)
        VALUES ($1, $2, $3, 'confirmed', $4, $5, $6, $7, $8, $9, 200, $4, '', 'source', 1, $6,
                1, 100, $10, 1, $6, $6, 60, $11)
        """,
        identity.network.value,
        identity.payer,
        identity.nonce,
        _digest(listing.id),
        uuid4(),
        at,
        _ASSET,
        int(listing.amount),
        _account(listing.host),
        101 + place,
        discovery_of(listing),
    )


async def _ids(database: Database, listings: Sequence[Listing]) -> Mapping[int, str]:
    async with database.connection() as db:
        rows = await db.fetch(
            """
            SELECT l.id, s.request_digest FROM listings l
            JOIN settlements s ON s.ledger = l.settled_in_ledger
            """
        )
    names = {_digest(listing.id): listing.id for listing in listings}
    found = {int(row["id"]): names[row["request_digest"]] for row in rows}
    if len(found) != len(listings):
        raise RunFailed("two listings of the set have the same key")
    return found


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _account(text: str) -> Address:
    return account_address(_digest(text))
