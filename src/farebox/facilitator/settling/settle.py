"""Settle a payment: one identity, one envelope at a time, at most one success."""

import asyncio
import math
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final, Protocol, TypeVar
from uuid import uuid4

import structlog

from farebox.facilitator.journal.claim_release import ClaimReleaser, InterruptedClaim
from farebox.facilitator.journal.foreign_landing import (
    ForeignLanding,
    LandingSearch,
    LandingSearchFailed,
    LostRecord,
    SpentAuthorization,
)
from farebox.facilitator.settlement import (
    FINAL_STATES,
    Claim,
    NothingSent,
    NotSettled,
    PaymentIdentity,
    Pending,
    Settlement,
    SettleOutcome,
    StoredResponse,
    build_duplicate,
    read_outcome,
    read_repeat,
)
from farebox.facilitator.settling.send_payment import SettleTimeouts
from farebox.facilitator.settling.settle_request import SettleRequest, build_request
from farebox.facilitator.settling.shutdown_signal import ShutdownSignal
from farebox.facilitator.verification.verdict import Accepted, Rejected, Verdict
from farebox.facilitator.verification.verify import PaymentJudge
from farebox.kernel.caller import Caller, budget_owner
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.kernel.slots import Requester, Share
from farebox.stellar.simulation_slots import SimulationPurpose
from farebox.storage.faults import DatabaseUnavailable
from farebox.submission.fate import SentEnvelope
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason

_POLL_S: Final = 0.25
_HASH_WAIT_S: Final = 15.0  # a row without a hash gets one, or is released, well within this
_RETRY_AFTER_S: Final = 5
_MAX_ATTEMPTS: Final = 3  # each after another request's claim was released
_DRAIN_PAUSE_S: Final = 0.05
# refusals of an authorization that was valid, and may have been used elsewhere
_MAY_HAVE_LANDED: Final = frozenset(
    {
        Reason.SIMULATION_FAILED,
        Reason.EXPIRED,
        Reason.EXPIRES_TOO_SOON,
        Reason.EXPIRATION_TOO_FAR,
    }
)
_MAX_LIFETIME_LEDGERS: Final = 1_000  # that are searched; a ledger takes a second at least

_Outcome = TypeVar("_Outcome", bound=SettleOutcome | None)

log = structlog.get_logger(__name__)


class SettleJournal(Protocol):
    """The steps of `SettlementJournal` that a settlement begins with."""

    async def find(self, identity: PaymentIdentity) -> Settlement | None: ...

    async def claim(self, claim: Claim) -> bool: ...

    async def restore(self, lost: LostRecord) -> bool: ...


class KeyReservations(Protocol):
    """The steps of `StoredResponses` before an outcome."""

    async def find(self, request: SettleRequest) -> StoredResponse | None: ...

    async def reserve(self, request: SettleRequest) -> None: ...


class SettlementSender(Protocol):
    """Sends claimed payments on one network, as `PaymentSender` does."""

    async def send(
        self, claim: Claim, accepted: Accepted, *, client: str, began: float
    ) -> SettleOutcome: ...

    async def resume(
        self, known: Settlement, sent: SentEnvelope, *, until: float, may_take_over: bool
    ) -> SettleOutcome | None: ...


class Settler:
    """Judges, claims and sends a payment, or finds the outcome of an earlier request for it."""

    def __init__(
        self,
        verifier: PaymentJudge,
        senders: Mapping[Network, SettlementSender],
        journal: SettleJournal,
        responses: KeyReservations,
        claim_releaser: ClaimReleaser,
        clock: Clock,
        timeouts: SettleTimeouts,
        shutdown: ShutdownSignal,
        *,
        foreign: Mapping[Network, LandingSearch],
    ) -> None:
        self._verifier, self._senders, self._shutdown = verifier, senders, shutdown
        self._journal, self._responses = journal, responses
        self._clock, self._timeouts = clock, timeouts
        self._foreign, self._claim_releaser = foreign, claim_releaser
        self._requests = 0
        self._tasks: dict[PaymentIdentity, asyncio.Task[SettleOutcome | None]] = {}

    def identify(
        self, payment: Payment, *, key: str | None, caller: Caller | None, client: str
    ) -> SettleRequest | NotSettled:
        """Build the request to settle `payment` without a call, or the reason it can never be."""
        transfer = self._verifier.examine(payment)
        if isinstance(transfer, Rejected):
            return NotSettled(transfer.reason, payment.terms.network, transfer.payer)
        return build_request(transfer, key=key, caller=caller, client=client)

    async def judge(self, request: SettleRequest) -> Accepted | NotSettled | None:
        """Judge a payment for a caller that reserves its own row before it settles.

        The payment that is accepted is settled by this verdict, without another simulation. None
        for a payment that has landed or is on its way: `settle` finds its outcome.

        Raises:
            KeyConflict: an idempotency key is reserved by another request.
            DatabaseUnavailable: the journal cannot be read.
        """
        with self._in_progress():
            await self._responses.find(request)
            row = await self._journal.find(request.identity)
            if row is not None:
                return _read_failure(row)
            verdict = await self._judge(request)
            if isinstance(verdict, Accepted):
                return verdict
            row = await self._journal.find(request.identity)  # perhaps settled meanwhile
            if row is not None:
                return _read_failure(row)
            refusal = await self._refuse(request, verdict)
            return None if refusal.reason is Reason.DUPLICATE_SETTLEMENT else refusal

    async def settle(
        self, request: SettleRequest, *, accepted: Accepted | None = None
    ) -> SettleOutcome | StoredResponse:
        """Bring the payment to the ledger, or find the outcome of an earlier request for it.

        The payment is judged before it is claimed, so that a refused body leaves no row; `accepted`
        is the verdict that `judge` has just given. `Settled` is not yet a success:
        `StoredResponses.commit` takes that, just before the response is written. Once the payment
        is claimed the work continues though the caller disconnects.

        Raises:
            KeyConflict: an idempotency key is reserved by another request; nothing was sent.
            NothingSent: the service could not act; the same body may be repeated.
            DatabaseUnavailable: likewise.
        """
        with self._in_progress():
            began = self._clock.monotonic()
            if accepted is not None:
                return await self._settle_accepted(request, accepted, began=began)
            stored = await self._responses.find(request)
            if stored is not None:
                return stored
            for _ in range(_MAX_ATTEMPTS):
                known = await self._journal.find(request.identity)
                if known is None:
                    return await self._settle_first(request, began=began)
                outcome = await self._follow(known, request.digest_at(known), began=began)
                if outcome is not None:
                    return outcome
            raise _nothing_sent(request.identity)

    @contextmanager
    def _in_progress(self) -> Iterator[None]:
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    async def find_hash(self, identity: PaymentIdentity) -> str:
        """Find the hash recorded for the payment; empty when there is none."""
        known = await self._journal.find(identity)
        return known.tx_hash if known is not None else ""

    async def drain(self, *, within_s: float | None = None) -> bool:
        """Wait, `within_s` seconds at most, until no request is in progress; whether none is."""
        until = math.inf if within_s is None else self._clock.monotonic() + within_s
        while self._tasks or self._requests:
            if self._clock.monotonic() >= until:
                return False
            await self._clock.sleep(_DRAIN_PAUSE_S)
        return True

    async def _judge(self, request: SettleRequest) -> Verdict:
        requester = Requester(SimulationPurpose.SETTLEMENT, Share(request.client))
        return await self._verifier.judge(request.transfer, requester, caller=request.caller)

    async def _settle_first(self, request: SettleRequest, *, began: float) -> SettleOutcome:
        verdict = await self._judge(request)
        if isinstance(verdict, Rejected):  # perhaps settled meanwhile: its nonce is used
            known = await self._find_outcome(request, began=began)
            return known or await self._refuse(request, verdict)
        return await self._settle_accepted(request, verdict, began=began)

    async def _settle_accepted(
        self, request: SettleRequest, accepted: Accepted, *, began: float
    ) -> SettleOutcome:
        """Claim the payment and send it, or find what another request's claim has come to."""
        claim = self._build_claim(request, accepted)
        if await self._take_claim(claim):
            return await self._run_to_end(
                request.identity, self._reserve_and_send(request, claim, accepted, began=began)
            )
        known = await self._find_outcome(request, began=began)
        if known is None:
            raise _nothing_sent(request.identity)
        return known

    async def _find_outcome(self, request: SettleRequest, *, began: float) -> SettleOutcome | None:
        known = await self._journal.find(request.identity)
        digest = b"" if known is None else request.digest_at(known)
        return None if known is None else await self._follow(known, digest, began=began)

    async def _take_claim(self, claim: Claim) -> bool:
        """Claim the payment's identity; the claim is released where the result is unknown."""
        try:
            return await self._journal.claim(claim)
        except Exception:
            await self._claim_releaser.release(InterruptedClaim(claim))
            raise

    async def _refuse(self, request: SettleRequest, verdict: Rejected) -> NotSettled:
        """The refusal, or the other transaction's hash where that used the nonce.

        A payment that has landed elsewhere is refused by its simulation, or by its expiry before.
        While nobody can say so, the refusal is one that is retried later, since a final one tells
        the buyer to sign again.
        """
        transfer, identity = request.transfer, request.identity
        refusal = NotSettled(verdict.reason, identity.network, verdict.payer)
        if verdict.reason not in _MAY_HAVE_LANDED:
            return refusal
        try:
            landing = await self._find_landing(request, verdict.reason)
        except LandingSearchFailed as failed:
            if failed.is_beyond_history:  # nobody will ever know
                return refusal
            return replace(refusal, reason=Reason.NETWORK_UNAVAILABLE)
        if landing is None:
            return refusal
        tx_hash = landing.tx_hash.hex()
        if not landing.is_ours:
            return NotSettled(Reason.FOREIGN_LANDING, identity.network, identity.payer, tx_hash)
        lost = LostRecord(transfer.payment, identity, transfer.entry.expires_at_ledger, landing)
        if await self._journal.restore(lost):
            log.warning("settlement.restored", tx_hash=tx_hash)
        return build_duplicate(identity, tx_hash)

    async def _find_landing(self, request: SettleRequest, reason: Reason) -> ForeignLanding | None:
        """Find who used the nonce: its entry is on the ledger until the authorization expires.

        Raises:
            LandingSearchFailed: nothing is known.
        """
        terms, identity = request.transfer.payment.terms, request.identity
        spent = SpentAuthorization(identity, terms.asset, terms.pay_to, terms.amount)
        search, last = self._foreign[identity.network], request.transfer.entry.expires_at_ledger
        if reason is not Reason.EXPIRED:
            # the payment is refused in any case, so that a response as of any ledger will do
            return await search.find_by_nonce(spent, as_of_ledger=0)
        first = max(1, last - min(terms.max_timeout_s, _MAX_LIFETIME_LEDGERS))
        return await search.find_in_ledgers(spent, first=first, last=last)

    async def _reserve_and_send(
        self, request: SettleRequest, claim: Claim, accepted: Accepted, *, began: float
    ) -> SettleOutcome:
        """Reserve the request's keys before anything is signed, then send."""
        try:
            await self._responses.reserve(request)
        except Exception:
            await self._claim_releaser.release(InterruptedClaim(claim))
            raise
        sender = self._senders[claim.identity.network]
        return await sender.send(claim, accepted, client=request.client, began=began)

    def _build_claim(self, request: SettleRequest, accepted: Accepted) -> Claim:
        payment, caller = request.transfer.payment, request.caller
        terms, now = payment.terms, self._clock.now()
        return Claim(
            identity=request.identity,
            claim_id=uuid4(),
            request_digest=request.digest,
            asset=terms.asset,
            amount=terms.amount,
            pay_to=terms.pay_to,
            expires_at_ledger=request.transfer.entry.expires_at_ledger,
            claimed_at=now,
            ends_by=now + timedelta(seconds=self._timeouts.answer_s),
            max_timeout_s=terms.max_timeout_s,
            token_is_verified=accepted.token_is_verified,
            caller=None if caller is None else caller.owner,
            budget_owner=budget_owner(caller),
            discovery=payment.stored_discovery,
            is_purchase=request.is_purchase,
        )

    async def _run_to_end(
        self, identity: PaymentIdentity, work: Coroutine[object, object, _Outcome]
    ) -> _Outcome:
        """Run the work to its end, though the caller disconnects."""
        task = asyncio.create_task(work)
        self._tasks[identity] = task
        task.add_done_callback(partial(self._forget, identity))
        return await asyncio.shield(task)

    def _forget(self, identity: PaymentIdentity, task: "asyncio.Task[_Outcome]") -> None:
        if self._tasks.get(identity) is task:  # a later one may have replaced it
            del self._tasks[identity]

    async def _follow(
        self, known: Settlement, digest: bytes, *, began: float
    ) -> SettleOutcome | None:
        """Wait for the outcome of an earlier request for the payment (docs/decisions/0005).

        None when its claim was released meanwhile, so that the payment is free. The caller has
        waited since `began` (monotonic seconds).
        """
        is_same_request = known.request_digest == digest
        until = began + (self._timeouts.answer_s if is_same_request else _HASH_WAIT_S)
        hash_until = began + _HASH_WAIT_S
        dead: bytes | None = None  # an envelope that the call of the claim may replace
        current: Settlement | None = known
        while current is not None:
            if current.state in FINAL_STATES or (current.sent is not None and not is_same_request):
                return read_repeat(current, digest)
            sent = current.sent
            if sent and sent.tx_hash != dead and known.identity not in self._tasks:
                sender = self._senders[known.identity.network]
                resumed = sender.resume(current, sent, until=until, may_take_over=dead is None)
                outcome = await self._run_to_end(known.identity, resumed)
                if outcome is not None:
                    return outcome
                dead = sent.tx_hash
            now = self._clock.monotonic()
            if now > until or (current.sent is None and now > hash_until):
                break
            if self._shutdown.is_set:
                break
            await self._clock.sleep(_POLL_S)
            try:
                current = await self._journal.find(known.identity)
            except DatabaseUnavailable:
                break  # the row that was read before still holds
        return None if current is None else _read_unfinished(current)


def _read_failure(row: Settlement) -> NotSettled | None:
    """Read the refusal off a row whose payment never lands; None while it may, or has landed."""
    outcome = read_outcome(row)
    if not isinstance(outcome, NotSettled) or row.has_landed_elsewhere:
        return None
    return None if outcome.reason is Reason.OUTCOME_UNPROVEN else outcome


def _nothing_sent(identity: PaymentIdentity) -> NothingSent:
    return NothingSent(identity.network, identity.payer, retry_after_s=_RETRY_AFTER_S)


def _read_unfinished(row: Settlement) -> Pending:
    """Read the pending outcome off a row that is not final.

    Raises:
        NothingSent: no envelope is recorded yet.
    """
    if row.sent is None:
        raise _nothing_sent(row.identity)
    return Pending(row.identity.network, row.identity.payer, row.tx_hash)
