"""Give each request to settle its one answer: carried out, owned, and kept for its key."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.requests.idempotency import Body, RequestNames
from farebox.facilitator.requests.name import NamedRequest, kept_until, names_of
from farebox.facilitator.settling.outcome import NotSettled, Settled
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.verification.verdict import SignedTransfer
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.x402.payment import Payment

_LONGEST_KEPT: Final = timedelta(days=3)  # what is kept when nobody knows which ledger it is


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What to write to a caller, and the payment it is about where the request names one."""

    body: bytes
    identity: PaymentIdentity | None = None


class Answering:
    """Settles under the names that a caller and its buyer gave the request, if they gave any."""

    def __init__(
        self,
        settler: Settler,
        names: RequestNames,
        ledgers: Mapping[Network, Ledgers],
        clock: Clock,
    ) -> None:
        self._settler, self._names = settler, names
        self._ledgers, self._clock = ledgers, clock

    async def answer(
        self,
        payment: Payment,
        *,
        key: str | None,
        caller: OwnerId | None,
        body: Body,
        on_settled: Callable[[PaymentIdentity], Awaitable[object]],
        has_left: Callable[[], Awaitable[bool]],
    ) -> Answer | None:
        """What to write to the caller; None when it left before a success became its own.

        Such a success stays free for the same request, sent again. `on_settled` is awaited before
        that, for nothing may stand between owning a success and writing it; it must not raise.

        Raises:
            NotAdmitted: a name of the request belongs to another one; nothing was carried out.
            NothingSent: the service could not act; the same body may be repeated.
            DatabaseUnavailable: likewise.
        """
        found = self._settler.identify(payment)
        if isinstance(found, NotSettled):
            return Answer(body(found))
        transfer, identity = found
        named = self._named(transfer, identity, key, caller)
        if named is not None and (kept := await self._names.look_up(named)) is not None:
            return Answer(kept, identity)
        on_claimed = None if named is None else partial(self._names.take, named)
        outcome = await self._settler.settle(
            transfer, identity, on_claimed=on_claimed, caller=caller
        )
        if isinstance(outcome, Settled):
            await on_settled(identity)
            if await has_left():
                return None
            if named is not None:
                return Answer(await self._names.own_success(named, outcome, body), identity)
            outcome = await self._settler.own_success(outcome)
        answer = body(outcome)
        if named is not None:
            answer = await self._names.keep(named, outcome, answer)
        return Answer(answer, identity)

    async def known_hash(self, payment: Payment) -> str:
        """The hash recorded for the payment, empty when there is none or nobody can say."""
        return await self._settler.known_hash(payment)

    def _named(
        self,
        transfer: SignedTransfer,
        identity: PaymentIdentity,
        key: str | None,
        caller: OwnerId | None,
    ) -> NamedRequest | None:
        payment = transfer.payment
        names = names_of(identity, key=key, identifier=payment.identifier, caller=caller)
        if not names:
            return None
        try:
            now = self._ledgers[identity.network].now()
            keep_until = kept_until(transfer.entry.expires_at_ledger, now)
        except ClockStale:
            keep_until = self._clock.now() + _LONGEST_KEPT
        keep_until = min(keep_until, self._clock.now() + _LONGEST_KEPT)
        return NamedRequest(names, identity, payment.request_digest(), keep_until)
