"""Whose a request's name is, and the answer that a seller's key gets again.

Two names, two meanings. The seller's `Idempotency-Key` replays the final answer of the request it
was first given with, a success included. The buyer's payment identifier replays nothing: it only
keeps one identifier from standing for two payments.

A name is written for an accepted payment alone, beside the payment's own row, and belongs to that
request while the row is there; so a refused request, or one of which nothing was sent, uses up no
name.
"""

from collections.abc import Callable
from typing import Final

import structlog

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal import store
from farebox.facilitator.requests import idempotency_store
from farebox.facilitator.requests.name import NamedRequest, NameKind, RequestName
from farebox.facilitator.settling.outcome import (
    NotAdmitted,
    NotSettled,
    Pending,
    Settled,
    SettleOutcome,
    duplicate,
)
from farebox.kernel.clock import Clock
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.x402.reasons import Reason, Retry, explain

_SWEEP_EVERY_S: Final = 60.0
_SWEPT_AT_ONCE: Final = 500  # rows a statement: it holds no lock for long
_REUSED: Final = {
    NameKind.KEY: Reason.IDEMPOTENCY_KEY_REUSED,
    NameKind.IDENTIFIER: Reason.PAYMENT_IDENTIFIER_REUSED,
}

log = structlog.get_logger(__name__)
Body = Callable[[SettleOutcome], bytes]  # an outcome as it is written to the caller


class RequestNames:
    """The names of all requests, in the database the journal is in."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def look_up(self, request: NamedRequest) -> bytes | None:
        """The answer kept for the request's key, if there is one.

        Raises:
            NotAdmitted: one of the names belongs to another request.
            DatabaseUnavailable: nothing is known.
        """
        async with self._database.connection() as db:
            for name in request.names:
                held = await idempotency_store.find_name(db, name, now=self._clock.now())
                if held is None:
                    continue
                if held.request_digest != request.digest and held.is_live:
                    raise _reused(name, request.identity)
                if held.request_digest == request.digest and held.answer is not None:
                    return held.answer
        return None

    async def take(self, request: NamedRequest) -> None:
        """Every name belongs to this request, whose payment is claimed.

        Raises:
            NotAdmitted: one belongs to another request; none was taken.
            DatabaseUnavailable: whether they were taken is unknown.
        """
        async with self._database.transaction() as db:
            await self._take(db, request)

    async def own_success(self, request: NamedRequest, settled: Settled, body: Body) -> bytes:
        """The success for one caller and its key, ever; for others what their key was told, or that
        it is a duplicate.

        Success and answer are kept by one commit, so that a key asked again after a crash gets it.

        Raises:
            NotAdmitted: a name belongs to another request; the success is left free.
        """
        identity = settled.identity
        try:
            async with self._database.transaction() as db:
                await self._take(db, request)
                now = self._clock.now()
                (is_owned,) = await store.take_successes(
                    db, [(identity, settled.request_digest)], at=now
                )
                answer = body(settled if is_owned else duplicate(identity, settled.tx_hash))
                if request.key is None:
                    return answer
                kept = await idempotency_store.keep_answer(
                    db, request.key, request.digest, answer, now=now
                )
                return kept if kept is not None else answer
        except DatabaseUnavailable:
            return body(Pending(identity.network, identity.payer, settled.tx_hash))

    async def keep(self, request: NamedRequest, outcome: SettleOutcome, answer: bytes) -> bytes:
        """What is answered: `answer`, or what the key was told before.

        Only a final answer is kept, and only for a key that was taken with its payment. Where the
        database is away nothing is: the payment's own row gives the same failure again.
        """
        if request.key is None or not is_final(outcome):
            return answer
        try:
            async with self._database.connection() as db:
                kept = await idempotency_store.keep_answer(
                    db, request.key, request.digest, answer, now=self._clock.now()
                )
        except DatabaseUnavailable:
            log.warning("idempotency.not_kept", payer=request.identity.payer)
            return answer
        return kept if kept is not None else answer

    async def sweep(self) -> int:
        """Forget names past their time, a bounded number of them; how many."""
        async with self._database.connection() as db:
            return await idempotency_store.delete_expired(
                db, before=self._clock.now(), limit=_SWEPT_AT_ONCE
            )

    async def run(self) -> None:
        """Sweep for ever, batch after batch while there is more."""
        while True:
            try:
                while await self.sweep() == _SWEPT_AT_ONCE:
                    await self._clock.sleep(0)
            except DatabaseUnavailable:
                log.warning("idempotency.database_away")
            await self._clock.sleep(_SWEEP_EVERY_S)

    async def _take(self, db: Connection, request: NamedRequest) -> None:
        now = self._clock.now()
        for name in request.names:
            if not await idempotency_store.take_name(db, name, request, now=now):
                raise _reused(name, request.identity)


def is_final(outcome: SettleOutcome) -> bool:
    """Whether a repeat can never be told anything else."""
    if isinstance(outcome, NotSettled):
        return explain(outcome.reason).retry is Retry.NEVER
    return isinstance(outcome, Settled)


def _reused(name: RequestName, identity: PaymentIdentity) -> NotAdmitted:
    return NotAdmitted(_REUSED[name.kind], identity.network, identity.payer)
