"""The journal is read only when a payment is refused; its outage changes no verdict."""

import pytest

from farebox.facilitator.settlement import PaymentIdentity, Settlement
from farebox.facilitator.settling.journal_verifier import JournalVerifier, VerifyOutcome
from farebox.facilitator.verification.verdict import Rejected, SignedTransfer, Verdict
from farebox.kernel.caller import Caller
from farebox.kernel.slots import Requester
from farebox.storage.faults import DatabaseUnavailable
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from support.accepted_payment import accepted_payment

ACCEPTED = accepted_payment()


class ScriptedJudge:
    """Gives one verdict on every examined payment."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def examine(self, payment: Payment) -> SignedTransfer:
        return ACCEPTED.transfer

    async def judge(
        self, transfer: SignedTransfer, requester: Requester, *, caller: Caller | None = None
    ) -> Verdict:
        return self._verdict


class AwayJournal:
    """Counts its look-ups; the database is unavailable."""

    def __init__(self) -> None:
        self.finds = 0

    async def find(self, identity: PaymentIdentity) -> Settlement | None:
        self.finds += 1
        raise DatabaseUnavailable("away")


async def verified(verdict: Verdict) -> tuple[VerifyOutcome, int]:
    journal = AwayJournal()
    verifier = JournalVerifier(ScriptedJudge(verdict), journal)
    return await verifier.verify(ACCEPTED.transfer.payment), journal.finds


async def test_accepted_payment_needs_no_journal_read() -> None:
    assert await verified(ACCEPTED) == (ACCEPTED, 0)


@pytest.mark.parametrize("reason", [Reason.SIMULATION_FAILED, Reason.SPONSOR_STOPPED])
async def test_verdict_stays_when_the_journal_is_unavailable(reason: Reason) -> None:
    assert await verified(Rejected(reason)) == (Rejected(reason), 1)
