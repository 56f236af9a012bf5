"""The statements that both tables of channel accounts share: settlement's and the paymaster's."""

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from farebox.facilitator.channels.channel import Channel, ChannelState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row


async def add_channels(
    db: Connection,
    table: LiteralString,
    network: Network,
    channels: Sequence[tuple[Address, int]],
    *,
    at: datetime,
) -> None:
    """Record channels that exist on the ledger; those recorded already stay unchanged."""
    await db.executemany(
        "INSERT INTO "
        + table
        + """ (network, address, derivation_index, created_at)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING
        """,
        [(network.value, address, index, at) for address, index in channels],
    )


async def change_state(
    db: Connection,
    table: LiteralString,
    network: Network,
    address: Address,
    state: ChannelState,
) -> bool:
    """Change a channel's state: active to draining, or draining to retired."""
    changed = await db.fetchval(
        "UPDATE "
        + table
        + """ SET state = $3
        WHERE network = $1 AND address = $2
          AND (state, $3) IN (('active', 'draining'), ('draining', 'retired'))
        RETURNING true
        """,
        network.value,
        address,
        state.value,
    )
    return changed is True


def read_channel(network: Network, row: Row) -> Channel:
    """Read a row with `is_free`."""
    return Channel(
        network,
        Address(row["address"]),
        row["derivation_index"],
        ChannelState(row["state"]),
        is_free=row["is_free"],
    )
