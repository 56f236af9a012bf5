"""What a request to settle comes to."""

from dataclasses import dataclass

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import Ending, SettlementState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason


@dataclass(frozen=True, slots=True)
class Settled:
    """The payment is on the ledger; its one success is still to be taken by whoever answers."""

    identity: PaymentIdentity
    request_digest: bytes
    tx_hash: str  # 64 lower-case hex digits


@dataclass(frozen=True, slots=True)
class NotSettled:
    """A final failure. `tx_hash` is empty when nothing reached the network."""

    reason: Reason
    network: Network
    payer: Address | None = None
    tx_hash: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """It may have been sent and nobody knows yet: the same body, repeated, learns more."""

    network: Network
    payer: Address
    tx_hash: str


SettleOutcome = Settled | NotSettled | Pending


def outcome_of(
    ending: Ending, identity: PaymentIdentity, request_digest: bytes, tx_hash: str
) -> Settled | NotSettled:
    """The answer a finished settlement gives, the same to every repeat of its request."""
    if ending.state is SettlementState.CONFIRMED:
        return Settled(identity, request_digest, tx_hash)
    reason = ending.reason or Reason.TRANSACTION_FAILED
    return NotSettled(reason, identity.network, identity.payer, tx_hash)


class NothingSent(Exception):
    """The service could not act and the network saw nothing; the same body may be repeated."""

    def __init__(self, network: Network, payer: Address, *, retry_after_s: int) -> None:
        super().__init__("nothing was sent")
        self.network, self.payer, self.retry_after_s = network, payer, retry_after_s
