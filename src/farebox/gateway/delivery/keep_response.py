"""Store delivered responses sealed, and find them again."""

from datetime import timedelta
from typing import Final, Protocol

import structlog

from farebox.gateway.delivery import response_store
from farebox.gateway.delivery.kept_response import (
    PURPOSE,
    KeptResponse,
    SealedResponse,
    read_kept_response,
)
from farebox.gateway.payment import GatewayPayment
from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database

KEPT_FOR: Final = timedelta(hours=24)

log = structlog.get_logger(__name__)


class ResponseSealer(Protocol):
    """Seals bytes for one record, as the vault's `ByteSealer` does."""

    def seal(self, value: Secret[bytes], *, owner: str, purpose: str, record: str) -> bytes: ...

    def open(self, sealed: bytes, *, owner: str, purpose: str, record: str) -> Secret[bytes]: ...


class ResponseKeeper:
    """Keeps responses for a day; without master keys it keeps none."""

    def __init__(self, database: Database, sealer: ResponseSealer | None) -> None:
        self._database, self._sealer = database, sealer

    def seal(self, payment: GatewayPayment, response: KeptResponse) -> SealedResponse | None:
        """Seal the response of a payment, for the statement that records its delivery."""
        if self._sealer is None:
            return None
        sealed = self._sealer.seal(
            response.to_secret(), owner=payment.owner, purpose=PURPOSE, record=_record(payment)
        )
        return SealedResponse(sealed, KEPT_FOR)

    async def find(self, payment: GatewayPayment) -> KeptResponse | None:
        """Find the response of a delivered payment; None once it is gone or cannot be opened."""
        async with self._database.connection() as db:
            found = await response_store.find_response(db, payment.identity)
        try:
            return None if found is None else self._open(payment, *found)
        except Outage:
            log.warning("gateway.response_not_opened", tx_hash=payment.tx_hash)
            return None

    async def find_held(self, payment: GatewayPayment) -> KeptResponse | None:
        """Find the response that waits for a buyer who had left; None when there is none.

        Raises:
            Outage: there is one, and it cannot be opened.
        """
        async with self._database.connection() as db:
            found = await response_store.find_response(db, payment.identity)
        return None if found is None else self._open(payment, *found)

    def _open(self, payment: GatewayPayment, status: int, sealed: bytes) -> KeptResponse:
        if self._sealer is None:
            raise Outage("master keys", "The response was stored under a key that is gone.")
        opened = self._sealer.open(
            sealed, owner=payment.owner, purpose=PURPOSE, record=_record(payment)
        )
        return read_kept_response(status, opened)


def _record(payment: GatewayPayment) -> str:
    network, payer, nonce = payment.identity.row_key
    return f"{network} {payer} {nonce} {payment.binding.hex()}"
