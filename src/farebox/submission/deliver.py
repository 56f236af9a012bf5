"""Bring one signed envelope into a node's queue: the same bytes each time, for a bounded time."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import (
    AccountState,
    RpcUnavailable,
    SendAnswer,
    SendStatus,
    TransactionFound,
)
from farebox.submission.fate import Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.not_taken import Evidence, NotTakenCause, why_not_taken

BAD_SEQUENCE: Final = "txBAD_SEQ"
RESOURCES_REFUSED: Final = "txSOROBAN_INVALID"
_UNUSED_NUMBER_RESENDS: Final = 2

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Rpc(Protocol):
    """The calls a delivery makes."""

    async def send(self, envelope: str) -> SendAnswer: ...

    async def account(self, address: Address) -> AccountState | None: ...


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading: ...


class Taken:
    """A node has it in its queue."""


Delivered = Taken | Fate


@dataclass(slots=True)
class QueueSight:
    """What this process knows of the network's queue: who has an envelope in it, who got in."""

    waiting: dict[Address, bytes] = field(default_factory=dict)  # source: hash that was taken
    taken: int = 0  # envelopes that got in since the start

    def took(self, sent: SentEnvelope) -> None:
        """A node queued it."""
        self.waiting[sent.source] = sent.tx_hash
        self.taken += 1

    def resolved(self, sent: SentEnvelope) -> None:
        """It waits nowhere any more."""
        if self.waiting.get(sent.source) == sent.tx_hash:
            del self.waiting[sent.source]


@dataclass(frozen=True, slots=True)
class Means:
    """What every delivery on one network shares."""

    rpc: Rpc
    clock: Clock
    sight: QueueSight
    look: Callable[[SentEnvelope], Awaitable[Fate]]  # for the fate of an envelope, once
    ledgers: Ledgers | None  # None: the source's account tells how far the ledger is
    poll_s: float


@dataclass(frozen=True, slots=True)
class _Again:
    """Not in yet: the same bytes may be sent again, once a ledger after `after_ledger` closed."""

    after_ledger: int | None = None
    refusal: Refused | None = None


class Delivery:
    """One envelope on its way to a queue.

    `may_be_out` says that it may have been sent before; then no refusal proves anything.
    """

    def __init__(self, means: Means, sent: SentEnvelope, *, until: float, may_be_out: bool) -> None:
        self._means, self._sent, self._until = means, sent, until
        self._may_be_out = may_be_out
        self._taken_before = means.sight.taken
        self._unused_number_resends = 0
        self._bytes = base64.b64encode(sent.envelope.reveal()).decode()

    async def run(self, *, deadline: float) -> Delivered:
        """Send until a node has it, refuses it for good, or the time for it is over.

        What may be out is looked for before it is sent again: it may have landed meanwhile.
        Nothing is sent anew after `until`; a call under way is left at `deadline` (monotonic).
        """
        while True:
            step = await self._send(deadline)
            if not isinstance(step, _Again):
                return step
            if not await self._wait(step):
                return self._give_up(step)
            if self._may_be_out:
                fate = await self._means.look(self._sent)
                if not isinstance(fate, Indeterminate):
                    return fate

    async def _send(self, deadline: float) -> Delivered | _Again:
        left_s = max(deadline - self._means.clock.monotonic(), self._means.poll_s)
        try:
            async with asyncio.timeout(left_s):
                answer = await self._means.rpc.send(self._bytes)
        except RpcUnavailable as outage:
            self._may_be_out = self._may_be_out or not outage.certainly_not_sent
            return _Again()
        except TimeoutError:
            self._may_be_out = True
            return _Again()
        self._may_be_out = self._may_be_out or answer.may_be_out
        return await self._judge(answer)

    async def _judge(self, answer: SendAnswer) -> Delivered | _Again:
        if answer.hash != self._sent.tx_hash.hex():
            # Ours is the record; what the node took for another one may be out all the same.
            log.error("submission.hash_differs", tx_hash=self._sent.tx_hash.hex())
            self._may_be_out = True
            return Indeterminate()
        if answer.status is SendStatus.ERROR:
            return await self._after_error(answer)
        if answer.status is SendStatus.TRY_AGAIN_LATER:
            return await self._after_turned_away(answer)
        self._means.sight.took(self._sent)
        return Taken()

    async def _after_error(self, answer: SendAnswer) -> Delivered | _Again:
        """An envelope that may be out already is looked up before its refusal is believed."""
        code = answer.result_code
        if code is not None and code != BAD_SEQUENCE and not self._may_be_out:
            return Refused(code, answer.fee_wanted)
        fate = await self._means.look(self._sent)
        if isinstance(fate, TransactionFound):
            return fate
        if self._may_be_out or code is None:
            return Indeterminate()
        return await self._after_bad_sequence(answer)

    async def _after_bad_sequence(self, answer: SendAnswer) -> Refused | _Again:
        """A number that is unused is not wrong: the node is behind, or an earlier one is to land.

        Nothing of this envelope is out, so a refusal that stays is final.
        """
        refusal = Refused(BAD_SEQUENCE)
        source = await self._account()
        if source is None or source.sequence >= self._sent.source_sequence:
            return refusal
        self._unused_number_resends += 1
        if self._unused_number_resends > _UNUSED_NUMBER_RESENDS:
            return refusal
        return _Again(answer.latest_ledger, refusal)

    async def _after_turned_away(self, answer: SendAnswer) -> Delivered | _Again:
        cause = why_not_taken(await self._evidence(answer))
        log.info("submission.not_taken", tx_hash=self._sent.tx_hash.hex(), cause=cause.value)
        if cause is NotTakenCause.BANNED:
            return Indeterminate()  # only to be watched: no node would take it before it is dead
        if cause is not NotTakenCause.NUMBER_USED:
            return _Again(answer.latest_ledger, Refused(cause.value))
        fate = await self._means.look(self._sent)
        if isinstance(fate, TransactionFound):
            return fate
        return Indeterminate() if self._may_be_out else Refused(BAD_SEQUENCE)

    async def _evidence(self, answer: SendAnswer) -> Evidence:
        sent, sight = self._sent, self._means.sight
        source = await self._account()
        waiting = sight.waiting.get(sent.source)
        out_for = answer.latest_ledger - sent.sent_after_ledger
        return Evidence(
            sequence=sent.source_sequence,
            used=None if source is None else source.sequence,
            was_taken=waiting == sent.tx_hash,
            ledgers_out=out_for if self._may_be_out else None,
            source_has_another=waiting not in (None, sent.tx_hash),
            others_were_taken=sight.taken > self._taken_before,
        )

    async def _account(self) -> AccountState | None:
        try:
            return await self._means.rpc.account(self._sent.source)
        except RpcUnavailable:
            return None

    async def _wait(self, step: _Again) -> bool:
        """Whether there is time to send again, and a newer ledger where one was waited for."""
        while self._means.clock.monotonic() + self._means.poll_s <= self._until:
            await self._means.clock.sleep(self._means.poll_s)
            if step.after_ledger is None or await self._newest_ledger() > step.after_ledger:
                return True
        return False

    async def _newest_ledger(self) -> int:
        if self._means.ledgers is None:
            source = await self._account()
            return 0 if source is None else source.as_of_ledger
        try:
            return self._means.ledgers.now().sequence
        except ClockStale:
            return 0

    def _give_up(self, step: _Again) -> NotSent | Refused | Indeterminate:
        if self._may_be_out:
            return Indeterminate()
        return step.refusal or NotSent()
