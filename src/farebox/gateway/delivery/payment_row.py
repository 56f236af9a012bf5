"""The row of a payment at the gateway."""

from typing import Final

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Row

COLUMNS: Final = """network, payer, nonce, wrapper_id, owner, slug, binding, request_digest, state,
    tx_hash, attempts, attempt_until, may_repeat, reserved_at, paid_at"""
KEY: Final = "(network, payer, nonce) = ($1, $2, $3)"


def read_payment_row(row: Row) -> GatewayPayment:
    """Read a payment from the columns `COLUMNS`."""
    return GatewayPayment(
        identity=PaymentIdentity(Network(row["network"]), Address(row["payer"]), row["nonce"]),
        wrapper_id=row["wrapper_id"],
        owner=OwnerId(row["owner"]),
        slug=row["slug"],
        binding=row["binding"],
        request_digest=row["request_digest"],
        state=PaymentState(row["state"]),
        tx_hash=row["tx_hash"].hex() if row["tx_hash"] is not None else "",
        attempts=row["attempts"],
        attempt_until=row["attempt_until"],
        may_repeat=row["may_repeat"],
        reserved_at=row["reserved_at"],
        paid_at=row["paid_at"],
    )
