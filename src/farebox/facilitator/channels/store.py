"""Channel accounts and their leases in PostgreSQL; every function is one statement."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, LiteralString

from farebox.facilitator.channels import channel_table_store
from farebox.facilitator.channels.channel import Channel, ChannelLease, ChannelState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

_TABLE: Final[LiteralString] = "channels"
# channel c of network $1 at the moment $2: it is not leased and has no unresolved envelope
_IS_FREE: Final[LiteralString] = """
    ((c.leased_until IS NULL OR c.leased_until < $2) AND NOT EXISTS (
        SELECT FROM settlements s
        WHERE s.network = c.network AND s.source = c.address
          AND s.state IN ('sending', 'submitted')))
"""


async def lease_channels(
    db: Connection,
    network: Network,
    *,
    count: int,
    now: datetime,
    until: datetime,
    max_leased: int | None = None,
    excluded: Collection[Address] = (),
) -> list[ChannelLease]:
    """Lease up to `count` free channels until `until`; at most `max_leased` are leased together.

    Those in `excluded` are left to other replicas. A channel whose envelope is unresolved is not
    free: it is quarantined until reconciliation finalizes the row. The channels unused for longest
    are leased first. `used_sequence` is cleared until the lease is released, since a holder that
    dies may have used more numbers.
    """
    rows = await db.fetch(
        """
        WITH free AS MATERIALIZED (  -- a join might read a subquery with a limit more than once
            SELECT c.address, c.used_sequence FROM channels c
            WHERE c.network = $1 AND c.state = 'active' AND c.address <> ALL ($6::text[]) AND """
        + _IS_FREE
        + """
            ORDER BY c.lease_epoch, c.derivation_index
            LIMIT least($4, greatest(0, coalesce($5, 2147483647) - (
                SELECT count(*) FROM channels l
                WHERE l.network = $1 AND l.leased_until >= $2)))
            FOR UPDATE SKIP LOCKED
        )
        UPDATE channels
        SET lease_epoch = channels.lease_epoch + 1, leased_until = $3, used_sequence = NULL
        FROM free
        WHERE channels.network = $1 AND channels.address = free.address
        RETURNING channels.address, derivation_index, channels.lease_epoch, free.used_sequence
        """,
        network.value,
        now,
        until,
        count,
        max_leased,
        list(excluded),
    )
    return [_read_lease(row) for row in rows]


def _read_lease(row: Row) -> ChannelLease:
    return ChannelLease(
        Address(row["address"]), row["derivation_index"], row["lease_epoch"], row["used_sequence"]
    )


async def release_leases(db: Connection, network: Network, leases: Sequence[ChannelLease]) -> int:
    """Release leases and record their sequence numbers; one with an old epoch changes nothing."""
    rows = await db.fetch(
        """
        UPDATE channels SET leased_until = NULL, used_sequence = back.used_sequence
        FROM unnest($2::text[], $3::bigint[], $4::bigint[])
            AS back (address, lease_epoch, used_sequence)
        WHERE channels.network = $1 AND channels.address = back.address
          AND channels.lease_epoch = back.lease_epoch
        RETURNING channels.address
        """,
        network.value,
        [each.address for each in leases],
        [each.epoch for each in leases],
        [each.used_sequence for each in leases],
    )
    return len(rows)


async def count_active(db: Connection, network: Network) -> int:
    """Count the active channels of a network."""
    active = await db.fetchval(
        "SELECT count(*) FROM channels WHERE network = $1 AND state = 'active'", network.value
    )
    return int(active or 0)


async def list_channels(db: Connection, network: Network, *, now: datetime) -> list[Channel]:
    """List every channel of a network, retired ones too, in the order of creation."""
    rows = await db.fetch(
        """
        SELECT c.address, c.derivation_index, c.state, """
        + _IS_FREE
        + """ AS is_free
        FROM channels c WHERE c.network = $1 ORDER BY c.derivation_index
        """,
        network.value,
        now,
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
    """Invalidate every lease of a drained channel; False while it is leased or unresolved."""
    fenced = await db.fetchval(
        """
        UPDATE channels c SET lease_epoch = lease_epoch + 1, leased_until = NULL
        WHERE c.network = $1 AND c.address = $3 AND c.state = 'draining' AND """
        + _IS_FREE
        + " RETURNING true",
        network.value,
        now,
        address,
    )
    return fenced is True
