"""Verify a payment, and recognise one of our own where the ledger refuses it.

A stock seller verifies before it settles again. The ledger refuses a payment that has landed, so
without a look in the journal the success that is still to be collected could not be reached.
"""

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import FINAL, Settlement, SettlementState
from farebox.facilitator.verification.verdict import Accepted, Rejected, SignedTransfer
from farebox.facilitator.verification.verify import Verifier
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.stellar.simulation_slots import Purpose, Requester
from farebox.storage.faults import DatabaseUnavailable
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason

_LOOK_S: Final = 2.0  # a verification does not wait for the database; without it, it goes on
_BY_THE_LEDGER: Final = frozenset(
    {
        Reason.SIMULATION_FAILED,
        Reason.INSUFFICIENT_FUNDS,
        Reason.RESTORE_REQUIRED,
        Reason.EXPIRED,
        Reason.EXPIRES_TOO_SOON,
    }
)


class Journal(Protocol):
    """The read-only look-up of a payment's row."""

    async def find(self, identity: PaymentIdentity) -> Settlement | None: ...


@dataclass(frozen=True, slots=True)
class Collectable:
    """A payment of ours whose success nobody has collected: `/settle` answers it."""

    payer: Address


@dataclass(frozen=True, slots=True)
class Recorded:
    """A payment of ours that ended, or that another request settles; `tx_hash` may be empty."""

    reason: Reason
    payer: Address
    tx_hash: str


VerifyOutcome = Accepted | Rejected | Collectable | Recorded


class KnownVerifier:
    """Judges payments; the journal is read only for those that the ledger refuses."""

    def __init__(self, verifier: Verifier, journal: Journal) -> None:
        self._verifier, self._journal = verifier, journal

    async def verify(
        self, payment: Payment, *, caller: OwnerId | None = None, client: str = ""
    ) -> VerifyOutcome:
        """Whether the payment can be settled now, or its success collected.

        `client` is the name under which rate limits count whoever asks.
        """
        transfer = self._verifier.examine(payment)
        if isinstance(transfer, Rejected):
            return transfer
        requester = Requester(Purpose.VERIFICATION, client)
        verdict = await self._verifier.judge(transfer, requester, caller=caller)
        if isinstance(verdict, Accepted) or verdict.reason not in _BY_THE_LEDGER:
            return verdict
        row = await self._find(payment, transfer)
        return verdict if row is None else judge_known(row, payment.request_digest())

    async def _find(self, payment: Payment, transfer: SignedTransfer) -> Settlement | None:
        identity = PaymentIdentity(payment.terms.network, transfer.payer, transfer.entry.nonce)
        try:
            async with asyncio.timeout(_LOOK_S):
                return await self._journal.find(identity)
        except (DatabaseUnavailable, TimeoutError):
            return None


def judge_known(row: Settlement, request_digest: bytes) -> Collectable | Recorded:
    """What `/verify` says of a payment that has a row (decisions, Money)."""
    payer = row.identity.payer
    if row.request_digest != request_digest or row.is_answered:
        return Recorded(Reason.DUPLICATE_SETTLEMENT, payer, row.tx_hash)
    if row.state in FINAL and row.state is not SettlementState.CONFIRMED:
        return Recorded(row.reason or Reason.TRANSACTION_FAILED, payer, row.tx_hash)
    return Collectable(payer)
