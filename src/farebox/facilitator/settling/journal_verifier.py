"""Verify a payment, and look a refused one up in the journal, as `/settle` does before it judges.

A stock seller verifies before it settles again. The ledger refuses a payment that has landed, and
the operator may have stopped its payer or the network since; without the journal the seller could
not reach a success that has not been taken yet.
"""

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.facilitator.settlement import (
    NotSettled,
    PaymentIdentity,
    Settlement,
    read_repeat,
)
from farebox.facilitator.verification.verdict import Accepted, Rejected, SignedTransfer
from farebox.facilitator.verification.verify import PaymentJudge
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller
from farebox.kernel.slots import Requester, Share
from farebox.stellar.simulation_slots import SimulationPurpose
from farebox.storage.faults import DatabaseUnavailable
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason

_FIND_TIMEOUT_S: Final = 2.0  # a verification continues without the database


class SettlementLookup(Protocol):
    """Finds a payment's row."""

    async def find(self, identity: PaymentIdentity) -> Settlement | None: ...


@dataclass(frozen=True, slots=True)
class CollectableSuccess:
    """A settled payment whose success has not been taken yet; `/settle` returns it."""

    payer: Address


@dataclass(frozen=True, slots=True)
class RecordedPayment:
    """A payment that is final or belongs to another request; `tx_hash` may be empty."""

    reason: Reason
    payer: Address
    tx_hash: str


VerifyOutcome = Accepted | Rejected | CollectableSuccess | RecordedPayment


class JournalVerifier:
    """Judges payments; the journal is read only after a refusal."""

    def __init__(self, verifier: PaymentJudge, journal: SettlementLookup) -> None:
        self._verifier, self._journal = verifier, journal

    async def verify(
        self, payment: Payment, *, caller: Caller | None = None, client: str = ""
    ) -> VerifyOutcome:
        """Judge whether the payment can be settled now, or its success collected.

        Rate limits count the request under `client`.
        """
        transfer = self._verifier.examine(payment)
        if isinstance(transfer, Rejected):
            return transfer
        requester = Requester(SimulationPurpose.VERIFICATION, Share(client))
        verdict = await self._verifier.judge(transfer, requester, caller=caller)
        if isinstance(verdict, Accepted):
            return verdict
        row = await self._find(payment, transfer)
        return verdict if row is None else judge_recorded(row, payment.request_digest())

    async def _find(self, payment: Payment, transfer: SignedTransfer) -> Settlement | None:
        identity = PaymentIdentity(payment.terms.network, transfer.payer, transfer.entry.nonce)
        try:
            async with asyncio.timeout(_FIND_TIMEOUT_S):
                return await self._journal.find(identity)
        except (DatabaseUnavailable, TimeoutError):
            return None


def judge_recorded(row: Settlement, request_digest: bytes) -> CollectableSuccess | RecordedPayment:
    """Judge a payment that has a row by what `/settle` would answer (docs/decisions/0005)."""
    outcome = read_repeat(row, b"" if row.is_purchase else request_digest)
    if isinstance(outcome, NotSettled):
        return RecordedPayment(outcome.reason, row.identity.payer, outcome.tx_hash)
    return CollectableSuccess(row.identity.payer)
