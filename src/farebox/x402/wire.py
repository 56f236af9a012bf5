"""The JSON shapes of x402 version 2, read strictly, in the order in which rules are judged."""

import binascii
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from farebox.kernel.addresses import Address, parse_contract, parse_party
from farebox.kernel.amounts import BaseUnits, parse_base_units
from farebox.kernel.networks import Network, parse_network
from farebox.kernel.secret import Secret
from farebox.x402.discovery import read_discovery_text
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.payment_identifier import read_payment_identifier
from farebox.x402.reasons import Reason

X402_VERSION: Final = 2
SCHEME: Final = "exact"
MAX_TIMEOUT_S: Final = 86_400  # a day: longer than any authorization worth waiting for
_MAX_NETWORK_TEXT: Final = 64
_MUXED_LENGTH: Final = 69

_UNSET = msgspec.UNSET
S = TypeVar("S", bound=msgspec.Struct)


class WireModel(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON object with camelCase members; members it does not name are skipped unread."""


class RequestBody(WireModel, frozen=True):
    """What both routes take; its members stay raw until their turn to be judged."""

    payment_payload: msgspec.Raw = msgspec.Raw()
    payment_requirements: msgspec.Raw = msgspec.Raw()
    x402_version: object = _UNSET


class TermsBody(WireModel, frozen=True):
    """`paymentRequirements`, and `accepted` inside the payload."""

    scheme: object = _UNSET
    network: object = _UNSET
    asset: object = _UNSET
    amount: object = _UNSET
    pay_to: object = _UNSET
    max_timeout_seconds: object = _UNSET
    extra: object = _UNSET


class PayloadBody(WireModel, frozen=True):
    """`paymentPayload`: upstream's form with `accepted`, or scheme and network beside it."""

    x402_version: object = _UNSET
    scheme: object = _UNSET
    network: object = _UNSET
    accepted: TermsBody | msgspec.UnsetType = _UNSET
    payload: object = _UNSET
    resource: msgspec.Raw = msgspec.Raw()
    extensions: msgspec.Raw = msgspec.Raw()


@dataclass(frozen=True, slots=True)
class Unacceptable:
    """A request that names no payment we could judge, and the network it spoke of, if any."""

    reason: Reason
    network: str = ""


_REQUEST = msgspec.json.Decoder(RequestBody)
_PAYLOAD = msgspec.json.Decoder(PayloadBody)
_TERMS = msgspec.json.Decoder(TermsBody)


def read_payment(body: bytes) -> Payment | Unacceptable:
    """Read a request of `/verify` or `/settle` into the payment it is about.

    Total over all bytes: whatever is wrong comes back as the first rule that fails.
    """
    request = _decode(_REQUEST, body)
    if request is None:
        return Unacceptable(Reason.INVALID_JSON)
    if request.x402_version is not _UNSET and not _is_version(request.x402_version):
        return Unacceptable(Reason.INVALID_X402_VERSION)
    payload = _decode(_PAYLOAD, request.payment_payload)
    terms = _decode(_TERMS, request.payment_requirements)
    network = _text(terms.network if terms else None) or _text(payload.network if payload else None)
    if payload is None:
        return Unacceptable(Reason.INVALID_PAYLOAD, network)
    if terms is None:
        return Unacceptable(Reason.INVALID_PAYMENT_REQUIREMENTS, network)
    parsed = _read_terms(payload, terms)
    if isinstance(parsed, Reason):
        return Unacceptable(parsed, network)
    transaction = _read_transaction(payload.payload)
    if isinstance(transaction, Reason):
        return Unacceptable(transaction, network)
    identifier = read_payment_identifier(payload.extensions)
    if isinstance(identifier, Reason):
        return Unacceptable(identifier, network)
    discovery = read_discovery_text(payload.resource, payload.extensions)
    return Payment(parsed, Secret(transaction), identifier, discovery)


def _decode(decoder: msgspec.json.Decoder[S], raw: bytes | msgspec.Raw) -> S | None:
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _is_version(value: object) -> bool:
    return type(value) is int and value == X402_VERSION


def _text(value: object) -> str:
    """What a refusal may say back as the network: short text, or nothing."""
    return value if isinstance(value, str) and len(value) <= _MAX_NETWORK_TEXT else ""


def _read_terms(payload: PayloadBody, terms: TermsBody) -> PaymentTerms | Reason:
    if not _is_version(payload.x402_version):
        return Reason.INVALID_X402_VERSION
    accepted = payload.accepted
    if accepted is _UNSET and (payload.scheme is _UNSET or payload.network is _UNSET):
        return Reason.INVALID_PAYLOAD
    if terms.scheme != SCHEME or not _agrees(payload.scheme, accepted, "scheme", SCHEME):
        return Reason.UNSUPPORTED_SCHEME
    if not _agrees(payload.network, accepted, "network", terms.network):
        return Reason.NETWORK_MISMATCH
    network = parse_network(terms.network) if isinstance(terms.network, str) else None
    if network is None:
        return Reason.INVALID_NETWORK
    parsed = _read_values(network, terms)
    if isinstance(parsed, Reason) or not isinstance(accepted, TermsBody):
        return parsed
    return parsed if _is_same_money(accepted, terms) else Reason.ACCEPTED_MISMATCH


def _agrees(
    flat: object, accepted: TermsBody | msgspec.UnsetType, member: str, wanted: object
) -> bool:
    """Whether every spelling the payload gives of a member is the one wanted (decision D7)."""
    if not isinstance(accepted, TermsBody):
        return flat == wanted
    return getattr(accepted, member) == wanted and (flat is _UNSET or flat == wanted)


def _is_same_money(accepted: TermsBody, terms: TermsBody) -> bool:
    return (
        accepted.asset == terms.asset
        and accepted.amount == terms.amount
        and accepted.pay_to == terms.pay_to
        and _fees_are_sponsored(accepted.extra)
    )


def _fees_are_sponsored(extra: object) -> bool:
    return isinstance(extra, dict) and extra.get("areFeesSponsored") is True


def _read_values(network: Network, terms: TermsBody) -> PaymentTerms | Reason:
    asset = parse_contract(terms.asset) if isinstance(terms.asset, str) else None
    amount = parse_base_units(terms.amount) if isinstance(terms.amount, str) else None
    pay_to = _read_pay_to(terms.pay_to)
    timeout = terms.max_timeout_seconds
    if asset is None or not amount:  # an amount of zero pays nothing and costs the sponsor (D9)
        return Reason.INVALID_PAYMENT_REQUIREMENTS
    if isinstance(pay_to, Reason):
        return pay_to
    if type(timeout) is not int or not 0 < timeout <= MAX_TIMEOUT_S:
        return Reason.INVALID_PAYMENT_REQUIREMENTS
    if not _fees_are_sponsored(terms.extra):
        return Reason.FEES_NOT_SPONSORED
    return PaymentTerms(network, asset, BaseUnits(amount), pay_to, timeout)


def _read_pay_to(value: object) -> Address | Reason:
    if not isinstance(value, str):
        return Reason.INVALID_PAYMENT_REQUIREMENTS
    if len(value) == _MUXED_LENGTH and value[0] in "MW":
        return Reason.MUXED_RECIPIENT
    return parse_party(value) or Reason.INVALID_PAYMENT_REQUIREMENTS


def _read_transaction(payload: object) -> bytes | Reason:
    """The envelope's bytes; canonical standard base64 only, so that one payment has one text."""
    if not isinstance(payload, dict):
        return Reason.INVALID_PAYLOAD
    text = payload.get("transaction")
    if not isinstance(text, str) or not text.isascii():
        return Reason.MALFORMED
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error:
        return Reason.MALFORMED
    is_canonical = binascii.b2a_base64(raw, newline=False) == text.encode()
    return raw if is_canonical else Reason.MALFORMED
