"""Send one signed envelope and learn its fate; never sends another in its place."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from farebox.kernel.clock import Clock
from farebox.stellar.ledger_clock import ClockStale
from farebox.stellar.rpc import RpcUnavailable, TransactionFound, TransactionNotFound
from farebox.submission import deliver
from farebox.submission.absences import Absences
from farebox.submission.deliver import (
    RESOURCES_REFUSED,
    Delivery,
    Ledgers,
    Means,
    QueueSight,
    Taken,
)
from farebox.submission.fate import (
    Dead,
    Fate,
    Indeterminate,
    Refused,
    Seen,
    SentEnvelope,
    judge_absence,
    least_telling,
)
from farebox.submission.look_up import look_up_inner


class Rpc(deliver.Rpc, Protocol):
    """The calls a submission needs."""

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound: ...


class Watch(Protocol):
    """Sees what lands from now on."""

    async def fate(
        self, sent: SentEnvelope, *, until: float
    ) -> TransactionFound | Dead | Indeterminate: ...


class Submitter:
    """Brings one envelope to the network and watches for it there.

    `ledgers` tells without a call when a ledger closed. `on_resources_refused` is called when the
    network did not admit the resources of an envelope: its settings may have changed.
    """

    def __init__(
        self,
        rpc: Rpc,
        watch: Watch,
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
        self._sight = QueueSight()
        self._absences = Absences()
        self._ledgers = ledgers
        self._means = Means(rpc, clock, self._sight, self.observe, ledgers, poll_s)

    async def submit(
        self,
        sent: SentEnvelope,
        *,
        until: float,
        on_taken: Callable[[], Awaitable[object]],
        may_be_out: bool = False,
    ) -> Fate:
        """Deliver `sent`, which is stored already, and wait for its fate until `until` (monotonic).

        The same bytes may go out several times; never others. `may_be_out` says that they may
        have gone out before, so that no refusal proves anything; past its time bound by the
        ledger's clock it is only watched. `on_taken` is awaited once a node has taken it.
        `Indeterminate` is an answer, never a reason to make another envelope.
        """
        if may_be_out and self._is_outlived(sent):
            return await self.wait(sent, until=until)
        give_up = min(until, self._clock.monotonic() + self._deliver_s)
        delivery = Delivery(self._means, sent, until=give_up, may_be_out=may_be_out)
        delivered = await delivery.run(deadline=until)
        if isinstance(delivered, Refused) and delivered.result_code == RESOURCES_REFUSED:
            self._on_resources_refused()
        if isinstance(delivered, Taken):
            await on_taken()
        elif not isinstance(delivered, Indeterminate):
            return delivered
        if may_be_out:
            return await self.wait(sent, until=until)
        fate = await self._watch.fate(sent, until=until)
        if isinstance(fate, Dead):
            self._absences.confirm(sent, fate)
            return await self.wait(sent, until=until)
        if isinstance(fate, TransactionFound):
            self._sight.resolved(sent)
        return fate

    def _is_outlived(self, sent: SentEnvelope) -> bool:
        """Whether a ledger closed at or past the bound; our own wall clock is not asked."""
        try:
            return self._ledgers is not None and self._ledgers.now().close_at >= sent.max_time
        except ClockStale:
            return True  # no node is heard that could take it

    async def wait(self, sent: SentEnvelope, *, until: float) -> Fate:
        """Ask for the fate of an envelope sent long ago until `until` (monotonic)."""
        while True:
            fate = await self.observe(sent)
            if not isinstance(fate, Indeterminate):
                return fate
            if self._clock.monotonic() + self._poll_s > until:
                return Indeterminate()
            await self._clock.sleep(self._poll_s)

    async def observe(self, sent: SentEnvelope) -> Seen:
        """Look once; an outage shows nothing and proves nothing.

        An absence is an answer only when an earlier look saw it as of an earlier ledger.
        """
        try:
            seen = await self._observe(sent)
        except RpcUnavailable:
            return Indeterminate()
        if isinstance(seen, TransactionFound):
            self._absences.forget(sent)
        else:
            seen = self._absences.confirm(sent, seen)
        if not isinstance(seen, Indeterminate):
            self._sight.resolved(sent)
        return seen

    async def _observe(self, sent: SentEnvelope) -> Seen:
        """Ask for the envelope; for what is inside it only where its absence could be final.

        A stranger may have landed the inner transaction in a fee bump of their own. Each absence
        is judged by the ledgers its own answer names: two nodes may stand behind one address.
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
            answer = least_telling(answer, inner)
        absence = judge_absence(sent, answer, None)
        if isinstance(absence, Dead) or answer.latest_close_at <= sent.max_time:
            return absence
        return judge_absence(sent, answer, await self._rpc.account(sent.source))
