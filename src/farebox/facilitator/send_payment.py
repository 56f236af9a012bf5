"""Carry one accepted payment to the ledger through a source account of the operator's."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from farebox.facilitator.journal import SettlementJournal
from farebox.facilitator.landing import ending_of, moved_more
from farebox.facilitator.outcome import (
    NothingSent,
    NotSettled,
    Pending,
    SettleOutcome,
    outcome_of,
)
from farebox.facilitator.seal import seal_settlement
from farebox.facilitator.served_network import OperatorRules
from farebox.facilitator.settlement import Claim, Recording, Settlement, SettlementState
from farebox.facilitator.sources import HeldSource, NoSourceFree, SourcePool
from farebox.facilitator.verdict import Accepted
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import RpcUnavailable, TransactionFound
from farebox.stellar.signers import Relayer
from farebox.storage.faults import DatabaseUnavailable
from farebox.submission.fate import Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.submit import BAD_SEQUENCE, Submitter
from farebox.x402.reasons import Reason

_BUSY_PAUSE_S: Final = 0.2
_RETRY_AFTER_S: Final = 5
_MAX_ENVELOPES: Final = 3  # each after the one before was refused for its sequence number

log = structlog.get_logger(__name__)


class SequenceNode(Protocol):
    """Where a sequence number is read."""

    async def account_sequence(self, address: Address) -> int | None: ...


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading: ...


@dataclass(frozen=True, slots=True)
class SendingNetwork:
    """What sending on one network takes."""

    rules: OperatorRules
    relayer: Relayer
    sources: SourcePool
    node: SequenceNode
    ledgers: Ledgers
    submitter: Submitter


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

    async def carry_out(self, claim: Claim, accepted: Accepted) -> SettleOutcome:
        """Sign, write down, send and wait; the claim ends in an outcome or is given back.

        Raises:
            NothingSent: no source account was free in time; the claim was given back.
            DatabaseUnavailable: before anything was sent.
        """
        started = self._clock.monotonic()
        try:
            async with self._network.sources.source(wait_s=self._waits.turn_s) as source:
                sent = await self._write_down(
                    claim, accepted, source, until=started + self._waits.turn_s
                )
                return await self._send(
                    claim, accepted, source, sent, until=started + self._waits.answer_s
                )
        except NoSourceFree as missed:
            await self._journal.release(claim.identity, claim.claim_id)
            raise NothingSent(
                claim.identity.network, claim.identity.payer, retry_after_s=_RETRY_AFTER_S
            ) from missed
        except _NotPayableNow as refusal:
            await self._journal.release(claim.identity, claim.claim_id)
            return NotSettled(refusal.reason, claim.identity.network, claim.identity.payer)

    async def resume(self, known: Settlement, sent: SentEnvelope) -> SettleOutcome:
        """Go on where an earlier call, or a process that is gone, left an envelope.

        The same envelope is sent again while its own time bound holds and no node is known to
        have it; otherwise it is only watched.
        """
        until = self._clock.monotonic() + self._waits.answer_s
        if known.state is SettlementState.SENDING and self._clock.now() < sent.max_time:
            fate = await self._submit(sent, until, may_be_out=True)
        else:
            fate = await self._network.submitter.wait(sent, until=until)
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
        fate = await self._submit(sent, until)
        for _ in range(_MAX_ENVELOPES - 1):
            if not (isinstance(fate, Refused) and fate.result_code == BAD_SEQUENCE):
                break
            source.forget()
            another = await self._replace(claim, accepted, source, dead=sent)
            if another is None:
                break
            sent = another
            fate = await self._submit(sent, until)
        if isinstance(fate, TransactionFound):
            source.landed(sent.source_sequence)
        else:
            source.forget()
        return await self._conclude(claim, sent, fate)

    async def _write_down(
        self, claim: Claim, accepted: Accepted, source: HeldSource, *, until: float
    ) -> SentEnvelope:
        """The envelope, committed; waits while the source's last one is unresolved."""
        while True:
            sent = await self._prepare(accepted, source)
            recorded = await self._journal.sending(claim, sent, epoch=source.lease.epoch)
            if recorded is Recording.WRITTEN:
                return sent
            if recorded is Recording.CLAIM_LOST:
                raise NoSourceFree
            source.forget()
            if self._clock.monotonic() + _BUSY_PAUSE_S > until:
                raise NoSourceFree
            await self._clock.sleep(_BUSY_PAUSE_S)

    async def _replace(
        self, claim: Claim, accepted: Accepted, source: HeldSource, *, dead: SentEnvelope
    ) -> SentEnvelope | None:
        """Another envelope in the place of one refused for its sequence number, or None."""
        try:
            sent = await self._prepare(accepted, source)
        except (_NotPayableNow, NoSourceFree):
            return None
        written = await self._journal.replace(claim, dead=dead.tx_hash, sent=sent)
        return sent if written else None

    async def _prepare(self, accepted: Accepted, source: HeldSource) -> SentEnvelope:
        try:
            now = self._network.ledgers.now()
            sequence = await self._next_sequence(source)
        except (ClockStale, RpcUnavailable) as outage:
            raise _NotPayableNow(Reason.NETWORK_UNAVAILABLE) from outage
        left = accepted.transfer.entry.expires_at_ledger - now.sequence
        if left < self._network.rules.min_life_ledgers:
            raise _NotPayableNow(Reason.EXPIRES_TOO_SOON)
        signer = source.lease.source
        return seal_settlement(
            accepted,
            self._network.rules,
            now,
            source=signer,
            sequence=sequence,
            fee_payer=None if source.is_relayer else self._network.relayer,
        )

    async def _next_sequence(self, source: HeldSource) -> int:
        if source.used_sequence is None:
            address = source.lease.source.address
            source.used_sequence = await self._network.node.account_sequence(address)
            if source.used_sequence is None:
                log.error("source.missing", network=self._network.rules.network, source=address)
                raise NoSourceFree
        return source.used_sequence + 1

    async def _submit(self, sent: SentEnvelope, until: float, *, may_be_out: bool = False) -> Fate:
        async def on_taken() -> None:
            with suppress(DatabaseUnavailable):  # `sending` says enough for reconciliation
                await self._journal.submitted(sent.tx_hash)

        log.info("settlement.sending", tx_hash=sent.tx_hash.hex())
        return await self._network.submitter.submit(
            sent, until=until, on_taken=on_taken, may_be_out=may_be_out
        )

    async def _conclude(
        self, payment: Claim | Settlement, sent: SentEnvelope, fate: Fate
    ) -> SettleOutcome:
        identity, tx_hash = payment.identity, sent.tx_hash.hex()
        pending = Pending(identity.network, identity.payer, tx_hash)
        try:
            if isinstance(fate, Indeterminate):
                return pending
            if isinstance(fate, NotSent | Refused):
                await self._journal.withdraw(identity, sent.tx_hash)
                return NotSettled(_why_not_sent(fate), identity.network, identity.payer)
            if isinstance(fate, TransactionFound) and moved_more(fate, payment):
                log.warning("settlement.moved_more", tx_hash=tx_hash, payer=identity.payer)
            ending = ending_of(fate, payment)
            await self._journal.end(sent.tx_hash, ending)
        except DatabaseUnavailable:
            return pending  # the row still says `sending`: reconciliation ends it
        log.info("settlement.ended", tx_hash=tx_hash, state=ending.state, detail=ending.detail)
        return outcome_of(ending, payment, tx_hash)


def _why_not_sent(fate: NotSent | Refused) -> Reason:
    """Nothing of it can land: the payment is free again, and the same body may be repeated."""
    if isinstance(fate, NotSent):
        return Reason.NETWORK_UNAVAILABLE
    log.warning("settlement.refused", result_code=fate.result_code)
    return Reason.SUBMISSION_FAILED


class _NotPayableNow(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason
