"""The paymaster's channel accounts in PostgreSQL: apart from those of settlement.

A run that needs a channel keeps it until the run is resolved, whichever process works on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from farebox.facilitator.channels import channel_table_store
from farebox.facilitator.channels.channel import Channel, ChannelState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

_TABLE: Final[LiteralString] = "automation_channels"


@dataclass(frozen=True, slots=True)
class RunChannel:
    """The channel of one run; `used_sequence` None must be read from the ledger."""

    address: Address
    derivation_index: int
    used_sequence: int | None


async def take_channel(
    db: Connection, network: Network, run_id: str, *, lease_epoch: int
) -> RunChannel | None:
    """Give a free channel to a run, or the one it has already; None while none is free.

    A statement that arrives late, when its sender has lost the run's lease, takes none: nobody
    would give it back. `used_sequence` is cleared until the channel is given back: a process that
    dies may have used more numbers.
    """
    row = await db.fetchrow(
        """
        WITH held AS MATERIALIZED (
            SELECT id FROM automation_runs
            WHERE id = $2 AND lease_epoch = $3 AND state IN ('claimed', 'checking', 'building')
            FOR SHARE
        ), free AS MATERIALIZED (
            SELECT address, used_sequence FROM automation_channels
            WHERE network = $1 AND sponsored_id IS NULL AND EXISTS (SELECT FROM held)
              AND (run_id = $2 OR (run_id IS NULL AND state = 'active'))
            ORDER BY run_id IS NULL, freed_at, derivation_index
            LIMIT 1 FOR UPDATE SKIP LOCKED
        )
        UPDATE automation_channels c SET run_id = $2, used_sequence = NULL
        FROM free WHERE c.network = $1 AND c.address = free.address
        RETURNING c.address, c.derivation_index, free.used_sequence
        """,
        network.value,
        run_id,
        lease_epoch,
    )
    if row is None:
        return None
    return RunChannel(Address(row["address"]), row["derivation_index"], row["used_sequence"])


async def free_channel(db: Connection, run_id: str, *, used_sequence: int | None) -> None:
    """Take a run's channel back; `used_sequence` None lets the next run read the ledger."""
    await db.execute(
        """
        UPDATE automation_channels
        SET run_id = NULL, used_sequence = $2, freed_at = clock_timestamp()
        WHERE run_id = $1
        """,
        run_id,
        used_sequence,
    )


async def free_finished(db: Connection, proposal_id: str) -> None:
    """Take back the channels of the plan's runs that are over, or wait and need none any more.

    An abandoned one keeps its own.
    """
    await db.execute(
        """
        UPDATE automation_channels c
        SET run_id = NULL, used_sequence = NULL, freed_at = clock_timestamp()
        FROM automation_runs r
        WHERE r.id = c.run_id AND r.proposal_id = $1 AND r.state <> 'abandoned'
          AND (r.finished_at IS NOT NULL OR r.channel IS NULL
               AND r.state IN ('scheduled', 'deferred', 'retry_wait'))
        """,
        proposal_id,
    )


async def count_active(db: Connection, network: Network) -> int:
    """Count the active channels of a network."""
    active = await db.fetchval(
        "SELECT count(*) FROM automation_channels WHERE network = $1 AND state = 'active'",
        network.value,
    )
    return int(active or 0)


async def list_channels(db: Connection, network: Network, *, now: datetime) -> list[Channel]:
    """List every channel of a network, retired ones too, in the order of creation."""
    del now  # a run's channel has no lease that ends
    rows = await db.fetch(
        """
        SELECT address, derivation_index, state,
               run_id IS NULL AND sponsored_id IS NULL AS is_free
        FROM automation_channels WHERE network = $1 ORDER BY derivation_index
        """,
        network.value,
    )
    return [channel_table_store.read_channel(network, row) for row in rows]


async def add_channels(
    db: Connection, network: Network, channels: Sequence[tuple[Address, int]], *, at: datetime
) -> None:
    """Record channels that exist on the ledger; those recorded already stay unchanged."""
    await channel_table_store.add_channels(db, _TABLE, network, channels, at=at)


async def change_state(
    db: Connection, network: Network, address: Address, state: ChannelState
) -> bool:
    """Change a channel's state: active to draining, or draining to retired."""
    return await channel_table_store.change_state(db, _TABLE, network, address, state)


async def fence_drained(
    db: Connection, network: Network, address: Address, *, now: datetime
) -> bool:
    """Whether a drained channel belongs to no run; none gets it any more."""
    del now
    is_idle = await db.fetchval(
        """
        SELECT true FROM automation_channels
        WHERE network = $1 AND address = $2 AND state = 'draining'
          AND run_id IS NULL AND sponsored_id IS NULL
        """,
        network.value,
        address,
    )
    return is_idle is True
