"""The row of a payment at the gateway."""

from typing import Final

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Row

COLUMNS: Final = """network, payer, nonce, wrapper_id, owner, slug, binding, request_digest,
    presented_digest, asset, amount, pay_to, state, tx_hash, attempts, epoch, attempt_until,
    may_repeat, reserved_at, paid_at"""
KEY: Final = "(network, payer, nonce) = ($1, $2, $3)"
# the payment of exactly this request, as its row was read
SAME: Final = f"{KEY} AND binding = $4 AND request_digest = $5"
# the hold or attempt that it was read in: replicas of older versions raise `attempts` alone
FENCED: Final = f"{KEY} AND epoch = $4 AND attempts = $5"


def same_request(payment: GatewayPayment) -> tuple[str, str, int, bytes, bytes]:
    """Return the parameters of `SAME`."""
    return *payment.identity.row_key, payment.binding, payment.request_digest


def fence_of(payment: GatewayPayment) -> tuple[str, str, int, int, int]:
    """Return the parameters of `FENCED`."""
    return *payment.identity.row_key, payment.epoch, payment.attempts


def read_payment_row(row: Row) -> GatewayPayment:
    """Read a payment from the columns `COLUMNS`."""
    return GatewayPayment(
        identity=PaymentIdentity(Network(row["network"]), Address(row["payer"]), row["nonce"]),
        wrapper_id=row["wrapper_id"],
        owner=OwnerId(row["owner"]),
        slug=row["slug"],
        binding=row["binding"],
        request_digest=row["request_digest"],
        presented_digest=row["presented_digest"],
        asset=Address(row["asset"]),
        amount=BaseUnits(int(row["amount"])),
        pay_to=Address(row["pay_to"]),
        state=PaymentState(row["state"]),
        tx_hash=row["tx_hash"].hex() if row["tx_hash"] is not None else "",
        attempts=row["attempts"],
        epoch=row["epoch"],
        attempt_until=row["attempt_until"],
        may_repeat=row["may_repeat"],
        reserved_at=row["reserved_at"],
        paid_at=row["paid_at"],
    )
