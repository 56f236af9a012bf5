"""Attempts to take the one success of a payment whose answer from the database was lost."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID, uuid4

from farebox.facilitator.identity import PaymentIdentity
from farebox.storage.faults import DatabaseUnavailable

_KEPT: Final = 10_000  # lost answers; a forgotten one leaves its success with nobody


class SuccessAttempts:
    """Gives each attempt an id, and a lost one's id to the next attempt for the same request.

    The row remembers the attempt that took its success. So a statement whose answer was lost may
    be repeated: under the same id it succeeds again, under any other it does not. One id is never
    used by two callers at once.
    """

    def __init__(self) -> None:
        self._lost: OrderedDict[tuple[PaymentIdentity, bytes], UUID] = OrderedDict()

    @contextmanager
    def attempt(self, identity: PaymentIdentity, request_digest: bytes) -> Iterator[UUID]:
        """The id of one attempt; it is kept where the body cannot tell whether it succeeded."""
        request = (identity, request_digest)
        attempt_id = self._lost.pop(request, None) or uuid4()
        try:
            yield attempt_id
        except DatabaseUnavailable:
            self._lost[request] = attempt_id
            while len(self._lost) > _KEPT:
                self._lost.popitem(last=False)
            raise
