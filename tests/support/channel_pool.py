"""Channel accounts for a staged service: made on the ledger at once, known to its database."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import asyncpg
from stellar_sdk import Keypair

from farebox.facilitator.channels.channel import channel_signer
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.signers import SigningAccount, read_signers
from support.stage import Stage, own_relayer


@dataclass(frozen=True, slots=True)
class ChannelPool:
    """The settings of services that share these channels on testnet."""

    environment: dict[str, str]
    channels: tuple[SigningAccount, ...]

    def key(self, index: int) -> Keypair:
        """The key of a channel's account."""
        return Keypair.from_raw_ed25519_seed(bytes(self.channels[index].key.reveal()))


@contextlib.asynccontextmanager
async def channel_pool(stage: Stage, count: int) -> AsyncIterator[ChannelPool]:
    """`count` channels of a relayer of their own; no row of them is left afterwards."""
    environment = stage.environment | await own_relayer(stage)
    relayer = read_signers(Secret(environment["FAREBOX_RELAYER_SECRET_TESTNET"]), None).relayer
    signers = [channel_signer(relayer, Network.TESTNET, index) for index in range(count)]
    await asyncio.gather(*(stage.ledger().fund(signer.address) for signer in signers))
    db = await asyncpg.connect(environment["FAREBOX_DATABASE_URL"])
    try:
        await db.executemany(
            "INSERT INTO channels (network, address, derivation_index, created_at)"
            " VALUES ('stellar:testnet', $1, $2, $3)",
            [(signer.address, index, datetime.now(UTC)) for index, signer in enumerate(signers)],
        )
        yield ChannelPool(environment, tuple(signers))
    finally:
        await db.execute("DELETE FROM settlements")
        await db.execute("DELETE FROM channels")
        await db.close()
