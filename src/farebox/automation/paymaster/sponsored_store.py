"""What the paymaster sends besides runs, in PostgreSQL: rows, and the channels that they hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum

from farebox.automation.paymaster import budget_store
from farebox.automation.paymaster.budget_store import AutomationBudgets, RunCharge, SpendScope
from farebox.automation.paymaster.channel_store import RunChannel
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection, Row
from farebox.submission.fate import SentEnvelope


class SponsoredPurpose(StrEnum):
    """What is sent."""

    INSTALL = "install"
    CLOSE = "close"


class SponsoredOutcome(StrEnum):
    """The outcome of a row."""

    TAKEN = "taken"  # it has a channel, and nothing is signed
    PREPARED = "prepared"  # it may be with the network
    SUCCESS = "success"
    FAILED = "failed"
    DEAD = "dead"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SponsoredRow:
    """One row; `sent` is without the envelope's bytes, None while nothing is signed.

    `is_prepaid`: its fee is reserved from what its plan was charged for the setup. `is_new_owner`
    is None where its fee is no loss, whoever its owner is.
    """

    id: str
    proposal_id: str
    purpose: SponsoredPurpose
    network: Network
    owner: OwnerId
    outcome: SponsoredOutcome
    budget_on: date | None = None
    sent: SentEnvelope | None = None
    is_prepaid: bool = False
    is_new_owner: bool | None = None

    def charge(self) -> RunCharge:
        """What is reserved for its envelope.

        Raises:
            ValueError: nothing is signed.
        """
        if self.sent is None or self.budget_on is None:
            raise ValueError("nothing is signed")
        limit, is_new = self.sent.fee_limit, self.is_new_owner
        return RunCharge(self.network, self.owner, self.budget_on, limit, is_new_owner=is_new)


class RowLost(Exception):
    """A row was ended by another process, which took it for a lost one."""


async def add_row(db: Connection, row: SponsoredRow) -> RunChannel | None:
    """Insert a row that takes a free channel; None where none is free. Call it in a transaction.

    Raises:
        Conflict: the plan has such a row that is open.
    """
    await db.execute(
        """
        INSERT INTO automation_sponsored (id, proposal_id, purpose, network, owner)
        VALUES ($1, $2, $3, $4, $5)
        """,
        row.id,
        row.proposal_id,
        row.purpose.value,
        row.network.value,
        row.owner,
    )
    taken = await db.fetchrow(
        """
        WITH free AS MATERIALIZED (
            SELECT address, used_sequence FROM automation_channels
            WHERE network = $1 AND run_id IS NULL AND sponsored_id IS NULL AND state = 'active'
            ORDER BY freed_at, derivation_index LIMIT 1 FOR UPDATE SKIP LOCKED
        )
        UPDATE automation_channels c SET sponsored_id = $2, used_sequence = NULL
        FROM free WHERE c.network = $1 AND c.address = free.address
        RETURNING c.address, c.derivation_index, free.used_sequence
        """,
        row.network.value,
        row.id,
    )
    if taken is None:
        return None
    return RunChannel(Address(taken["address"]), taken["derivation_index"], taken["used_sequence"])


async def lock_installs(db: Connection, owner: OwnerId) -> None:
    """Wait for the other installations of an owner that are being taken, until the commit."""
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 36))", owner)


async def count_installs(db: Connection, row: SponsoredRow) -> tuple[int, int]:
    """The installations of the plan and of its owner in this UTC day, on this network.

    A dead one was never on the ledger, and cost nothing.
    """
    counted = await db.fetchrow(
        """
        SELECT count(*) FILTER (WHERE proposal_id = $3) AS of_plan, count(*) AS of_owner
        FROM automation_sponsored
        WHERE owner = $1 AND network = $2 AND purpose = 'install' AND outcome <> 'dead'
            AND created_at >= date_trunc('day', clock_timestamp(), 'UTC')
        """,
        row.owner,
        row.network.value,
        row.proposal_id,
    )
    return (0, 0) if counted is None else (counted["of_plan"], counted["of_owner"])


async def record_sent(
    db: Connection, row: SponsoredRow, budgets: AutomationBudgets
) -> SpendScope | None:
    """Record the envelope before the network sees it, and reserve its fee.

    Returns the budget that is used up; then the caller rolls its transaction back.

    Raises:
        RowLost: the row was ended meanwhile, and its channel is another one's.
    """
    sent, budget_on = row.sent, row.budget_on
    if sent is None or budget_on is None:
        raise ValueError("nothing is signed")
    recorded = await db.fetchval(
        """
        UPDATE automation_sponsored
        SET outcome = 'prepared', tx_hash = $2, inner_hash = $3, source = $4, source_sequence = $5,
            max_time = $6, sent_after_ledger = $7, fee_limit = $8, budget_on = $9,
            is_prepaid = $10, is_new_owner = $11
        WHERE id = $1 AND outcome = 'taken' RETURNING true
        """,
        row.id,
        sent.tx_hash,
        sent.inner_hash,
        sent.source,
        sent.source_sequence,
        sent.max_time,
        sent.sent_after_ledger,
        sent.fee_limit,
        budget_on,
        row.is_prepaid,
        row.is_new_owner,
    )
    if recorded is None:
        raise RowLost
    return await budget_store.reserve(db, row.charge(), budgets)


async def finish_row(
    db: Connection,
    row: SponsoredRow,
    outcome: SponsoredOutcome,
    *,
    fee_charged: Stroops = NO_STROOPS,
) -> bool:
    """Record the outcome of an open row, free its channel, and give back what it did not cost.

    Call it in a transaction. False where another process was first.
    """
    ended = await db.fetchval(
        """
        UPDATE automation_sponsored
        SET outcome = $2, fee_charged = $3, finished_at = clock_timestamp()
        WHERE id = $1 AND finished_at IS NULL RETURNING true
        """,
        row.id,
        outcome.value,
        fee_charged,
    )
    if ended is None:
        return False
    landed = outcome in (SponsoredOutcome.SUCCESS, SponsoredOutcome.FAILED)
    used = row.sent.source_sequence if landed and row.sent is not None else None
    await _free_channel(db, row.id, used_sequence=used)
    is_recorded = row.sent is not None and row.budget_on is not None
    if is_recorded and outcome is not SponsoredOutcome.UNKNOWN:
        await budget_store.give_back(db, row.charge(), cost=fee_charged, loss=fee_charged)
    return True


async def end_unsigned(db: Connection, row: SponsoredRow) -> bool:
    """End an open row of which nothing is signed, and free its channel. Call it in a transaction.

    False where its process has signed meanwhile, or the row is ended.
    """
    ended = await db.fetchval(
        """
        UPDATE automation_sponsored SET outcome = 'dead', finished_at = clock_timestamp()
        WHERE id = $1 AND outcome = 'taken' RETURNING true
        """,
        row.id,
    )
    if ended is None:
        return False
    await _free_channel(db, row.id, used_sequence=None)
    return True


async def _free_channel(db: Connection, row_id: str, *, used_sequence: int | None) -> None:
    await db.execute(
        """
        UPDATE automation_channels
        SET sponsored_id = NULL, used_sequence = $2, freed_at = clock_timestamp()
        WHERE sponsored_id = $1
        """,
        row_id,
        used_sequence,
    )


async def find_row(db: Connection, row_id: str) -> SponsoredRow | None:
    """The row of an id, with what was recorded for it."""
    row = await db.fetchrow("SELECT * FROM automation_sponsored WHERE id = $1", row_id)
    return None if row is None else _read(row)


async def find_by_hash(db: Connection, tx_hash: bytes) -> SponsoredRow | None:
    """The row of an envelope, by its outer or inner hash."""
    row = await db.fetchrow(
        "SELECT * FROM automation_sponsored WHERE tx_hash = $1 OR inner_hash = $1", tx_hash
    )
    return None if row is None else _read(row)


async def find_open(
    db: Connection, proposal_id: str, purpose: SponsoredPurpose
) -> SponsoredRow | None:
    """The plan's row of a purpose that is under way."""
    row = await db.fetchrow(
        """
        SELECT * FROM automation_sponsored
        WHERE proposal_id = $1 AND purpose = $2 AND finished_at IS NULL
        """,
        proposal_id,
        purpose.value,
    )
    return None if row is None else _read(row)


async def has_landed(db: Connection, proposal_id: str, purpose: SponsoredPurpose) -> bool:
    """Whether what was sent for the plan with this purpose is on the ledger, and succeeded."""
    found: bool = await db.fetchval(
        """
        SELECT EXISTS (SELECT FROM automation_sponsored
                       WHERE proposal_id = $1 AND purpose = $2 AND outcome = 'success')
        """,
        proposal_id,
        purpose.value,
    )
    return found


async def is_installing(db: Connection, proposal_id: str) -> bool:
    """Whether an installation of the plan may be with the network."""
    found: bool = await db.fetchval(
        """
        SELECT EXISTS (SELECT FROM automation_sponsored
                       WHERE proposal_id = $1 AND purpose = 'install' AND outcome = 'prepared')
        """,
        proposal_id,
    )
    return found


async def list_lost(
    db: Connection, network: Network, *, before: datetime, after: str, limit: int
) -> Sequence[SponsoredRow]:
    """Rows that are open since a time: their process has ended, or the network has not answered.

    In the order of ids; `after` is the last id of the list before, empty for the first.
    """
    rows = await db.fetch(
        """
        SELECT * FROM automation_sponsored
        WHERE network = $1 AND finished_at IS NULL AND created_at < $2 AND id > $3
        ORDER BY id LIMIT $4
        """,
        network.value,
        before,
        after,
        limit,
    )
    return [_read(row) for row in rows]


def _read(row: Row) -> SponsoredRow:
    found = SponsoredRow(
        id=row["id"],
        proposal_id=row["proposal_id"],
        purpose=SponsoredPurpose(row["purpose"]),
        network=Network(row["network"]),
        owner=OwnerId(row["owner"]),
        outcome=SponsoredOutcome(row["outcome"]),
        budget_on=row["budget_on"],
    )
    if row["tx_hash"] is None:
        return found
    sent = SentEnvelope(
        tx_hash=row["tx_hash"],
        inner_hash=row["inner_hash"],
        envelope=Secret(b""),
        source=Address(row["source"]),
        source_sequence=row["source_sequence"],
        max_time=row["max_time"],
        fee_limit=Stroops(row["fee_limit"]),
        sent_after_ledger=row["sent_after_ledger"],
    )
    return replace(found, sent=sent, is_prepaid=row["is_prepaid"], is_new_owner=row["is_new_owner"])
