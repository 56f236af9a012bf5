"""The `PAYMENT-SIGNATURE` of a request, read and held against the terms that were offered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import msgspec

from farebox.kernel.json_text import UNDECODABLE, has_repeated_name
from farebox.x402.extensions import PAYMENT_IDENTIFIER, read_payment_identifier
from farebox.x402.headers import header_bytes
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, read_payment, read_transaction

NO_MATCH: Final = "No matching payment requirements"
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
_encode: Final = msgspec.json.Encoder().encode


class HeaderFault(StrEnum):
    """Why a `PAYMENT-SIGNATURE` holds no payment."""

    REPEATED = "Send PAYMENT-SIGNATURE once."
    NOT_BASE64 = "PAYMENT-SIGNATURE is not base64."
    NOT_JSON = (
        "PAYMENT-SIGNATURE is no JSON object in UTF-8, is nested too deeply, has half of a"
        " surrogate pair in a text, or a member name twice."
    )
    NOT_A_PAYMENT = "PAYMENT-SIGNATURE is no PaymentPayload of x402 version 2."


class _Payload(msgspec.Struct, rename="camel"):
    """The members that are read here; the whole payload is judged by `read_payment`."""

    accepted: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    network: object = msgspec.UNSET
    extensions: dict[str, msgspec.Raw] | None = None


_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PAYLOAD: Final = msgspec.json.Decoder(_Payload)


@dataclass(frozen=True, slots=True)
class PaymentHeader:
    """A decoded header; `accepted` is None for a payload of the flat form, which has `network`."""

    members: Mapping[str, msgspec.Raw] = field(repr=False)
    accepted: dict[str, Any] | None
    network: object
    identifier_text: msgspec.Raw | None  # of the extension `payment-identifier`, unread

    @property
    def identifier(self) -> str | Reason | None:
        """The payment identifier; a reason where the extension is malformed."""
        if self.identifier_text is None:
            return None
        return read_payment_identifier(_encode({PAYMENT_IDENTIFIER: self.identifier_text}))

    @property
    def transaction(self) -> bytes | None:
        """The bytes of the signed envelope; None where there are none."""
        try:
            payload = msgspec.json.decode(self.members.get("payload", b""))
        except UNDECODABLE:
            return None
        read = read_transaction(payload)
        return read if isinstance(read, bytes) else None

    def find_requirement(self, offered: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """Find the offered requirement that the payload accepts.

        A payload without `accepted` takes the only one of its network.
        """
        accepted = self.accepted
        if accepted is not None:
            return next(
                (
                    each
                    for each in offered
                    if all(accepted.get(name) == each[name] for name in _COMPARED)
                ),
                None,
            )
        same = [each for each in offered if each["network"] == self.network]
        return same[0] if len(same) == 1 else None

    def read_payment(
        self,
        requirement: Mapping[str, Any],
        *,
        resource: Mapping[str, Any],
        extensions: Mapping[str, Any],
    ) -> Payment | HeaderFault | Unacceptable:
        """Read the payment for a requirement.

        The buyer's `resource` and `extensions` are replaced by the seller's; the buyer's payment
        identifier stays.
        """
        kept: dict[str, object] = dict(extensions)
        if self.identifier_text is not None:
            kept[PAYMENT_IDENTIFIER] = self.identifier_text
        payload = {**self.members, "resource": resource, "extensions": kept}
        read = read_payment(
            _encode({"paymentPayload": payload, "paymentRequirements": requirement})
        )
        if isinstance(read, Unacceptable) and read.reason in _UNREADABLE:
            return HeaderFault.NOT_A_PAYMENT
        return read


def read_payment_header(values: Sequence[bytes]) -> PaymentHeader | HeaderFault:
    """Read the values of the `PAYMENT-SIGNATURE` headers of a request."""
    if len(values) != 1:
        return HeaderFault.REPEATED
    raw = header_bytes(values[0].decode("latin-1"))
    if raw is None or b"," in values[0]:
        return HeaderFault.NOT_BASE64
    try:
        members = _MEMBERS.decode(raw)
    except UNDECODABLE:
        return HeaderFault.NOT_JSON
    if has_repeated_name(raw):
        return HeaderFault.NOT_JSON
    try:
        payload = _PAYLOAD.decode(raw)
    except UNDECODABLE:
        return HeaderFault.NOT_A_PAYMENT
    if payload.accepted is msgspec.UNSET and payload.network is msgspec.UNSET:
        return HeaderFault.NOT_A_PAYMENT
    accepted = payload.accepted if isinstance(payload.accepted, dict) else None
    identifier = (payload.extensions or {}).get(PAYMENT_IDENTIFIER)
    return PaymentHeader(members, accepted, payload.network, identifier)
