"""Channels in a database, without a ledger."""

from farebox.facilitator.channels import store as channel_store
from farebox.facilitator.channels.channel import ChannelLease, channel_signer
from farebox.facilitator.channels.channel_leases import ChannelLeases
from farebox.kernel.addresses import Address
from farebox.stellar.signers import SigningAccount
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from support.claims import NET, signed_envelope
from support.manual_clock import START, ManualClock


def envelope(source: Address) -> SentEnvelope:
    """Build an envelope with this source."""
    return signed_envelope(1, source=source, fee=1)


async def insert_channels(database: Database, relayer: SigningAccount, count: int) -> list[Address]:
    """Insert `count` channels, twice; return their addresses."""
    channels = [(channel_signer(relayer, NET, index).address, index) for index in range(count)]
    async with database.connection() as db:
        await channel_store.add_channels(db, NET, channels, at=START)
        await channel_store.add_channels(db, NET, channels, at=START)
    return [address for address, _ in channels]


def channel_leases(
    database: Database, relayer: SigningAccount, clock: ManualClock | None = None
) -> ChannelLeases:
    """Build the channel leases of one process."""
    return ChannelLeases(NET, relayer.address, database, clock or ManualClock(), lease_s=60)


async def acquire(leases: ChannelLeases, *, wait_s: float = 1) -> ChannelLease:
    """Acquire a lease with a new ticket."""
    return await leases.acquire(leases.issue_ticket("one", wait_s=wait_s))
