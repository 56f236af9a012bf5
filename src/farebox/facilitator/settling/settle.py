"""Settle a payment: one identity, one envelope at a time, at most one success ever answered."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Final
from uuid import uuid4

import structlog

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.foreign import Authorization, ForeignLandings, LookUpFailed
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.journal.restore_store import LostRecord
from farebox.facilitator.settlement import FINAL, Claim, Ending, Settlement, SettlementState
from farebox.facilitator.settling.departure import Departure
from farebox.facilitator.settling.outcome import (
    NothingSent,
    NotSettled,
    Pending,
    Settled,
    SettleOutcome,
    duplicate,
    outcome_of,
)
from farebox.facilitator.settling.send_payment import PaymentSender, Waits
from farebox.facilitator.verification.verdict import Accepted, Rejected, SignedTransfer
from farebox.facilitator.verification.verify import Verifier
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason

_LOOK_PAUSE_S: Final = 0.25
_HASH_WAIT_S: Final = 15.0  # a row without a hash gets one, or is given back, well within this
_RETRY_AFTER_S: Final = 5
_DRAIN_PAUSE_S: Final = 0.05

log = structlog.get_logger(__name__)


class Settler:
    """Judges, claims, sends; or finds what an earlier request for the same payment came to."""

    def __init__(
        self,
        verifier: Verifier,
        senders: Mapping[Network, PaymentSender],
        journal: SettlementJournal,
        clock: Clock,
        waits: Waits,
        departure: Departure,
        *,
        foreign: Mapping[Network, ForeignLandings],
    ) -> None:
        self._verifier, self._senders, self._departure = verifier, senders, departure
        self._journal, self._clock, self._waits = journal, clock, waits
        self._foreign = foreign
        self._callers = 0
        self._live: dict[PaymentIdentity, asyncio.Task[SettleOutcome]] = {}

    def identify(self, payment: Payment) -> tuple[SignedTransfer, PaymentIdentity] | NotSettled:
        """Which payment this is, without a call; or why it can never be settled."""
        transfer = self._verifier.examine(payment)
        if isinstance(transfer, Rejected):
            return NotSettled(transfer.reason, payment.terms.network, transfer.payer)
        identity = PaymentIdentity(payment.terms.network, transfer.payer, transfer.entry.nonce)
        return transfer, identity

    async def settle(
        self,
        transfer: SignedTransfer,
        identity: PaymentIdentity,
        *,
        on_claimed: Callable[[], Awaitable[object]] | None = None,
        caller: OwnerId | None = None,
    ) -> SettleOutcome:
        """Bring what `identify` found to the ledger, or report what became of it.

        Judged before it is claimed, so that a refused body leaves no trace. `Settled` is not yet
        a success: whoever answers must own it first (`own_success`). Once the payment is claimed
        the work goes on even when the caller leaves. `on_claimed` is awaited once it is claimed
        and before anything is signed; what it raises is raised here, after the claim was given
        back. `caller` bears the cost if one is known.

        Raises:
            NothingSent: the service could not act; the same body may be repeated.
            DatabaseUnavailable: likewise.
        """
        self._callers += 1
        try:
            known = await self._journal.find(identity)
            if known is not None:
                return await self._repeat(known, transfer.payment.request_digest())
            return await self._first(transfer, identity, on_claimed, caller)
        finally:
            self._callers -= 1

    async def known_hash(self, payment: Payment) -> str:
        """The hash recorded for the payment; empty when there is none."""
        found = self.identify(payment)
        known = None if isinstance(found, NotSettled) else await self._journal.find(found[1])
        return known.tx_hash if known is not None else ""

    async def own_success(self, settled: Settled) -> SettleOutcome:
        """`settled` itself for exactly one caller, ever (D1); a duplicate for every other.

        While the database is away nobody can own it: pending, and the same body asks again.
        """
        identity = settled.identity
        try:
            is_owned = await self._journal.take_success(identity, settled.request_digest)
        except DatabaseUnavailable:
            return Pending(identity.network, identity.payer, settled.tx_hash)
        return settled if is_owned else duplicate(identity, settled.tx_hash)

    async def drain(self, *, within_s: float | None = None) -> bool:
        """Return once nobody waits and nothing is carried out, or after so many seconds.

        Whether it is so.
        """
        until = math.inf if within_s is None else self._clock.monotonic() + within_s
        while self._live or self._callers:
            if self._clock.monotonic() >= until:
                return False
            await self._clock.sleep(_DRAIN_PAUSE_S)
        return True

    async def _first(
        self,
        transfer: SignedTransfer,
        identity: PaymentIdentity,
        on_claimed: Callable[[], Awaitable[object]] | None,
        caller: OwnerId | None,
    ) -> SettleOutcome:
        began = self._clock.monotonic()
        digest = transfer.payment.request_digest()
        verdict = await self._verifier.judge(transfer, caller=caller)
        if isinstance(verdict, Rejected):
            known = await self._journal.find(identity)  # settled while we judged: nonce spent
            if known is not None:
                return await self._repeat(known, digest)
            return await self._refused(transfer, identity, verdict)
        claim = self._claim(identity, digest, verdict, caller)
        if await self._journal.claim(claim):
            work = self._carry_out(claim, verdict, on_claimed, began=began)
            return await self._live_call(identity, work)
        known = await self._journal.find(identity)
        if known is None:
            raise NothingSent(identity.network, identity.payer, retry_after_s=_RETRY_AFTER_S)
        return await self._repeat(known, digest)

    async def _refused(
        self, transfer: SignedTransfer, identity: PaymentIdentity, verdict: Rejected
    ) -> NotSettled:
        """A refusal; with the other transaction's hash where it comes from a nonce used there."""
        refusal = NotSettled(verdict.reason, identity.network, verdict.payer)
        if verdict.reason is not Reason.SIMULATION_FAILED:
            return refusal
        terms = transfer.payment.terms
        spent = Authorization(identity, terms.asset, terms.pay_to)
        try:
            # the refusal stands whatever is found, so that an answer as of any ledger will do
            landing = await self._foreign[identity.network].of_used_nonce(spent, as_of_ledger=0)
        except LookUpFailed:
            return refusal
        if landing is None:
            return refusal
        tx_hash = landing.tx_hash.hex()
        if not landing.is_ours:
            return NotSettled(Reason.FOREIGN_LANDING, identity.network, identity.payer, tx_hash)
        lost = LostRecord(transfer.payment, identity, transfer.entry.expires_at_ledger, landing)
        if await self._journal.restore(lost):
            log.warning("settlement.restored", tx_hash=tx_hash)
        return duplicate(identity, tx_hash)

    async def _carry_out(
        self,
        claim: Claim,
        accepted: Accepted,
        on_claimed: Callable[[], Awaitable[object]] | None,
        *,
        began: float,
    ) -> SettleOutcome:
        if on_claimed is not None:
            try:
                await on_claimed()
            except Exception:
                await self._journal.release(claim.identity, claim.claim_id)
                raise
        sender = self._senders[claim.identity.network]
        return await sender.carry_out(claim, accepted, began=began)

    def _claim(
        self,
        identity: PaymentIdentity,
        digest: bytes,
        accepted: Accepted,
        caller: OwnerId | None,
    ) -> Claim:
        terms = accepted.transfer.payment.terms
        return Claim(
            identity=identity,
            claim_id=uuid4(),
            request_digest=digest,
            asset=terms.asset,
            amount=terms.amount,
            pay_to=terms.pay_to,
            expires_at_ledger=accepted.transfer.entry.expires_at_ledger,
            claimed_at=self._clock.now(),
            max_timeout_s=terms.max_timeout_s,
            token_is_verified=accepted.token_is_verified,
            caller=caller,
            discovery=accepted.transfer.payment.kept_discovery,
        )

    async def _live_call(
        self, identity: PaymentIdentity, work: Coroutine[object, object, SettleOutcome]
    ) -> SettleOutcome:
        """Do the work to its end, whether or not the caller stays."""
        task = asyncio.create_task(work)
        self._live[identity] = task
        task.add_done_callback(lambda _: self._live.pop(identity, None))
        return await asyncio.shield(task)

    async def _repeat(self, known: Settlement, digest: bytes) -> SettleOutcome:
        """What a later request for the same payment gets (decisions, Money)."""
        is_same_request = known.request_digest == digest
        wait_s = self._waits.answer_s if is_same_request else _HASH_WAIT_S
        until = self._clock.monotonic() + wait_s
        hash_until = self._clock.monotonic() + _HASH_WAIT_S
        current: Settlement | None = known
        while current is not None:
            if current.state in FINAL or (current.sent is not None and not is_same_request):
                return _known_answer(current, is_same_request=is_same_request)
            if current.sent is not None and known.identity not in self._live:
                sender = self._senders[known.identity.network]
                return await self._live_call(known.identity, sender.resume(current, current.sent))
            now = self._clock.monotonic()
            if now > until or (current.sent is None and now > hash_until):
                break
            if self._departure.has_begun:
                break
            await self._clock.sleep(_LOOK_PAUSE_S)
            try:
                current = await self._journal.find(known.identity)
            except DatabaseUnavailable:
                break  # what was seen before still stands
        if current is not None and current.sent is not None:
            return Pending(known.identity.network, known.identity.payer, current.tx_hash)
        raise NothingSent(
            known.identity.network, known.identity.payer, retry_after_s=_RETRY_AFTER_S
        )


def _known_answer(known: Settlement, *, is_same_request: bool) -> Settled | NotSettled:
    """The answer to a repeat, from a row that is final or belongs to another request."""
    identity = known.identity
    ended_badly = known.state in FINAL and known.state is not SettlementState.CONFIRMED
    if ended_badly or (is_same_request and not known.is_answered):
        ending = Ending(known.state, known.reason)
        return outcome_of(ending, known, known.tx_hash)
    return duplicate(identity, known.tx_hash)
