"""Channel accounts and their leases in PostgreSQL; every function is one statement."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from farebox.facilitator.channels.channel import Channel, ChannelState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

# channel c of network $1, at the moment $2: nobody holds it, and it carries nothing
_IS_FREE: Final[LiteralString] = """
    ((c.leased_until IS NULL OR c.leased_until < $2) AND NOT EXISTS (
        SELECT FROM settlements s
        WHERE s.network = c.network AND s.source = c.address
          AND s.state IN ('sending', 'submitted')))
"""


@dataclass(frozen=True, slots=True)
class LeasedRow:
    """A channel that was free and is leased now."""

    address: Address
    derivation_index: int
    epoch: int
    used_sequence: int | None


@dataclass(frozen=True, slots=True)
class Returned:
    """A lease to be given back; `used_sequence` None: read it from the ledger first."""

    address: Address
    epoch: int
    used_sequence: int | None


async def lease_channels(
    db: Connection,
    network: Network,
    *,
    count: int,
    now: datetime,
    until: datetime,
    most: int | None = None,
    leaving: Collection[Address] = (),
) -> list[LeasedRow]:
    """Take up to `count` free channels until `until`; no more than `most` are leased together.

    Those of `leaving` are left to others.

    A channel whose envelope is unresolved is not free, whoever leased it: it is quarantined until
    reconciliation ends the row. The channels unused for longest go first. The number used last is
    forgotten until the channel is given back: a holder that dies has used more.
    """
    rows = await db.fetch(
        """
        UPDATE channels
        SET lease_epoch = channels.lease_epoch + 1, leased_until = $3, used_sequence = NULL
        FROM (
            SELECT c.address, c.used_sequence FROM channels c
            WHERE c.network = $1 AND c.state = 'active' AND c.address <> ALL ($6::text[]) AND """
        + _IS_FREE
        + """
            ORDER BY c.lease_epoch, c.derivation_index
            LIMIT least($4, greatest(0, coalesce($5, 2147483647) - (
                SELECT count(*) FROM channels l
                WHERE l.network = $1 AND l.leased_until >= $2)))
            FOR UPDATE SKIP LOCKED) AS free
        WHERE channels.network = $1 AND channels.address = free.address
        RETURNING channels.address, derivation_index, channels.lease_epoch, free.used_sequence
        """,
        network.value,
        now,
        until,
        count,
        most,
        list(leaving),
    )
    return [_leased(row) for row in rows]


def _leased(row: Row) -> LeasedRow:
    return LeasedRow(
        Address(row["address"]), row["derivation_index"], row["lease_epoch"], row["used_sequence"]
    )


async def release_leases(db: Connection, network: Network, given_back: Sequence[Returned]) -> int:
    """Give channels back; one whose lease had passed to somebody else stays as it is."""
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
        [each.address for each in given_back],
        [each.epoch for each in given_back],
        [each.used_sequence for each in given_back],
    )
    return len(rows)


async def count_active(db: Connection, network: Network) -> int:
    """How many channels are handed out on a network."""
    found = await db.fetchval(
        "SELECT count(*) FROM channels WHERE network = $1 AND state = 'active'", network.value
    )
    return int(found or 0)


async def list_channels(db: Connection, network: Network, *, now: datetime) -> list[Channel]:
    """Every channel of a network, retired ones too, in the order they were made."""
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
    return [
        Channel(
            network,
            Address(row["address"]),
            row["derivation_index"],
            ChannelState(row["state"]),
            is_free=row["is_free"],
        )
        for row in rows
    ]


async def add_channels(
    db: Connection, network: Network, channels: Sequence[tuple[Address, int]], *, at: datetime
) -> None:
    """Write down channels that exist on the ledger; those known already stay as they are."""
    await db.executemany(
        """
        INSERT INTO channels (network, address, derivation_index, created_at)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING
        """,
        [(network.value, address, index, at) for address, index in channels],
    )


async def change_state(
    db: Connection, network: Network, address: Address, state: ChannelState
) -> bool:
    """Move a channel on: active to draining, draining to retired."""
    changed = await db.fetchval(
        """
        UPDATE channels SET state = $3
        WHERE network = $1 AND address = $2
          AND (state, $3) IN (('active', 'draining'), ('draining', 'retired'))
        RETURNING true
        """,
        network.value,
        address,
        state.value,
    )
    return changed is True


async def fence_drained(
    db: Connection, network: Network, address: Address, *, now: datetime
) -> bool:
    """No lease of a drained channel holds any more; False while it carries something."""
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
