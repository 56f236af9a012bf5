"""Send one signed envelope and wait for its fate; never send another in its place."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from farebox.kernel.clock import Clock
from farebox.stellar.ledger_clock import ClockStale, Ledgers
from farebox.stellar.rpc import RESOURCES_REFUSED, RpcUnavailable, TransactionFound
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.submission.deliver import (
    Delivered,
    DeliveryContext,
    EnvelopeDelivery,
    NetworkQueue,
    Queued,
)
from farebox.submission.fate import (
    Absences,
    Dead,
    Fate,
    Indeterminate,
    ObservedFate,
    Refused,
    SentEnvelope,
    combine_fates,
    intersect_absences,
    judge_absence,
)
from farebox.submission.watch import look_up_inner


class EnvelopeWatcher(Protocol):
    """Watches new ledgers for an envelope."""

    async def fate(
        self, sent: SentEnvelope, *, until: float
    ) -> TransactionFound | Dead | Indeterminate: ...


class Submitter:
    """Delivers one envelope and waits until it lands or can no longer land.

    `ledgers` is the ledger clock. `on_resources_refused` is called when the network did not admit
    the resources of an envelope: its settings may have changed.
    """

    def __init__(
        self,
        rpc: SorobanRpc,
        watch: EnvelopeWatcher,
        clock: Clock,
        *,
        poll_s: float,
        deliver_s: float,
        ledgers: Ledgers | None = None,
        on_resources_refused: Callable[[], object] = lambda: None,
    ) -> None:
        self._rpc, self._watch, self._clock = rpc, watch, clock
        self._poll_s, self._deliver_s = poll_s, deliver_s
        self._on_resources_refused = on_resources_refused
        self._queue = NetworkQueue()
        self._absences = Absences()
        self._ledgers = ledgers
        self._context = DeliveryContext(rpc, clock, self._queue, self.observe, ledgers, poll_s)

    async def submit(
        self,
        sent: SentEnvelope,
        *,
        until: float,
        on_taken: Callable[[], Awaitable[object]],
        may_be_sent: bool = False,
        may_be_replaced: bool = False,
    ) -> Fate:
        """Deliver `sent`, which is stored already, and wait for its fate until `until` (monotonic).

        The same bytes may be sent several times; never others. `may_be_sent`: they may have been
        sent before, so that no refusal proves anything; past its time bound by the ledger clock
        it is only watched. `on_taken` is awaited once a node has queued it.
        `Indeterminate` is an answer, never a reason to make another envelope, except one with a
        cause: that is returned, and not waited out, to a caller that says `may_be_replaced`.
        """
        if may_be_sent and self._is_outlived(sent):
            return await self.wait(sent, until=until)
        delivered = await self._deliver(sent, until, may_be_sent=may_be_sent)
        if isinstance(delivered, Queued):
            await on_taken()
        elif not isinstance(delivered, Indeterminate) or (may_be_replaced and delivered.cause):
            return delivered
        if may_be_sent:
            return await self.wait(sent, until=until)
        return await self._watch_first(sent, until)

    async def _deliver(self, sent: SentEnvelope, until: float, *, may_be_sent: bool) -> Delivered:
        give_up = min(until, self._clock.monotonic() + self._deliver_s)
        delivery = EnvelopeDelivery(self._context, sent, until=give_up, may_be_sent=may_be_sent)
        delivered = await delivery.run(deadline=until)
        if isinstance(delivered, Refused) and delivered.result_code == RESOURCES_REFUSED:
            self._on_resources_refused()
        return delivered

    async def _watch_first(self, sent: SentEnvelope, until: float) -> Fate:
        """Watch the ledgers from the first on in which it can land."""
        fate = await self._watch.fate(sent, until=until)
        if isinstance(fate, Dead):
            for each in sent.every():
                self._absences.confirm(each, fate)
            return await self.wait(sent, until=until)
        if isinstance(fate, TransactionFound):
            self._queue.remove(sent)
        return fate

    def _is_outlived(self, sent: SentEnvelope) -> bool:
        """Whether a ledger closed at or past the bound; the wall clock is not used."""
        try:
            return self._ledgers is not None and self._ledgers.now().close_at >= sent.max_time
        except ClockStale:
            return True  # no node responds that could queue it

    async def wait(self, sent: SentEnvelope, *, until: float) -> Fate:
        """Look for the fate of an envelope sent earlier until `until` (monotonic)."""
        while True:
            fate = await self.observe(sent)
            if not isinstance(fate, Indeterminate):
                return fate
            if self._clock.monotonic() + self._poll_s > until:
                return Indeterminate()
            await self._clock.sleep(self._poll_s)

    async def observe(self, sent: SentEnvelope) -> ObservedFate:
        """Look once for the envelope and those that it replaced; `Indeterminate` after an outage.

        An absence counts only when an earlier look had it as of an earlier ledger.
        """
        fates: dict[bytes, ObservedFate] = {}
        for each in sent.every():
            fates[each.tx_hash] = seen = await self._observe_one(each)
            if isinstance(seen, TransactionFound) and sent.is_decided_by(seen):
                break
        else:
            seen = combine_fates(sent, fates)
        if not isinstance(seen, Indeterminate):
            self._queue.remove(sent)
        return seen

    async def _observe_one(self, sent: SentEnvelope) -> ObservedFate:
        try:
            seen = await self._observe(sent)
        except RpcUnavailable:
            return Indeterminate()
        if isinstance(seen, TransactionFound):
            self._absences.forget(sent)
            return seen
        return self._absences.confirm(sent, seen)

    async def _observe(self, sent: SentEnvelope) -> ObservedFate:
        """Look up the envelope, and its inner transaction where its absence could be final.

        A stranger may have landed the inner transaction in a fee bump of their own. Each absence
        is judged by the ledgers of its own response: two nodes may share one address.
        """
        answer = await self._rpc.get_transaction(sent.tx_hash.hex())
        if isinstance(answer, TransactionFound):
            return answer
        if answer.latest_close_at <= sent.max_time:
            return Indeterminate()
        if sent.inner_hash is not None:
            inner = await look_up_inner(self._rpc, sent, sent.inner_hash)
            if isinstance(inner, TransactionFound):
                return inner
            answer = intersect_absences(answer, inner)
        absence = judge_absence(sent, answer, None)
        if isinstance(absence, Dead) or answer.latest_close_at <= sent.max_time:
            return absence
        return judge_absence(sent, answer, await self._rpc.account(sent.source))
