"""Our service with a stand-in for settlement: it inserts a confirmed row, and calls no node."""

import secrets
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

from farebox.cli.main import main as serve
from farebox.facilitator.settlement import Settled
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.settling.settle_request import SettleRequest

_LIFE: Final = timedelta(minutes=1)


async def accept(self: Any, request: SettleRequest) -> None:
    """Leave the verdict to the settlement."""


async def settle_at_once(self: Any, request: SettleRequest, *, accepted: object = None) -> Settled:
    """Record the payment as confirmed."""
    identity, terms = request.identity, request.transfer.payment.terms
    now, tx_hash = self._clock.now(), secrets.token_bytes(32)
    async with self._journal._database.connection() as db:
        await db.execute(
            """
            INSERT INTO settlements (network, payer, nonce, state, claim_id, request_digest,
                claimed_at, asset, amount, pay_to, expires_at_ledger, tx_hash, envelope, source,
                source_sequence, max_time, sent_after_ledger, ledger, finished_at, max_timeout_s)
            VALUES ($1, $2, $3, 'confirmed', $4, $5, $6, $7, $8, $9, 100, $10, '', $11, 1, $12, 1,
                    2, $6, 60)
            """,
            *identity.row_key,
            uuid4(),
            request.digest,
            now,
            terms.asset,
            terms.amount,
            terms.pay_to,
            tx_hash,
            tx_hash.hex(),
            now + _LIFE,
        )
    return Settled(identity, request.digest, tx_hash.hex())


def main() -> None:
    """Serve with the stand-in."""
    Settler.judge = accept  # type: ignore[method-assign]
    Settler.settle = settle_at_once  # type: ignore[method-assign]
    serve()
