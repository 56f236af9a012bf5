"""Idempotency keys: their reservations, and the responses stored under them.

The seller's `Idempotency-Key` replays the final response of the request it was first sent with, a
success included. The buyer's payment identifier replays nothing: it keeps one identifier from
standing for two payments (docs/decisions/0016).

A key is reserved for an accepted payment only, after its row is claimed, and stays reserved while
that row exists. A refused request, or one of which nothing was sent, reserves no key.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from farebox.facilitator.journal import store
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import (
    KeyConflict,
    NotSettled,
    Pending,
    Settled,
    SettleOutcome,
    StoredResponse,
    build_duplicate,
)
from farebox.facilitator.settling import idempotency_store
from farebox.facilitator.settling.settle_request import KeyKind, SettleRequest, retention_end
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import ClockStale, Ledgers
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.storage.prune import PAUSE_S
from farebox.x402.reasons import Reason, Retry, explain

_MAX_KEPT: Final = timedelta(days=3)  # also while the current ledger is unknown
_DELETE_EVERY_S: Final = 60.0
_MAX_DELETED: Final = 500  # rows a statement, which then holds no lock for long
_CONFLICTS: Final = {
    KeyKind.HEADER: Reason.IDEMPOTENCY_KEY_REUSED,
    KeyKind.IDENTIFIER: Reason.PAYMENT_IDENTIFIER_REUSED,
}

log = structlog.get_logger(__name__)


class StoredResponses:
    """The idempotency keys of all requests, in the database of the journal.

    A request without keys costs no statement but the one that takes its success.
    """

    def __init__(
        self,
        database: Database,
        journal: SettlementJournal,
        ledgers: Mapping[Network, Ledgers],
        clock: Clock,
    ) -> None:
        self._database, self._journal = database, journal
        self._ledgers, self._clock = ledgers, clock

    async def find(self, request: SettleRequest) -> StoredResponse | None:
        """Find the response stored under the request's key; None when there is none.

        Raises:
            KeyConflict: one of the keys is reserved by another request.
            DatabaseUnavailable: the keys cannot be read.
        """
        if not request.keys:
            return None
        digest = request.digest
        async with self._database.connection() as db:
            for key in request.keys:
                reservation = await idempotency_store.find_key(db, key, now=self._clock.now())
                if reservation is None:
                    continue
                is_same = reservation.request_digest == digest
                if not is_same and reservation.is_live:
                    raise _build_conflict(key.kind, request)
                if is_same and reservation.response is not None:
                    return StoredResponse(reservation.response)
        return None

    async def reserve(self, request: SettleRequest) -> None:
        """Reserve every key for this request, whose payment is claimed.

        Raises:
            KeyConflict: one is reserved by another request; none was reserved.
            DatabaseUnavailable: whether they were reserved is unknown.
        """
        if request.keys:
            async with self._database.transaction() as db:
                await self._reserve(db, request)

    async def commit(
        self, request: SettleRequest, outcome: SettleOutcome | StoredResponse, response: bytes
    ) -> SettleOutcome | StoredResponse:
        """Commit `response`, the rendered `outcome`, just before it is written to the caller.

        Returns `outcome` itself where it may be written. Otherwise the response stored under the
        key before; or a duplicate, where another request has the payment's one success; or
        pending, while the database is unavailable.

        Raises:
            KeyConflict: a key is reserved by another request; the success stays free.
        """
        match outcome:
            case Settled():
                return await self._commit_success(request, outcome, response)
            case StoredResponse():
                return outcome
            case _:
                return await self._store(request, outcome, response)

    async def _commit_success(
        self, request: SettleRequest, settled: Settled, response: bytes
    ) -> SettleOutcome | StoredResponse:
        """Take the payment's one success, by compare-and-set."""
        identity, attempts = request.identity, self._journal.attempts
        stored = None
        try:
            if request.keys:
                with attempts.attempt(identity, settled.request_digest) as attempt_id:
                    is_owned, stored = await self._take_and_store(
                        request, settled, response, attempt_id
                    )
            else:
                is_owned = await self._journal.take_success(identity, settled.request_digest)
        except DatabaseUnavailable:
            return Pending(identity.network, identity.payer, settled.tx_hash)
        if is_owned:
            attempts.note_answered(identity)
        if stored is not None and not (is_owned and stored == response):
            return StoredResponse(stored)
        return settled if is_owned else build_duplicate(identity, settled.tx_hash)

    async def _take_and_store(
        self, request: SettleRequest, settled: Settled, response: bytes, attempt_id: UUID
    ) -> tuple[bool, bytes | None]:
        """Take the success and store its response, in one transaction.

        Returns whether the success was taken, and the response stored under the key. A key that
        is sent again after a crash so gets the success.
        """
        async with self._database.transaction() as db:
            await self._reserve(db, request)
            now = self._clock.now()
            attempt = (request.identity, settled.request_digest, attempt_id)
            (is_owned,) = await store.take_successes(db, [attempt], at=now)
            if request.header_key is None:
                return is_owned, None
            stored = await idempotency_store.store_response(
                db, request.header_key, request.digest, response if is_owned else None, now=now
            )
        return is_owned, stored

    async def _store(
        self, request: SettleRequest, outcome: NotSettled | Pending, response: bytes
    ) -> SettleOutcome | StoredResponse:
        """Store a final response under a key that was reserved with its payment.

        Nothing is stored while the database is unavailable: the payment's row gives the same
        failure again.
        """
        if request.header_key is None or not is_final(outcome):
            return outcome
        try:
            async with self._database.connection() as db:
                stored = await idempotency_store.store_response(
                    db, request.header_key, request.digest, response, now=self._clock.now()
                )
        except DatabaseUnavailable:
            log.warning("idempotency.not_stored", payer=request.identity.payer)
            return outcome
        return outcome if stored in (None, response) else StoredResponse(stored)

    async def delete_expired(self) -> int:
        """Delete a bounded number of expired keys; returns their number."""
        async with self._database.connection() as db:
            return await idempotency_store.delete_expired(
                db, before=self._clock.now(), limit=_MAX_DELETED
            )

    async def run(self) -> None:
        """Delete expired keys until cancelled, batch after batch while there are more."""
        while True:
            try:
                while await self.delete_expired() == _MAX_DELETED:
                    await self._clock.sleep(PAUSE_S)
            except DatabaseUnavailable:
                log.warning("idempotency.database_unavailable")
            await self._clock.sleep(_DELETE_EVERY_S)

    async def _reserve(self, db: Connection, request: SettleRequest) -> None:
        now, keep_until = self._clock.now(), self._keep_until(request)
        for key in request.keys:
            if not await idempotency_store.reserve_key(
                db, key, request, keep_until=keep_until, now=now
            ):
                raise _build_conflict(key.kind, request)

    def _keep_until(self, request: SettleRequest) -> datetime:
        latest = self._clock.now() + _MAX_KEPT
        try:
            now = self._ledgers[request.identity.network].now()
        except ClockStale:
            return latest
        return min(retention_end(request.transfer.entry.expires_at_ledger, now), latest)


def is_final(outcome: NotSettled | Pending) -> bool:
    """Whether every repeat of the request gets the same outcome.

    One that is unproven may be proven later.
    """
    if not isinstance(outcome, NotSettled) or outcome.reason is Reason.OUTCOME_UNPROVEN:
        return False
    return explain(outcome.reason).retry is Retry.NEVER


def _build_conflict(kind: KeyKind, request: SettleRequest) -> KeyConflict:
    return KeyConflict(_CONFLICTS[kind], request.identity.network, request.identity.payer)
