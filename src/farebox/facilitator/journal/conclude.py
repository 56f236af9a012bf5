"""How a settlement ends that met its fate, looking first for another use of its authorization."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from farebox.facilitator.journal.foreign import (
    Authorization,
    ForeignLanding,
    ForeignLandings,
    LookUpFailed,
)
from farebox.facilitator.journal.landing import ending_of, landed_as
from farebox.facilitator.settlement import Claim, Ending, Settlement, SettlementState
from farebox.kernel.clock import Clock
from farebox.stellar.rpc import TransactionFound
from farebox.submission.fate import Dead, SentEnvelope, Unproven
from farebox.x402.reasons import Reason

_JUDGED_BEFORE: Final = 12  # ledgers: so far back may lie the last one in which the nonce was free
_LOOKED_FOR: Final = timedelta(seconds=60)  # past the time bound and the first look that failed
_FORGOTTEN: Final = timedelta(minutes=10)  # a row that is looked at fails again long before


class Conclusions:
    """What is written of a fate, and answered."""

    def __init__(self, foreign: ForeignLandings, clock: Clock) -> None:
        self._foreign, self._clock = foreign, clock
        self._failing: dict[bytes, datetime] = {}  # envelopes and when a look for them first failed

    async def ending(
        self,
        fate: TransactionFound | Dead | Unproven,
        payment: Claim | Settlement,
        sent: SentEnvelope,
    ) -> Ending | None:
        """How the settlement ends; None while nobody can say who used its authorization.

        None as well where its own transaction is found after all: then the absence was no proof.

        An envelope of ours that moved nothing may have failed because another transaction had used
        the authorization: then the payment was made, and not by us (decision D20).
        """
        ending = ending_of(fate, payment)
        if isinstance(fate, TransactionFound):
            ending = landed_as(fate, ending, sent)
        if ending.state not in (SettlementState.FAILED, SettlementState.DEAD):
            return ending
        try:
            landing = await self._look(fate, payment, sent)
        except LookUpFailed as failed:
            return ending if failed.is_forgotten or self._is_over(failed, sent) else None
        self._failing.pop(sent.tx_hash, None)
        if landing is None:
            return ending
        if landing.tx_hash in (sent.tx_hash, sent.inner_hash):
            return ending if isinstance(fate, TransactionFound) else None
        reason = Reason.DUPLICATE_SETTLEMENT if landing.is_ours else Reason.FOREIGN_LANDING
        return replace(ending, reason=reason, landed_hash=landing.tx_hash)

    def _is_over(self, failed: LookUpFailed, sent: SentEnvelope) -> bool:
        """Whether the node was asked for long enough; a row may not wait for ever."""
        if not failed.was_asked:
            return False
        now = self._clock.now()
        first_at = self._failing.setdefault(sent.tx_hash, now)
        if now <= max(sent.max_time, first_at) + _LOOKED_FOR:
            return False
        self._failing = {key: at for key, at in self._failing.items() if at > now - _FORGOTTEN}
        self._failing.pop(sent.tx_hash, None)
        return True

    async def _look(
        self,
        fate: TransactionFound | Dead | Unproven,
        payment: Claim | Settlement,
        sent: SentEnvelope,
    ) -> ForeignLanding | None:
        spent = Authorization(payment.identity, payment.asset, payment.pay_to)
        if not isinstance(fate, TransactionFound):
            return await self._foreign.of_used_nonce(spent, as_of_ledger=fate.as_of_ledger)
        first = max(1, sent.sent_after_ledger - _JUDGED_BEFORE)
        try:
            return await self._foreign.between(spent, first_ledger=first, last_ledger=fate.ledger)
        except LookUpFailed as failed:
            if not failed.is_forgotten:
                raise
            first = sent.sent_after_ledger + 1
            return await self._foreign.between(spent, first_ledger=first, last_ledger=fate.ledger)
