"""Channels as a database knows them, without any ledger."""

from farebox.facilitator.channels import store as channel_store
from farebox.facilitator.channels.channel import channel_signer
from farebox.facilitator.channels.sources import SourcePool
from farebox.kernel.addresses import Address
from farebox.stellar.signers import Relayer
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from support.claims import NET, sealed
from support.manual_clock import START, ManualClock


def envelope(source: Address) -> SentEnvelope:
    """One sealed with this source."""
    return sealed(1, source=source)


async def with_channels(database: Database, relayer: Relayer, count: int) -> list[Address]:
    """The addresses of so many channels that the database knows, told twice."""
    channels = [(channel_signer(relayer, NET, index).address, index) for index in range(count)]
    async with database.connection() as db:
        await channel_store.add_channels(db, NET, channels, at=START)
        await channel_store.add_channels(db, NET, channels, at=START)
    return [address for address, _ in channels]


def pool(database: Database, relayer: Relayer) -> SourcePool:
    """What one process leases its sources from."""
    return SourcePool(NET, relayer, database, ManualClock(), lease_s=60)
