"""What a request to settle comes to."""

from dataclasses import dataclass

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import (
    FINAL,
    Claim,
    Ending,
    Settlement,
    SettlementState,
)
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason


@dataclass(frozen=True, slots=True)
class Settled:
    """The payment is on the ledger; its one success is still to be taken by whoever answers."""

    identity: PaymentIdentity
    request_digest: bytes
    tx_hash: str  # 64 lower-case hex digits
    token_is_verified: bool = True


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


def duplicate(identity: PaymentIdentity, tx_hash: str) -> NotSettled:
    """What everybody but the owner of its success is told of a settled payment."""
    return NotSettled(Reason.DUPLICATE_SETTLEMENT, identity.network, identity.payer, tx_hash)


def outcome_of(ending: Ending, payment: Claim | Settlement, tx_hash: str) -> Settled | NotSettled:
    """The answer a finished settlement gives, the same to every repeat of its request.

    `tx_hash` is the envelope's; another transaction that used the authorization stands before it.
    """
    identity = payment.identity
    if ending.landed_hash is not None:
        tx_hash = ending.landed_hash.hex()
    if ending.state is SettlementState.CONFIRMED:
        verified = payment.token_is_verified
        return Settled(identity, payment.request_digest, tx_hash, token_is_verified=verified)
    reason = ending.reason or Reason.TRANSACTION_FAILED
    return NotSettled(reason, identity.network, identity.payer, tx_hash)


def recorded_outcome(row: Settlement) -> Settled | NotSettled | Pending:
    """The answer that the row gives: final once the settlement ended, pending until then."""
    if row.state in FINAL:
        return outcome_of(Ending(row.state, row.reason), row, row.tx_hash)
    return Pending(row.identity.network, row.identity.payer, row.tx_hash)


class NothingSent(Exception):
    """The service could not act and the network saw nothing; the same body may be repeated."""

    def __init__(self, network: Network, payer: Address, *, retry_after_s: int) -> None:
        super().__init__("nothing was sent")
        self.network, self.payer, self.retry_after_s = network, payer, retry_after_s


class NotAdmitted(Exception):
    """What the caller calls its request belongs to another one; this one was not carried out."""

    def __init__(self, reason: Reason, network: Network, payer: Address) -> None:
        super().__init__(reason)
        self.reason, self.network, self.payer = reason, network, payer
