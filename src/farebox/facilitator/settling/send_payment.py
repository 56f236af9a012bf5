"""Carry one accepted payment to the ledger through a source account of the operator's."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import structlog

from farebox.facilitator.budgets.budget import OverBudget
from farebox.facilitator.channels.source_line import HeldSource, NoSourceFree
from farebox.facilitator.channels.sources import SourcePool
from farebox.facilitator.journal.conclude import Conclusions
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Claim, Recording, Settlement, SettlementState
from farebox.facilitator.settling.departure import Departure
from farebox.facilitator.settling.outcome import (
    NothingSent,
    NotSettled,
    Pending,
    SettleOutcome,
    outcome_of,
    recorded_outcome,
)
from farebox.facilitator.settling.rebid import bid_higher
from farebox.facilitator.settling.seal import NotPayableNow, Sealer
from farebox.facilitator.verification.served_network import OperatorRules
from farebox.facilitator.verification.verdict import Accepted
from farebox.kernel.clock import Clock
from farebox.stellar.rpc import FeeStats, TransactionFound
from farebox.storage.faults import DatabaseUnavailable
from farebox.submission.deliver import BAD_SEQUENCE
from farebox.submission.fate import Dead, Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.not_taken import NotTakenCause
from farebox.submission.submit import Submitter
from farebox.x402.reasons import Reason

_BUSY_PAUSE_S: Final = 0.2
_RETRY_AFTER_S: Final = 5
_MAX_ENVELOPES: Final = 4  # each after the one before can certainly not land
_MAX_LEASES_LOST: Final = 3
_UNDERBID: Final = "txINSUFFICIENT_FEE"

log = structlog.get_logger(__name__)


class Market(Protocol):
    """What others pay to be included, read without a call."""

    @property
    def fees(self) -> FeeStats | None: ...


@dataclass(frozen=True, slots=True)
class SendingNetwork:
    """What sending on one network takes."""

    rules: OperatorRules
    sources: SourcePool
    sealer: Sealer
    market: Market
    submitter: Submitter
    conclusions: Conclusions
    departure: Departure


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a settlement may take, seconds."""

    answer_s: float  # until the caller has an answer
    turn_s: float  # for a source account to be free


class PaymentSender:
    """One source account a payment, its envelope written down before the network sees it."""

    def __init__(
        self, network: SendingNetwork, journal: SettlementJournal, clock: Clock, waits: Waits
    ) -> None:
        self._network, self._journal, self._clock, self._waits = network, journal, clock, waits

    async def carry_out(self, claim: Claim, accepted: Accepted, *, began: float) -> SettleOutcome:
        """Sign, write down, send and wait; the claim ends in an outcome or is given back.

        The caller has waited since `began` (monotonic), judging included.

        Raises:
            NothingSent: no source account was free in time; the claim was given back.
            DatabaseUnavailable: before anything was sent.
        """
        try:
            return await self._through_a_source(claim, accepted, began)
        except NoSourceFree as missed:
            await self._journal.release(claim.identity, claim.claim_id)
            raise NothingSent(
                claim.identity.network, claim.identity.payer, retry_after_s=_RETRY_AFTER_S
            ) from missed
        except NotPayableNow as refusal:
            await self._journal.release(claim.identity, claim.claim_id)
            return NotSettled(refusal.reason, claim.identity.network, claim.identity.payer)

    async def _through_a_source(
        self, claim: Claim, accepted: Accepted, began: float
    ) -> SettleOutcome:
        """Wait for a source, and for another when the envelope cannot be written down with it."""
        started = self._clock.monotonic()
        prepare = partial(self._network.sealer.ahead, accepted)
        place = leases_lost = 0
        while True:
            left_s = started + self._waits.turn_s - self._clock.monotonic()
            async with self._network.sources.source(
                wait_s=max(0.0, left_s), prepare=prepare, place=place
            ) as source:
                sent = await self._network.sealer.seal(accepted, source)
                recorded = await self._journal.sending(claim, sent, epoch=source.lease.epoch)
                if recorded is Recording.WRITTEN:
                    until = began + self._waits.answer_s
                    return await self._send(claim, accepted, source, sent, until=until)
                if isinstance(recorded, OverBudget):
                    raise NotPayableNow(recorded.reason)
                source.forget()
                place = source.place
                if recorded is Recording.CLAIM_LOST:  # or the lease was
                    leases_lost += 1
                if source.is_relayer:
                    await self._clock.sleep(_BUSY_PAUSE_S)
            if leases_lost == _MAX_LEASES_LOST or left_s <= 0:
                raise NoSourceFree

    async def resume(self, known: Settlement, sent: SentEnvelope) -> SettleOutcome:
        """Go on where an earlier call, or a process that is gone, left an envelope.

        The same envelope is sent again while its own time bound holds and no node is known to
        have it; otherwise, or when another process does so already, it is only watched.

        Raises:
            DatabaseUnavailable: nothing was sent again.
        """
        until = self._clock.monotonic() + self._waits.answer_s
        taken = None
        if known.state is SettlementState.SENDING:
            taken = await self._journal.take_over(known, sent.tx_hash)
        if taken is not None:
            known = taken
            fate = await self._submit(sent, until, may_be_out=True)
        else:
            waited = self._network.submitter.wait(sent, until=until)
            fate = await self._network.departure.until_then(waited) or Indeterminate()
        return await self._conclude(known, sent, fate)

    async def _send(
        self,
        claim: Claim,
        accepted: Accepted,
        source: HeldSource,
        sent: SentEnvelope,
        *,
        until: float,
    ) -> SettleOutcome:
        fate = await self._submit(sent, until, source=source)
        for attempt in range(1, _MAX_ENVELOPES):
            again = self._once_more(accepted, sent, fate, attempt, until=until)
            if again is None or not await self._is_unused(claim, sent, fate):
                break
            source.forget()
            another = await self._replace(claim, again, source, dead=sent)
            if isinstance(another, OverBudget) and isinstance(fate, Refused):
                return await self._withdraw(claim, sent, another.reason)
            if not isinstance(another, SentEnvelope):
                break
            accepted, sent = again, another
            fate = await self._submit(sent, until, source=source)
        outcome = await self._conclude(claim, sent, fate)
        if isinstance(fate, TransactionFound) and not isinstance(outcome, Pending):
            source.landed(sent.source_sequence)
        else:
            source.forget()
        return outcome

    async def _is_unused(self, claim: Claim, sent: SentEnvelope, fate: Fate) -> bool:
        """Whether nothing has used the authorization of an envelope that seems dead."""
        if not isinstance(fate, Dead):
            return True
        ending = await self._network.conclusions.ending(fate, claim, sent)
        return ending is not None and ending.landed_hash is None

    def _once_more(
        self, accepted: Accepted, sent: SentEnvelope, fate: Fate, attempt: int, *, until: float
    ) -> Accepted | None:
        """What a new envelope carries, when the old one can certainly not land; or None."""
        if self._clock.monotonic() >= until:
            return None
        if isinstance(fate, Refused) and fate.result_code == BAD_SEQUENCE:
            return accepted
        if isinstance(fate, Refused) and fate.result_code == _UNDERBID:
            wanted = fate.fee_wanted
        elif isinstance(fate, Dead) or _is_crowded_out(fate):
            wanted = None
        else:
            return None
        rules = self._network.rules
        again = bid_higher(
            accepted,
            rules.fees,
            self._network.market.fees,
            attempt=attempt,
            wanted=wanted,
            is_bumped=sent.inner_hash is not None,
        )
        if again is not None:
            log.info("settlement.bids_higher", bid=again.fee.inclusion_bid, attempt=attempt)
        return again

    async def _replace(
        self, claim: Claim, accepted: Accepted, source: HeldSource, *, dead: SentEnvelope
    ) -> SentEnvelope | OverBudget | None:
        """Another envelope in the place of one that can never land, or None.

        Where it is not known whether it was written down it is not sent either.
        """
        try:
            sent = await self._network.sealer.seal(accepted, source)
            written = await self._journal.replace(claim, dead=dead.tx_hash, sent=sent)
        except (NotPayableNow, NoSourceFree, DatabaseUnavailable):
            return None
        if isinstance(written, OverBudget):
            return written
        return sent if written is Recording.WRITTEN else None

    async def _submit(
        self,
        sent: SentEnvelope,
        until: float,
        *,
        source: HeldSource | None = None,
        may_be_out: bool = False,
    ) -> Fate:
        async def on_taken() -> None:
            if source is not None:
                source.pending(sent.source_sequence)
            with suppress(DatabaseUnavailable):  # `sending` says enough for reconciliation
                await self._journal.submitted(sent.tx_hash)

        submitter, departure = self._network.submitter, self._network.departure
        if departure.has_begun:
            return Indeterminate() if may_be_out else NotSent()
        log.info("settlement.sending", tx_hash=sent.tx_hash.hex())
        fate = await departure.until_then(
            submitter.submit(sent, until=until, on_taken=on_taken, may_be_out=may_be_out)
        )
        return fate if fate is not None else Indeterminate()

    async def _withdraw(
        self, payment: Claim | Settlement, sent: SentEnvelope, reason: Reason
    ) -> SettleOutcome:
        """The payment is free again; pending while that cannot be written, or is not so.

        A row that is no longer ours to withdraw was resumed by another process: its bytes are out.
        """
        identity = payment.identity
        try:
            is_free = await self._journal.withdraw(
                identity, sent.tx_hash, claim_id=payment.claim_id
            )
        except DatabaseUnavailable:
            is_free = False
        if not is_free:
            return Pending(identity.network, identity.payer, sent.tx_hash.hex())
        return NotSettled(reason, identity.network, identity.payer)

    async def _conclude(
        self, payment: Claim | Settlement, sent: SentEnvelope, fate: Fate
    ) -> SettleOutcome:
        identity, tx_hash = payment.identity, sent.tx_hash.hex()
        pending = Pending(identity.network, identity.payer, tx_hash)
        try:
            if isinstance(fate, Indeterminate):
                await self._journal.hand_over(sent.tx_hash)
                return pending
            if isinstance(fate, NotSent | Refused):
                return await self._withdraw(payment, sent, _why_not_sent(fate))
            ending = await self._network.conclusions.ending(fate, payment, sent)
            if ending is None:  # reconciliation looks again
                await self._journal.hand_over(sent.tx_hash)
                return pending
            if ending.moved_more:
                log.warning("settlement.moved_more", tx_hash=tx_hash, payer=identity.payer)
            if not await self._journal.end(sent.tx_hash, ending):
                # another process replaced this envelope or ended the row: its word is the answer
                row = await self._journal.find(identity)
                return pending if row is None else recorded_outcome(row)
        except DatabaseUnavailable:
            return pending  # the row still says `sending`: reconciliation ends it
        log.info("settlement.ended", tx_hash=tx_hash, state=ending.state, detail=ending.detail)
        return outcome_of(ending, payment, tx_hash)


def _is_crowded_out(fate: Fate) -> bool:
    """Whether the queue was full of better bids; the envelope's hash is banned there by now."""
    return isinstance(fate, Refused) and fate.result_code == NotTakenCause.QUEUE_FULL


def _why_not_sent(fate: NotSent | Refused) -> Reason:
    """Nothing of it can land: the payment is free again, and the same body may be repeated."""
    if isinstance(fate, NotSent):
        return Reason.NETWORK_UNAVAILABLE
    log.warning("settlement.refused", result_code=fate.result_code)
    return Reason.SUBMISSION_FAILED
