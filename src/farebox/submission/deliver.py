"""Deliver one signed envelope to a node's queue: the same bytes each time, for a bounded time."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.stellar.ledger_clock import ClockStale, Ledgers
from farebox.stellar.rpc import (
    BAD_SEQUENCE,
    FEE_TOO_LOW,
    AccountState,
    RpcUnavailable,
    SendResponse,
    SendStatus,
    TransactionFound,
)
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.submission.fate import Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.try_again_later import RefusalEvidence, TryAgainLaterCause, infer_cause

_MAX_RESENDS: Final = 2

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Queued:
    """A node has the envelope in its queue."""


Delivered = Queued | Fate


@dataclass(slots=True)
class NetworkQueue:
    """The envelopes of this process in the network's queue."""

    waiting: dict[Address, bytes] = field(
        default_factory=dict
    )  # source: hash of its queued envelope
    taken: int = 0  # envelopes that were queued since the start

    def add(self, sent: SentEnvelope) -> None:
        """Record that a node queued the envelope."""
        self.waiting[sent.source] = sent.tx_hash
        self.taken += 1

    def remove(self, sent: SentEnvelope) -> None:
        """Remove an envelope that is no longer queued."""
        if self.waiting.get(sent.source) == sent.tx_hash:
            del self.waiting[sent.source]


@dataclass(frozen=True, slots=True)
class DeliveryContext:
    """The client, clock and queue that every delivery on one network shares."""

    rpc: SorobanRpc
    clock: Clock
    queue: NetworkQueue
    observe: Callable[[SentEnvelope], Awaitable[Fate]]  # looks once for an envelope
    ledgers: Ledgers | None  # None: the source's account gives the newest ledger
    poll_s: float


@dataclass(frozen=True, slots=True)
class _SendAgain:
    """Not queued yet: send the same bytes again, once a ledger after `after_ledger` closed."""

    after_ledger: int | None = None
    refusal: Refused | Indeterminate | None = None  # the fate, where it is not sent again


class EnvelopeDelivery:
    """Sends one envelope until it is queued.

    `may_be_sent`: it may have been sent before; then no refusal proves anything.
    """

    def __init__(
        self, context: DeliveryContext, sent: SentEnvelope, *, until: float, may_be_sent: bool
    ) -> None:
        self._context, self._sent, self._until = context, sent, until
        self._may_be_out = may_be_sent  # a node may have it, whatever it answers now
        self._may_be_queued = may_be_sent  # and has not refused it since
        self._taken_before = context.queue.taken
        self._resends = 0
        self._bytes = base64.b64encode(sent.envelope.reveal()).decode()

    async def run(self, *, deadline: float) -> Delivered:
        """Send until a node queues it or refuses it finally, or time is up.

        An envelope that may be sent is looked up before it is sent again: it may have landed.
        Nothing is sent again after `until`; a call under way ends at `deadline` (monotonic).
        """
        while True:
            step = await self._send(deadline)
            if not isinstance(step, _SendAgain):
                return step
            if not await self._wait(step):
                return self._give_up(step)
            if self._may_be_out:
                fate = await self._context.observe(self._sent)
                if not isinstance(fate, Indeterminate):
                    return fate

    async def _send(self, deadline: float) -> Delivered | _SendAgain:
        left_s = max(deadline - self._context.clock.monotonic(), self._context.poll_s)
        try:
            async with asyncio.timeout(left_s):
                answer = await self._context.rpc.send(self._bytes)
        except RpcUnavailable as outage:
            if not outage.certainly_not_sent:
                self._note_lost_answer()
            return _SendAgain()
        except TimeoutError:
            self._note_lost_answer()
            return _SendAgain()
        if answer.may_be_sent:
            self._note_lost_answer()
        return await self._judge(answer)

    def _note_lost_answer(self) -> None:
        self._may_be_out = self._may_be_queued = True

    async def _judge(self, answer: SendResponse) -> Delivered | _SendAgain:
        if answer.hash != self._sent.tx_hash.hex():
            # The stored hash is ours; the envelope may be sent under it nevertheless.
            tx_hash = self._sent.tx_hash.hex()
            log.error("submission.hash_differs", alarm="node_hash_differs", tx_hash=tx_hash)
            self._may_be_out = True
            return Indeterminate()
        if answer.status is SendStatus.ERROR:
            return await self._after_error(answer)
        if answer.status is SendStatus.TRY_AGAIN_LATER:
            return await self._after_try_again_later(answer)
        self._context.queue.add(self._sent)
        return Queued()

    async def _after_error(self, answer: SendResponse) -> Delivered | _SendAgain:
        """Look up an envelope that may be sent before its refusal counts."""
        code = answer.result_code or ""
        if not answer.is_invalid:  # whatever it means, the node may have the envelope
            log.warning("submission.unknown_error", tx_hash=self._sent.tx_hash.hex(), code=code)
            self._may_be_out = True
        elif code != BAD_SEQUENCE and not self._may_be_out:
            return Refused(code, answer.required_fee)
        fate = await self._context.observe(self._sent)
        if isinstance(fate, TransactionFound):
            return fate
        if code == FEE_TOO_LOW and not self._may_be_queued:
            return Indeterminate(TryAgainLaterCause.QUEUE_FULL, answer.required_fee)
        if self._may_be_out:
            return Indeterminate()
        return await self._after_bad_sequence(answer)

    async def _after_bad_sequence(self, answer: SendResponse) -> Refused | _SendAgain:
        """Send again where the number is unused: the node is behind, or an earlier one is to land.

        This envelope is not sent, so a refusal that stays is final.
        """
        refusal = Refused(BAD_SEQUENCE)
        source = await self._account()
        if source is None or source.sequence >= self._sent.source_sequence:
            return refusal
        self._resends += 1
        if self._resends > _MAX_RESENDS:
            return refusal
        return _SendAgain(answer.latest_ledger, refusal)

    async def _after_try_again_later(self, answer: SendResponse) -> Delivered | _SendAgain:
        """Send again later, unless the envelope can only be watched.

        The node says that it did not queue the envelope, and some keep it all the same: whatever
        the cause, it may land until its time bound has passed.
        """
        cause = infer_cause(await self._evidence(answer))
        self._may_be_out = True
        log.info("submission.try_again_later", tx_hash=self._sent.tx_hash.hex(), cause=cause.value)
        if cause is TryAgainLaterCause.BANNED:
            return Indeterminate()  # only watched: no node queues it before it is dead
        if cause is not TryAgainLaterCause.NUMBER_USED:
            return _SendAgain(answer.latest_ledger, Indeterminate(cause))
        fate = await self._context.observe(self._sent)
        return fate if isinstance(fate, TransactionFound) else Indeterminate()

    async def _evidence(self, answer: SendResponse) -> RefusalEvidence:
        sent, queue = self._sent, self._context.queue
        source = await self._account()
        waiting = queue.waiting.get(sent.source)
        out_for = answer.latest_ledger - sent.sent_after_ledger
        return RefusalEvidence(
            sequence=sent.source_sequence,
            used=None if source is None else source.sequence,
            was_taken=waiting == sent.tx_hash,
            ledgers_out=out_for if self._may_be_queued else None,
            source_has_another=waiting not in (None, sent.tx_hash),
            others_were_taken=queue.taken > self._taken_before,
        )

    async def _account(self) -> AccountState | None:
        try:
            return await self._context.rpc.account(self._sent.source)
        except RpcUnavailable:
            return None

    async def _wait(self, step: _SendAgain) -> bool:
        """Wait to send again; False when time is up or no newer ledger closed."""
        while self._context.clock.monotonic() + self._context.poll_s <= self._until:
            await self._context.clock.sleep(self._context.poll_s)
            if step.after_ledger is None or await self._newest_ledger() > step.after_ledger:
                return True
        return False

    async def _newest_ledger(self) -> int:
        if self._context.ledgers is None:
            source = await self._account()
            return 0 if source is None else source.as_of_ledger
        try:
            return self._context.ledgers.now().sequence
        except ClockStale:
            return 0

    def _give_up(self, step: _SendAgain) -> NotSent | Refused | Indeterminate:
        if self._may_be_queued or (self._may_be_out and step.refusal is None):
            return Indeterminate()
        return step.refusal or NotSent()
