"""Signed receipts of runs: one line of JSON that anyone can check against the chain."""

from datetime import datetime
from typing import Protocol

import msgspec

from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.receipt import (
    RunReceipt,
    TokenChange,
    receipt_bytes,
    receipt_digest,
)
from farebox.automation.runs.run import Run

_VERSION = 1


class ReceiptSigner(Protocol):
    """Signs digests with the delegate key of a plan."""

    def sign(self, plan: StoredPlan, digest: bytes) -> bytes | None: ...


class SignedReceipt(msgspec.Struct, frozen=True, rename="camel"):
    """A receipt with the delegate's public key and its signature of the digest, both as hex."""

    receipt: msgspec.Raw
    delegate: str
    signature: str


def sign_receipt(
    signer: ReceiptSigner,
    plan: StoredPlan,
    run: Run,
    *,
    changes: tuple[TokenChange, ...] = (),
    closed_at: datetime | None = None,
) -> str | None:
    """The signed receipt of a run that is over; None once the plan's key is shredded.

    Raises:
        SealBroken: the key cannot be opened.
    """
    terms = plan.terms
    encoded = receipt_bytes(
        RunReceipt(
            version=_VERSION,
            proposal=terms.id,
            policy_id=terms.policy_id.hex(),
            network=terms.network,
            account=terms.account or "",
            run_index=run.run_index,
            leg_index=run.leg_index,
            scheduled_for=run.scheduled_for,
            state=run.state,
            attempts=run.attempts,
            executed_by=run.executed_by,
            transaction=None if run.tx_hash is None else run.tx_hash.hex(),
            ledger=run.ledger,
            closed_at=closed_at,
            changes=changes,
            fee_stroops=str(run.fee_charged),
            reason=run.reason,
        )
    )
    signature = signer.sign(plan, receipt_digest(encoded))
    if signature is None:
        return None
    line = SignedReceipt(msgspec.Raw(encoded), terms.delegate.hex(), signature.hex())
    return msgspec.json.encode(line).decode()
