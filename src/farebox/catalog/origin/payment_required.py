"""An origin's own 402: the x402 `PaymentRequired` object that a resource answers unpaid.

Nothing here uses the network: `origin_client` fetches the object.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from farebox.kernel.addresses import Address, parse_contract, parse_party
from farebox.kernel.amounts import BaseUnits, parse_base_units
from farebox.kernel.json_text import read_number
from farebox.kernel.networks import Network, parse_network
from farebox.x402.wire import SCHEME, X402_VERSION

MAX_OPTIONS: Final = 64


@dataclass(frozen=True, slots=True)
class PaymentOption:
    """One entry of `accepts` that this service settles."""

    network: Network
    asset: Address
    amount: BaseUnits
    pay_to: Address


@dataclass(frozen=True, slots=True)
class OriginPaymentRequired:
    """A readable 402. `document` is its JSON, byte for byte, and not trusted."""

    options: tuple[PaymentOption, ...]  # empty when this service settles none of `accepts`
    document: bytes

    def names_recipient(self, network: Network, pay_to: Address) -> bool:
        """Whether an option pays this recipient on this network."""
        return any((each.network, each.pay_to) == (network, pay_to) for each in self.options)


class OriginFault(StrEnum):
    """Reasons why an origin's 402 is not known."""

    NOT_ASKED = "not_asked"  # this service had no capacity; it says nothing about the origin
    NOT_CALLED = "not_called"  # the outbound policy refuses the address
    UNREACHABLE = "unreachable"  # nothing could be sent
    NO_ANSWER = "no_answer"  # sent, and no complete response arrived
    NO_PAYMENT_ASKED = "no_payment_asked"  # the response has another status than 402
    UNREADABLE = "unreadable"  # a 402 that cannot be parsed


@dataclass(frozen=True, slots=True)
class OriginFailure:
    """A failed fetch; `detail` is a code of this service or a status, never the origin's text."""

    fault: OriginFault
    detail: str = ""


OriginResponse = OriginPaymentRequired | OriginFailure


class OriginClient(Protocol):
    """Fetches the 402 of resources."""

    async def fetch_payment_required(self, url: str, *, method: str | None) -> OriginResponse:
        """Fetch a resource's own 402; every failure is returned, none raised."""
        ...


class _PaymentRequired(msgspec.Struct):
    x402_version: object = msgspec.field(name="x402Version")
    accepts: list[msgspec.Raw]


class _Accepted(msgspec.Struct, rename="camel"):
    scheme: str
    network: str
    asset: str
    amount: str
    pay_to: str


_DOCUMENT: Final = msgspec.json.Decoder(_PaymentRequired, float_hook=read_number)
_ENTRY: Final = msgspec.json.Decoder(_Accepted)


def parse_payment_required(document: bytes) -> OriginPaymentRequired | None:
    """Parse a PaymentRequired object; None when it is not one of x402 version 2.

    Entries of other schemes or networks, malformed ones and those after `MAX_OPTIONS` are left out.
    """
    try:
        required = _DOCUMENT.decode(document)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if required.x402_version != X402_VERSION:
        return None
    options = (_parse_option(bytes(entry)) for entry in required.accepts[:MAX_OPTIONS])
    return OriginPaymentRequired(tuple(each for each in options if each is not None), document)


def _parse_option(raw: bytes) -> PaymentOption | None:
    try:
        entry = _ENTRY.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    network, amount = parse_network(entry.network), parse_base_units(entry.amount)
    asset, pay_to = parse_contract(entry.asset), parse_party(entry.pay_to)
    if entry.scheme != SCHEME or network is None or asset is None or pay_to is None or not amount:
        return None
    return PaymentOption(network, asset, amount, pay_to)
