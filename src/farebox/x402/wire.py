"""The JSON shapes of x402 version 2, read strictly, in the order in which rules are judged."""

import binascii
import math
import re
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from farebox.kernel.addresses import Address, parse_contract, parse_party
from farebox.kernel.amounts import BaseUnits, parse_base_units
from farebox.kernel.json_text import UNDECODABLE, decode_json, has_repeated_name, read_number
from farebox.kernel.networks import Network, parse_network
from farebox.kernel.secret import Secret
from farebox.x402.extensions import read_discovery_text, read_payment_identifier
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.reasons import Reason

X402_VERSION: Final = 2
SCHEME: Final = "exact"
MAX_TIMEOUT_S: Final = 86_400  # a day: longer than any authorization worth waiting for
_MAX_NETWORK_TEXT: Final = 64
_MUXED_LENGTH: Final = 69
_PAYLOAD_NAME: Final = "paymentPayload"
TERMS_NAME: Final = "paymentRequirements"
_TRANSACTION: Final = "payload.transaction"

_UNSET = msgspec.UNSET
S = TypeVar("S", bound=msgspec.Struct)


class WireModel(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON object with camelCase members; members it does not name are skipped unread."""


class RequestBody(WireModel, frozen=True):
    """The body of both routes; each member stays raw until it is judged."""

    payment_payload: msgspec.Raw = msgspec.Raw()
    payment_requirements: msgspec.Raw = msgspec.Raw()
    x402_version: msgspec.Raw = msgspec.Raw()


class TermsBody(WireModel, frozen=True):
    """`paymentRequirements`, and `accepted` inside the payload."""

    scheme: object = _UNSET
    network: object = _UNSET
    asset: object = _UNSET
    amount: object = _UNSET
    pay_to: object = _UNSET
    max_timeout_seconds: msgspec.Raw = msgspec.Raw()
    extra: object = _UNSET


class PayloadBody(WireModel, frozen=True):
    """`paymentPayload`: upstream's form with `accepted`, or with scheme and network as members."""

    x402_version: msgspec.Raw = msgspec.Raw()
    scheme: object = _UNSET
    network: object = _UNSET
    accepted: TermsBody | msgspec.UnsetType = _UNSET
    payload: object = _UNSET
    resource: msgspec.Raw = msgspec.Raw()
    extensions: msgspec.Raw = msgspec.Raw()


@dataclass(frozen=True, slots=True)
class Unacceptable:
    """A request without a payment that can be judged.

    `network` is the one in the request; `member` is the path of the wrong member, as in
    `paymentRequirements.payTo`. Both are empty where they are not known.
    """

    reason: Reason
    network: str = ""
    member: str = ""


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A text that cannot be decoded: the path of the member, as `.accepted.asset`, or empty."""

    member: str


def _read_any_number(text: str) -> int | float:
    """Read a number of any size: one that no float can hold is infinite, so that its rule fails."""
    try:
        return read_number(text)
    except ValueError:
        return math.inf


_REQUEST = msgspec.json.Decoder(RequestBody)
_PAYLOAD = msgspec.json.Decoder(PayloadBody, float_hook=_read_any_number)
_TERMS = msgspec.json.Decoder(TermsBody, float_hook=_read_any_number)
_VERSION = msgspec.json.Decoder(Annotated[int, Meta(ge=X402_VERSION, le=X402_VERSION)])
_TIMEOUT = msgspec.json.Decoder(Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_S)])

# of a member that a structure names, in the message of the decoder
_PATH: Final = re.compile(r" - at `\$((?:\.[A-Za-z0-9]+)+)")


def read_payment(body: bytes) -> Payment | Unacceptable:
    """Read a request of `/verify` or `/settle` into the payment it is about.

    Total over all bytes: the first rule that fails names the reason.
    """
    request = _read_request(body)
    if isinstance(request, Unacceptable):
        return request
    payload = _decode(_PAYLOAD, request.payment_payload)
    terms = _decode(_TERMS, request.payment_requirements)
    in_terms = "" if isinstance(terms, _Unreadable) else _text(terms.network)
    if isinstance(payload, _Unreadable):
        return Unacceptable(Reason.INVALID_PAYLOAD, in_terms, _PAYLOAD_NAME + payload.member)
    network = in_terms or _text(payload.network)
    if isinstance(terms, _Unreadable):
        member = TERMS_NAME + terms.member
        return Unacceptable(Reason.INVALID_PAYMENT_REQUIREMENTS, network, member)
    parsed = _read_terms(payload, terms)
    if isinstance(parsed, Unacceptable):
        return Unacceptable(parsed.reason, network, parsed.member)
    transaction = read_transaction(payload.payload)
    if isinstance(transaction, Unacceptable):
        return Unacceptable(transaction.reason, network, transaction.member)
    identifier = read_payment_identifier(payload.extensions)
    if isinstance(identifier, Reason):
        return Unacceptable(identifier, network, f"{_PAYLOAD_NAME}.extensions")
    discovery = read_discovery_text(payload.resource, payload.extensions)
    return Payment(parsed, Secret(transaction), identifier, discovery)


def read_requirements(text: bytes) -> PaymentTerms | Unacceptable:
    """Read the terms of one payment option, as `paymentRequirements` has them.

    Total over all bytes: the first rule that fails names the reason.
    """
    terms = _decode(_TERMS, text)
    if isinstance(terms, _Unreadable):
        member = TERMS_NAME + terms.member
        return Unacceptable(Reason.INVALID_PAYMENT_REQUIREMENTS, member=member)
    if has_repeated_name(text):
        return Unacceptable(Reason.INVALID_PAYMENT_REQUIREMENTS, member=TERMS_NAME)
    if terms.scheme != SCHEME:
        return _in_terms(Reason.UNSUPPORTED_SCHEME, "scheme")
    return _read_network_and_values(terms)


def _read_request(body: bytes) -> RequestBody | Unacceptable:
    request = _decode(_REQUEST, body)
    if isinstance(request, _Unreadable) or not _is_utf8(body):
        return Unacceptable(Reason.INVALID_JSON)
    if has_repeated_name(body):
        terms = bytes(request.payment_requirements)
        if terms and has_repeated_name(terms):
            return Unacceptable(Reason.INVALID_PAYMENT_REQUIREMENTS, member=TERMS_NAME)
        return Unacceptable(Reason.INVALID_PAYLOAD)
    if bytes(request.x402_version) and not _is_version(request.x402_version):
        return Unacceptable(Reason.INVALID_X402_VERSION, member="x402Version")
    return request


def _decode(decoder: msgspec.json.Decoder[S], raw: bytes | msgspec.Raw) -> S | _Unreadable:
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        found = _PATH.search(str(error))
        return _Unreadable(found[1] if found else "")
    except UNDECODABLE:
        return _Unreadable("")


def _is_utf8(body: bytes) -> bool:
    """Whether every text of the body can be read: a member that stays raw is not decoded."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_version(text: msgspec.Raw) -> bool:
    return _read_integer(_VERSION, text) is not None


def _read_integer(decoder: msgspec.json.Decoder[int], text: msgspec.Raw) -> int | None:
    """Read an integer of any spelling; None for none, another value or one out of bounds."""
    try:
        return decode_json(bytes(text), decoder)
    except UNDECODABLE:
        return None


def _text(value: object) -> str:
    """The network that a refusal may repeat: a short text, or empty."""
    return value if isinstance(value, str) and len(value) <= _MAX_NETWORK_TEXT else ""


def _read_terms(payload: PayloadBody, terms: TermsBody) -> PaymentTerms | Unacceptable:
    if not _is_version(payload.x402_version):
        return _in_payload(Reason.INVALID_X402_VERSION, "x402Version")
    accepted = payload.accepted
    if accepted is _UNSET and (payload.scheme is _UNSET or payload.network is _UNSET):
        return _in_payload(Reason.INVALID_PAYLOAD, "accepted")
    if terms.scheme != SCHEME or not _agrees(payload.scheme, accepted, "scheme", SCHEME):
        return _in_terms(Reason.UNSUPPORTED_SCHEME, "scheme")
    if not _agrees(payload.network, accepted, "network", terms.network):
        return _in_terms(Reason.NETWORK_MISMATCH, "network")
    parsed = _read_network_and_values(terms)
    if isinstance(parsed, Unacceptable) or not isinstance(accepted, TermsBody):
        return parsed
    if _read_integer(_TIMEOUT, accepted.max_timeout_seconds) is None:
        return _in_payload(Reason.INVALID_PAYLOAD, "accepted.maxTimeoutSeconds")
    member = _difference(accepted, terms)
    return _in_payload(Reason.ACCEPTED_MISMATCH, f"accepted.{member}") if member else parsed


def _in_payload(reason: Reason, member: str) -> Unacceptable:
    return Unacceptable(reason, member=f"{_PAYLOAD_NAME}.{member}")


def _in_terms(reason: Reason, member: str) -> Unacceptable:
    return Unacceptable(reason, member=f"{TERMS_NAME}.{member}")


def _agrees(
    flat: object, accepted: TermsBody | msgspec.UnsetType, member: str, wanted: object
) -> bool:
    """Whether both forms of the payload, flat and `accepted`, have the wanted value.

    A payload may have either, or both (docs/decisions/0037).
    """
    if not isinstance(accepted, TermsBody):
        return flat == wanted
    return getattr(accepted, member) == wanted and (flat is _UNSET or flat == wanted)


def _difference(accepted: TermsBody, terms: TermsBody) -> str:
    """The first member in which the money of both differs; empty when none does."""
    if accepted.asset != terms.asset:
        return "asset"
    if accepted.amount != terms.amount:
        return "amount"
    if accepted.pay_to != terms.pay_to:
        return "payTo"
    return "" if _fees_are_sponsored(accepted.extra) else "extra.areFeesSponsored"


def _fees_are_sponsored(extra: object) -> bool:
    return isinstance(extra, dict) and extra.get("areFeesSponsored") is True


def _read_network_and_values(terms: TermsBody) -> PaymentTerms | Unacceptable:
    network = parse_network(terms.network) if isinstance(terms.network, str) else None
    if network is None:
        return _in_terms(Reason.INVALID_NETWORK, "network")
    return _read_values(network, terms)


def _read_values(network: Network, terms: TermsBody) -> PaymentTerms | Unacceptable:
    asset = parse_contract(terms.asset) if isinstance(terms.asset, str) else None
    amount = parse_base_units(terms.amount) if isinstance(terms.amount, str) else None
    pay_to = _read_pay_to(terms.pay_to)
    timeout = _read_integer(_TIMEOUT, terms.max_timeout_seconds)
    if asset is None:
        return _in_terms(Reason.INVALID_PAYMENT_REQUIREMENTS, "asset")
    if not amount:  # an amount of zero pays nothing and costs the sponsor: docs/decisions/0038
        return _in_terms(Reason.INVALID_PAYMENT_REQUIREMENTS, "amount")
    if isinstance(pay_to, Reason):
        return _in_terms(pay_to, "payTo")
    if timeout is None:
        return _in_terms(Reason.INVALID_PAYMENT_REQUIREMENTS, "maxTimeoutSeconds")
    if not _fees_are_sponsored(terms.extra):
        return _in_terms(Reason.FEES_NOT_SPONSORED, "extra.areFeesSponsored")
    return PaymentTerms(network, asset, BaseUnits(amount), pay_to, timeout)


def _read_pay_to(value: object) -> Address | Reason:
    if not isinstance(value, str):
        return Reason.INVALID_PAYMENT_REQUIREMENTS
    if len(value) == _MUXED_LENGTH and value[0] in "MW":
        return Reason.MUXED_RECIPIENT
    return parse_party(value) or Reason.INVALID_PAYMENT_REQUIREMENTS


def read_transaction(payload: object) -> bytes | Unacceptable:
    """The envelope's bytes; canonical standard base64 only, so that one payment has one text."""
    if not isinstance(payload, dict):
        return _in_payload(Reason.INVALID_PAYLOAD, "payload")
    text = payload.get("transaction")
    if not isinstance(text, str) or not text.isascii():
        return _in_payload(Reason.MALFORMED, _TRANSACTION)
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error:
        return _in_payload(Reason.MALFORMED, _TRANSACTION)
    is_canonical = binascii.b2a_base64(raw, newline=False) == text.encode()
    return raw if is_canonical else _in_payload(Reason.MALFORMED, _TRANSACTION)
