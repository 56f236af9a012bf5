"""Carry one accepted payment to the ledger through the network's relayer account."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from farebox.facilitator.journal import SettlementJournal
from farebox.facilitator.landing import ending_of
from farebox.facilitator.outcome import (
    NothingSent,
    NotSettled,
    Pending,
    SettleOutcome,
    outcome_of,
)
from farebox.facilitator.served_network import OperatorRules
from farebox.facilitator.settlement import Claim, Settlement, SettlementState
from farebox.facilitator.store import SourceBusy
from farebox.facilitator.verdict import Accepted
from farebox.kernel.clock import Clock
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import RpcUnavailable, TransactionFound
from farebox.stellar.sequences import SourceMissing, SourceSequence
from farebox.stellar.signers import Relayer
from farebox.stellar.splice import build_settlement, sign
from farebox.storage.faults import DatabaseUnavailable
from farebox.submission.fate import Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.submit import BAD_SEQUENCE, Submitter
from farebox.x402.reasons import Reason

_BUSY_PAUSE_S: Final = 0.2
_RETRY_AFTER_S: Final = 5
_MAX_ENVELOPES: Final = 3  # each after the one before was refused for its sequence number

log = structlog.get_logger(__name__)


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading: ...


@dataclass(frozen=True, slots=True)
class SendingNetwork:
    """What sending on one network takes."""

    rules: OperatorRules
    relayer: Relayer
    sequences: SourceSequence
    ledgers: Ledgers
    submitter: Submitter


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a settlement may take, seconds."""

    answer_s: float  # until the caller has an answer
    turn_s: float  # for the relayer to be free


class PaymentSender:
    """One relayer, one envelope in flight, written down before the network sees it."""

    def __init__(
        self, network: SendingNetwork, journal: SettlementJournal, clock: Clock, waits: Waits
    ) -> None:
        self._network, self._journal, self._clock, self._waits = network, journal, clock, waits
        self._turn = asyncio.Lock()

    async def carry_out(self, claim: Claim, accepted: Accepted) -> SettleOutcome:
        """Sign, write down, send and wait; the claim ends in an outcome or is given back.

        Raises:
            NothingSent: the relayer was not free in time; the claim was given back.
            DatabaseUnavailable: before anything was sent.
        """
        started = self._clock.monotonic()
        try:
            async with self._turn_within(self._waits.turn_s):
                return await self._send(
                    claim,
                    accepted,
                    turn_until=started + self._waits.turn_s,
                    until=started + self._waits.answer_s,
                )
        except _TurnMissed as missed:
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

    @asynccontextmanager
    async def _turn_within(self, wait_s: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(wait_s):
                await self._turn.acquire()
        except TimeoutError as error:
            raise _TurnMissed from error
        try:
            yield
        finally:
            self._turn.release()

    async def _send(
        self, claim: Claim, accepted: Accepted, *, turn_until: float, until: float
    ) -> SettleOutcome:
        sent = await self._write_down(claim, accepted, turn_until)
        fate = await self._submit(sent, until)
        for _ in range(_MAX_ENVELOPES - 1):
            if not (isinstance(fate, Refused) and fate.result_code == BAD_SEQUENCE):
                break
            another = await self._replace(claim, accepted, dead=sent)
            if another is None:
                break
            sent = another
            fate = await self._submit(sent, until)
        return await self._conclude(claim, sent, fate)

    async def _write_down(
        self, claim: Claim, accepted: Accepted, turn_until: float
    ) -> SentEnvelope:
        """The envelope, committed; waits while the relayer's last one is unresolved."""
        while True:
            self._network.sequences.forget()  # another replica may have used the relayer since
            sent = await self._prepare(accepted)
            try:
                if await self._journal.sending(claim, sent):
                    return sent
                raise _TurnMissed  # the claim went stale and is gone
            except SourceBusy:
                pass
            if self._clock.monotonic() + _BUSY_PAUSE_S > turn_until:
                raise _TurnMissed
            await self._clock.sleep(_BUSY_PAUSE_S)

    async def _replace(
        self, claim: Claim, accepted: Accepted, *, dead: SentEnvelope
    ) -> SentEnvelope | None:
        """Another envelope in the place of one refused for its sequence number, or None."""
        try:
            sent = await self._prepare(accepted)
        except _NotPayableNow:
            return None
        written = await self._journal.replace(claim, dead=dead.tx_hash, sent=sent)
        return sent if written else None

    async def _prepare(self, accepted: Accepted) -> SentEnvelope:
        network, entry = self._network, accepted.transfer.entry
        try:
            now = network.ledgers.now()
            sequence = await network.sequences.following()
        except (ClockStale, RpcUnavailable) as outage:
            raise _NotPayableNow(Reason.NETWORK_UNAVAILABLE) from outage
        except SourceMissing as missing:
            raise _TurnMissed from missing
        if entry.expires_at_ledger - now.sequence < network.rules.min_life_ledgers:
            raise _NotPayableNow(Reason.EXPIRES_TOO_SOON)
        max_time = latest_time(
            now, entry.expires_at_ledger, life_s=network.rules.transaction_life_s
        )
        unsigned = build_settlement(
            accepted.transfer.envelope,
            source=network.relayer.address,
            sequence=sequence,
            fee=accepted.fee.envelope_fee,
            max_time=int(max_time.timestamp()),
            soroban_data=accepted.simulated.soroban_data,
        )
        signed = sign(unsigned, network.relayer.key, network.rules.network.id)
        return SentEnvelope(
            tx_hash=bytes.fromhex(signed.hash),
            envelope=Secret(base64.b64decode(signed.envelope_base64.reveal())),
            source=network.relayer.address,
            source_sequence=sequence,
            max_time=max_time,
            fee_limit=accepted.fee.highest_charge,
            sent_after_ledger=now.sequence,
        )

    async def _submit(self, sent: SentEnvelope, until: float, *, may_be_out: bool = False) -> Fate:
        async def on_taken() -> None:
            with suppress(DatabaseUnavailable):  # `sending` says enough for reconciliation
                await self._journal.submitted(sent.tx_hash)

        log.info("settlement.sending", tx_hash=sent.tx_hash.hex())
        fate = await self._network.submitter.submit(
            sent, until=until, on_taken=on_taken, may_be_out=may_be_out
        )
        if isinstance(fate, TransactionFound):
            self._network.sequences.landed(sent.source_sequence)
        else:
            self._network.sequences.forget()
        return fate

    async def _conclude(
        self, payment: Claim | Settlement, sent: SentEnvelope, fate: Fate
    ) -> SettleOutcome:
        identity, tx_hash = payment.identity, sent.tx_hash.hex()
        pending = Pending(identity.network, identity.payer, tx_hash)
        try:
            if isinstance(fate, Indeterminate):
                return pending
            if isinstance(fate, NotSent):
                await self._journal.withdraw(identity, sent.tx_hash)
                return NotSettled(Reason.NETWORK_UNAVAILABLE, identity.network, identity.payer)
            ending = ending_of(fate, payment)
            await self._journal.end(sent.tx_hash, ending)
        except DatabaseUnavailable:
            return pending  # the row still says `sending`: reconciliation ends it
        log.info("settlement.ended", tx_hash=tx_hash, state=ending.state, detail=ending.detail)
        return outcome_of(ending, identity, payment.request_digest, tx_hash)


class _TurnMissed(Exception):
    """The relayer was not free in time."""


class _NotPayableNow(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def latest_time(now: LedgerReading, expires_at_ledger: int, *, life_s: int) -> datetime:
    """The envelope's own time bound: `life_s` past the last close, never past the authorization.

    The authorization ends with a ledger; when that one closes is estimated from the cadence
    observed.
    """
    return min(now.close_at + timedelta(seconds=life_s), now.earliest_close(expires_at_ledger))
