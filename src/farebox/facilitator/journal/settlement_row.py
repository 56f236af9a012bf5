"""The statement that selects a settlement's row, and the row as a value."""

from typing import Final, LiteralString

from asyncpg import Record

from farebox.facilitator.settlement import PaymentIdentity, Settlement, SettlementState
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason

SELECT_ROW: Final[LiteralString] = """
    SELECT network, payer, nonce, state, claim_id, claimed_at,
    coalesce(ends_by, claimed_at + interval '5 minutes') AS ends_by,  -- of older releases
    request_digest, asset, amount, pay_to, tx_hash, envelope, source, source_sequence, max_time,
    fee_limit, sent_after_ledger, inner_hash, reason, answered_at, token_unverified, landed_hash,
    is_purchase,
    CASE WHEN state IN ('sending', 'submitted', 'unproven') THEN ARRAY(
        SELECT ROW(r.tx_hash, r.inner_hash, r.source, r.source_sequence, r.max_time, r.fee_limit,
                   r.sent_after_ledger, r.was_refused)
        FROM replaced_envelopes r
        WHERE (r.network, r.payer, r.nonce)
            = (settlements.network, settlements.payer, settlements.nonce)
        ORDER BY r.replaced_at) END AS replaced
    FROM settlements
"""


def read_row(row: Record) -> Settlement:
    """Read a row of `SELECT_ROW`."""
    sent = None
    if row["tx_hash"] is not None:
        sent = SentEnvelope(
            tx_hash=row["tx_hash"],
            inner_hash=row["inner_hash"],
            envelope=Secret(row["envelope"]),  # empty once retention has dropped it
            source=Address(row["source"]),
            source_sequence=row["source_sequence"],
            max_time=row["max_time"],
            fee_limit=Stroops(row["fee_limit"]),
            sent_after_ledger=row["sent_after_ledger"],
            replaced=tuple(map(_read_replaced, row["replaced"] or ())),
        )
    return Settlement(
        identity=PaymentIdentity(Network(row["network"]), Address(row["payer"]), row["nonce"]),
        state=SettlementState(row["state"]),
        claim_id=row["claim_id"],
        claimed_at=row["claimed_at"],
        ends_by=row["ends_by"],
        request_digest=row["request_digest"],
        asset=Address(row["asset"]),
        amount=BaseUnits(int(row["amount"])),
        pay_to=Address(row["pay_to"]),
        sent=sent,
        reason=_read_reason(row["reason"]),
        is_answered=row["answered_at"] is not None,
        token_is_verified=not row["token_unverified"],
        landed_hash=row["landed_hash"],
        is_purchase=row["is_purchase"],
    )


def _read_reason(text: str | None) -> Reason | None:
    """Read a reason; one of another release, which this one does not know, proves nothing."""
    try:
        return None if text is None else Reason(text)
    except ValueError:
        return Reason.UNEXPECTED_SETTLE_ERROR


def _read_replaced(row: Record) -> SentEnvelope:
    """Read an envelope that was replaced; its bytes are not kept, since it is never sent again."""
    return SentEnvelope(
        tx_hash=row[0],
        inner_hash=row[1],
        envelope=Secret(b""),
        source=Address(row[2]),
        source_sequence=row[3],
        max_time=row[4],
        fee_limit=Stroops(row[5]),
        sent_after_ledger=row[6],
        was_refused=row[7],
    )
