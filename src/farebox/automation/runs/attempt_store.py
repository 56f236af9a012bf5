"""The table of attempts; each row is committed before the network sees its envelope."""

from farebox.automation.paymaster.budget_store import RunCharge
from farebox.automation.runs.run import Attempt, AttemptOutcome
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection, Row
from farebox.submission.fate import SentEnvelope


async def add_attempt(
    db: Connection,
    attempt: Attempt,
    *,
    network: Network,
    owner: OwnerId,
    sealed: bytes,
    is_new_owner: bool = False,
) -> bool:
    """Insert an attempt; False where the operator has stopped automation on the network.

    `sealed` is its envelope. `stop_network` waits for every transaction with this statement.

    Raises:
        Conflict: the channel or the run has an envelope whose outcome is not known.
    """
    sent = attempt.sent
    added = await db.fetchval(
        """
        INSERT INTO automation_attempts (
            run_id, number, network, tx_hash, inner_hash, envelope, source, source_sequence,
            max_time, auth_expiration_ledger, fee_limit, simulated_ledger, sent_after_ledger,
            budget_on, owner, uses_before, is_new_owner)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
        WHERE NOT EXISTS (SELECT FROM automation_stops WHERE network = $3)
        RETURNING true
        """,
        attempt.run_id,
        attempt.number,
        network.value,
        sent.tx_hash,
        sent.inner_hash,
        sealed,
        sent.source,
        sent.source_sequence,
        sent.max_time,
        attempt.authorized_until,
        sent.fee_limit,
        attempt.simulated_ledger,
        sent.sent_after_ledger,
        attempt.budget_on,
        owner,
        attempt.uses_before,
        is_new_owner,
    )
    return added is True


async def mark_sent(db: Connection, tx_hash: bytes) -> None:
    """Record that a node took the envelope."""
    await db.execute(
        """
        UPDATE automation_attempts SET outcome = 'sent', sent_at = clock_timestamp()
        WHERE tx_hash = $1 AND outcome = 'prepared'
        """,
        tx_hash,
    )


async def end_attempt(
    db: Connection,
    tx_hash: bytes,
    outcome: AttemptOutcome,
    *,
    error_code: str | None,
    fee_charged: Stroops | None,
) -> RunCharge | None:
    """Record an attempt's outcome, and drop its envelope; None when it was ended before.

    Returns what was reserved for it. The envelope of an unknown outcome is kept, so that an
    operator can look for it.
    """
    row = await db.fetchrow(
        """
        UPDATE automation_attempts
        SET outcome = $2, error_code = $3, fee_charged = $4, finished_at = clock_timestamp(),
            envelope = CASE WHEN $2 = 'unknown' THEN envelope END
        WHERE tx_hash = $1 AND outcome IN ('prepared', 'sent')
        RETURNING network, owner, budget_on, fee_limit, is_new_owner
        """,
        tx_hash,
        outcome.value,
        error_code,
        fee_charged,
    )
    if row is None:
        return None
    return RunCharge(
        Network(row["network"]),
        OwnerId(row["owner"]),
        row["budget_on"],
        Stroops(row["fee_limit"]),
        is_new_owner=row["is_new_owner"],
    )


async def find_open(db: Connection, run_id: str) -> tuple[Attempt, bytes] | None:
    """The run's attempt whose outcome is not known, with its sealed envelope; None without one."""
    row = await db.fetchrow(
        """
        SELECT run_id, number, tx_hash, inner_hash, envelope, source, source_sequence, max_time,
               auth_expiration_ledger, fee_limit, simulated_ledger, sent_after_ledger, budget_on,
               outcome, uses_before
        FROM automation_attempts WHERE run_id = $1 AND outcome IN ('prepared', 'sent')
        """,
        run_id,
    )
    return None if row is None else (_read_attempt(row), row["envelope"])


def _read_attempt(row: Row) -> Attempt:
    sent = SentEnvelope(
        tx_hash=row["tx_hash"],
        inner_hash=row["inner_hash"],
        envelope=Secret(b""),  # opened by whoever sends it again
        source=Address(row["source"]),
        source_sequence=row["source_sequence"],
        max_time=row["max_time"],
        fee_limit=Stroops(row["fee_limit"]),
        sent_after_ledger=row["sent_after_ledger"],
    )
    return Attempt(
        run_id=row["run_id"],
        number=row["number"],
        sent=sent,
        authorized_until=row["auth_expiration_ledger"],
        simulated_ledger=row["simulated_ledger"],
        budget_on=row["budget_on"],
        outcome=AttemptOutcome(row["outcome"]),
        uses_before=row["uses_before"],
    )
