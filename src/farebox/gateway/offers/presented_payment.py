"""The payment in a buyer's `PAYMENT-SIGNATURE`, held against the terms of an offer."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from farebox.gateway.offers.offer import MAX_TIMEOUT_S, WrapperOffer, build_requirement
from farebox.gateway.wrapper import WrapperTerm
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import parse_network
from farebox.stellar.transfer_envelope import (
    MuxedParty,
    TransferEnvelope,
    read_transfer_envelope,
)
from farebox.x402.extensions import BAZAAR
from farebox.x402.payment import Payment
from farebox.x402.payment_header import (
    NO_MATCH,
    HeaderFault,
    PaymentHeader,
    read_payment_header,
)
from farebox.x402.wire import Unacceptable


class NotTheTerms(StrEnum):
    """Why a payment is not one for the offer."""

    NO_MATCH = NO_MATCH


@dataclass(frozen=True, slots=True)
class PresentedPayment:
    """A payment for one of the offer's terms, with the wrapper's own discovery data."""

    payment: Payment
    digest: bytes  # SHA-256 of the value of `PAYMENT-SIGNATURE`

    @property
    def is_private(self) -> bool:
        """Whether the value holds something that is on no ledger: a payment identifier."""
        return self.payment.identifier is not None


def read_presented_payment(
    values: Sequence[bytes], offer: WrapperOffer
) -> PresentedPayment | HeaderFault | NotTheTerms | Unacceptable:
    """Read the payment of a request.

    The buyer's `resource` and `bazaar` block are replaced by those of the offer: a payment lists
    the wrapper as its owner describes it. The buyer's payment identifier stays.

    Args:
        values: the values of the `PAYMENT-SIGNATURE` headers.
        offer: the offer for this very request.

    Returns:
        The payment; a `HeaderFault` for a header that holds none; `NotTheTerms` for other terms
        than the offer's; `Unacceptable` for a payment that can be read and not settled.
    """
    header = read_payment_header(values)
    if isinstance(header, HeaderFault):
        return header
    requirement = header.find_requirement(offer.requirements)
    if requirement is None:
        return NotTheTerms.NO_MATCH
    read = header.read_payment(
        requirement, resource=offer.resource, extensions={BAZAAR: offer.discovery}
    )
    return _presented(read, values) if isinstance(read, Payment) else read


def read_retried_payment(values: Sequence[bytes]) -> PresentedPayment | None:
    """Read a payment by the terms that it accepts itself; None for one that cannot be read.

    The flat form accepts what its payer has signed. It may continue a request that was paid before,
    when its terms were the wrapper's, and nothing else.
    """
    header = read_payment_header(values)
    if isinstance(header, HeaderFault):
        return None
    accepted = _signed_terms(header) if header.accepted is None else header.accepted
    if accepted is None:
        return None
    accepted = accepted | {"maxTimeoutSeconds": MAX_TIMEOUT_S}  # as in every offer
    read = header.read_payment(accepted, resource={}, extensions={})
    return _presented(read, values) if isinstance(read, Payment) else None


def _signed_terms(header: PaymentHeader) -> dict[str, Any] | None:
    """Read the terms off the signed transfer; None without one."""
    network = parse_network(header.network) if isinstance(header.network, str) else None
    transfer = read_transfer_envelope(header.transaction or b"")
    if network is None or not isinstance(transfer, TransferEnvelope):
        return None
    if isinstance(transfer.pay_to, MuxedParty):
        return None
    amount = BaseUnits(transfer.amount)
    return build_requirement(WrapperTerm(network, transfer.contract, amount, transfer.pay_to))


def _presented(payment: Payment, values: Sequence[bytes]) -> PresentedPayment:
    return PresentedPayment(payment, hashlib.sha256(values[0]).digest())
