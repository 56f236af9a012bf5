"""Find a payment by its transaction, and list those of a caller."""

import re
from collections.abc import Sequence
from typing import Final

from farebox.gateway.payments import record_store
from farebox.gateway.payments.payment_record import PartyRole, PaymentRecord
from farebox.gateway.payments.record_store import RecordFilter
from farebox.kernel.caller import Caller, SessionRequired
from farebox.kernel.errors import NotFound
from farebox.kernel.pages import Place
from farebox.storage.pool import Database

_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)


class Payments:
    """The payments of all callers; whose they are decides what of them is shown."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, tx_hash: str) -> PaymentRecord:
        """Find the payment of a transaction (64 lower-case hex digits).

        Raises:
            NotFound: no payment was settled by it here.
        """
        if not _HASH.match(tx_hash):
            raise NotFound
        async with self._database.connection() as db:
            record = await record_store.find_record(db, bytes.fromhex(tx_hash))
        if record is None:
            raise NotFound
        return record

    async def list(
        self, wanted: RecordFilter, *, after: Place | None, limit: int
    ) -> Sequence[PaymentRecord]:
        """List payments after a place, newest first."""
        async with self._database.connection() as db:
            return await record_store.list_records(db, wanted, after=after, limit=limit)


def party_of(caller: Caller, role: PartyRole) -> str:
    """Return the name by which a caller's payments are found.

    Raises:
        SessionRequired: the caller has no wallet that could receive or pay.
    """
    if role is PartyRole.SETTLED:
        return caller.owner
    if caller.address is None:
        raise SessionRequired
    return caller.address
