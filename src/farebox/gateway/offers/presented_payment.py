"""The payment in a buyer's `PAYMENT-SIGNATURE`, held against the terms of an offer."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from farebox.gateway.offers.offer import WrapperOffer
from farebox.x402.extensions import BAZAAR, PAYMENT_IDENTIFIER
from farebox.x402.headers import header_bytes
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, has_repeated_name, read_payment

_COMPARED: Final = ("scheme", "network", "asset", "amount", "payTo")
_UNREADABLE: Final = frozenset(
    {
        Reason.INVALID_JSON,
        Reason.INVALID_PAYLOAD,
        Reason.INVALID_X402_VERSION,
        Reason.MALFORMED,
        Reason.INVALID_PAYMENT_IDENTIFIER,
        Reason.PAYMENT_IDENTIFIER_REQUIRED,
    }
)


class HeaderFault(StrEnum):
    """Why a `PAYMENT-SIGNATURE` holds no payment."""

    REPEATED = "Send PAYMENT-SIGNATURE once."
    NOT_BASE64 = "PAYMENT-SIGNATURE is not base64."
    NOT_JSON = "PAYMENT-SIGNATURE is no JSON object, or has a member name twice."
    NOT_A_PAYMENT = "PAYMENT-SIGNATURE is no PaymentPayload of x402 version 2."


class NotTheTerms(StrEnum):
    """Why a payment is not one for the offer."""

    NO_MATCH = "No matching payment requirements"


@dataclass(frozen=True, slots=True)
class PresentedPayment:
    """A payment for one of the offer's terms, with the wrapper's own discovery data."""

    payment: Payment


class _Payload(msgspec.Struct, rename="camel"):
    """The members that are read here; the whole payload is judged by `read_payment`."""

    accepted: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    network: object = msgspec.UNSET
    extensions: dict[str, msgspec.Raw] | None = None


_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PAYLOAD: Final = msgspec.json.Decoder(_Payload)
_encode: Final = msgspec.json.Encoder().encode


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
    if len(values) != 1:
        return HeaderFault.REPEATED
    raw = header_bytes(values[0].decode("latin-1"))
    if raw is None or b"," in values[0]:
        return HeaderFault.NOT_BASE64
    try:
        members, payload = _MEMBERS.decode(raw), _PAYLOAD.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return HeaderFault.NOT_JSON
    if has_repeated_name(raw):
        return HeaderFault.NOT_JSON
    if payload.accepted is msgspec.UNSET and payload.network is msgspec.UNSET:
        return HeaderFault.NOT_A_PAYMENT
    requirement = _find_requirement(payload, offer)
    if requirement is None:
        return NotTheTerms.NO_MATCH
    read = read_payment(_request_body(members, payload, requirement, offer))
    if isinstance(read, Unacceptable):
        return HeaderFault.NOT_A_PAYMENT if read.reason in _UNREADABLE else read
    return PresentedPayment(read)


def read_retried_payment(values: Sequence[bytes], offer: WrapperOffer) -> PresentedPayment | None:
    """Read a payment by the terms that it accepts itself; None for one that cannot be read.

    It may continue a request that was paid before the wrapper's terms changed, and nothing else.
    """
    try:
        raw = header_bytes(values[0].decode("latin-1")) or b""
        members, payload = _MEMBERS.decode(raw), _PAYLOAD.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(payload.accepted, dict):
        return None
    read = read_payment(_request_body(members, payload, payload.accepted, offer))
    return None if isinstance(read, Unacceptable) else PresentedPayment(read)


def _find_requirement(payload: _Payload, offer: WrapperOffer) -> dict[str, Any] | None:
    """Find the offer's requirement that the payload accepts.

    A payload without `accepted` takes the only one of its network.
    """
    accepted = payload.accepted
    if isinstance(accepted, dict):
        return next(
            (
                each
                for each in offer.requirements
                if all(accepted.get(name) == each[name] for name in _COMPARED)
            ),
            None,
        )
    same = [each for each in offer.requirements if each["network"] == payload.network]
    return same[0] if len(same) == 1 else None


def _request_body(
    members: dict[str, msgspec.Raw],
    payload: _Payload,
    requirement: dict[str, Any],
    offer: WrapperOffer,
) -> bytes:
    """Build the body that `/settle` would get for this payment."""
    extensions: dict[str, object] = {BAZAAR: offer.discovery}
    identifier = (payload.extensions or {}).get(PAYMENT_IDENTIFIER)
    if identifier is not None:
        extensions[PAYMENT_IDENTIFIER] = identifier
    own = {"resource": offer.resource, "extensions": extensions}
    return _encode({"paymentPayload": members | own, "paymentRequirements": requirement})
