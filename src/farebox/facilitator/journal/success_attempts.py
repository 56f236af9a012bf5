"""Attempts to take the one success of a payment whose answer from the database was lost."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar
from uuid import UUID, uuid4

import structlog

from farebox.facilitator.identity import PaymentIdentity
from farebox.storage.faults import DatabaseUnavailable

Key = TypeVar("Key")
Value = TypeVar("Value")
_KEPT: Final = 10_000  # lost answers; a forgotten one leaves its success with nobody

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class SuccessAttempts:
    """Gives each attempt an id, and a lost one's id to the next attempt for the same request.

    The row remembers the attempt that took its success. So a statement whose answer was lost may
    be repeated: under the same id it succeeds again, under any other it does not. One id is never
    used by two callers at once.
    """

    def __init__(self) -> None:
        self._lost: OrderedDict[tuple[PaymentIdentity, bytes], UUID] = OrderedDict()
        self._answered: OrderedDict[PaymentIdentity, None] = OrderedDict()

    def note_answered(self, identity: PaymentIdentity) -> None:
        """A success is about to be answered; the second one of a payment is an alarm."""
        if identity in self._answered:
            log.error("settlement.alarm", alarm="success_answered_twice", payer=identity.payer)
        self._answered[identity] = None
        _trim(self._answered)

    @contextmanager
    def attempt(self, identity: PaymentIdentity, request_digest: bytes) -> Iterator[UUID]:
        """The id of one attempt; it is kept where the body cannot tell whether it succeeded."""
        request = (identity, request_digest)
        attempt_id = self._lost.pop(request, None) or uuid4()
        try:
            yield attempt_id
        except DatabaseUnavailable:
            self._lost[request] = attempt_id
            _trim(self._lost)
            raise


def _trim(kept: OrderedDict[Key, Value]) -> None:
    while len(kept) > _KEPT:
        kept.popitem(last=False)
