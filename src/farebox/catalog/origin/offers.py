"""What a resource says for itself: the offers of the 402 it answers when nobody pays."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from farebox.kernel.addresses import Address, parse_contract, parse_party
from farebox.kernel.amounts import BaseUnits, parse_base_units
from farebox.kernel.networks import Network, parse_network
from farebox.outbound.answer import OutboundAnswer
from farebox.outbound.client import OutboundClient
from farebox.outbound.faults import AnswerUnknown, CallRefused, NotSent
from farebox.outbound.request import OutboundRequest
from farebox.x402.headers import PAYMENT_REQUIRED, header_bytes
from farebox.x402.wire import SCHEME, X402_VERSION

MAX_OFFERS: Final = 64
MAX_ANSWER_BYTES: Final = 256 * 1024
DEADLINE_S: Final = 8.0
_PAYMENT_REQUIRED_STATUS: Final = 402
_EMPTY_OBJECT: Final = b"{}"
_JSON: Final = (("Content-Type", "application/json"), ("Accept", "application/json"))


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to pay that a resource names, on a network of ours."""

    network: Network
    asset: Address
    amount: BaseUnits
    pay_to: Address


@dataclass(frozen=True, slots=True)
class Offers:
    """A readable 402; `document` is its JSON to the letter, a stranger's words."""

    offers: tuple[Offer, ...]  # none when every way to pay is of another kind than ours
    document: bytes

    def name(self, network: Network, pay_to: Address) -> bool:
        """Whether one of them pays this recipient on this network."""
        return any((each.network, each.pay_to) == (network, pay_to) for each in self.offers)


class Silence(StrEnum):
    """Why a resource has told nothing of its offers."""

    NOT_CALLED = "not_called"  # the address is not one that is called
    UNREACHABLE = "unreachable"  # nothing could be sent
    NO_ANSWER = "no_answer"  # sent, and no whole answer came
    NO_PAYMENT_ASKED = "no_payment_asked"  # it answered, with another status than 402
    UNREADABLE = "unreadable"  # a 402 whose terms cannot be read


@dataclass(frozen=True, slots=True)
class OriginSilent:
    """Nothing is known of its offers; `detail` is a code of ours or a status, never its words."""

    why: Silence
    detail: str = ""


class Origins(Protocol):
    """Asks resources for their own 402."""

    async def offers(self, url: str, *, method: str | None) -> Offers | OriginSilent:
        """What the resource says; every failure is an answer."""
        ...


class Origin:
    """Asks over the network, within a deadline and through the guard."""

    def __init__(self, client: OutboundClient, *, deadline_s: float = DEADLINE_S) -> None:
        self._client, self._deadline_s = client, deadline_s

    async def offers(self, url: str, *, method: str | None) -> Offers | OriginSilent:
        """What the resource says when nobody pays.

        It is asked by GET, HEAD, or POST with an empty JSON object, as `method` has it; by GET in
        place of a method that changes or removes: whoever names a stranger's URL must not have us
        send that for him.
        """
        try:
            async with self._client.call(_question(url, method, self._deadline_s)) as answer:
                return await _read(answer)
        except CallRefused as refused:
            return OriginSilent(Silence.NOT_CALLED, refused.reason.value)
        except NotSent as unsent:
            return OriginSilent(Silence.UNREACHABLE, unsent.reason.value)
        except AnswerUnknown as unknown:
            return OriginSilent(Silence.NO_ANSWER, unknown.reason.value)


def _question(url: str, method: str | None, deadline_s: float) -> OutboundRequest:
    asks = method if method in ("HEAD", "POST") else "GET"
    return OutboundRequest(
        url,
        method=asks,
        headers=_JSON if asks == "POST" else _JSON[1:],
        body=_EMPTY_OBJECT if asks == "POST" else None,
        deadline_s=deadline_s,
        max_answer_bytes=MAX_ANSWER_BYTES,
    )


async def _read(answer: OutboundAnswer) -> Offers | OriginSilent:
    if answer.status != _PAYMENT_REQUIRED_STATUS:
        return OriginSilent(Silence.NO_PAYMENT_ASKED, str(answer.status))
    header = answer.header(PAYMENT_REQUIRED)
    document = await answer.read() if header is None else header_bytes(header)
    offers = None if document is None else read_offers(document)
    return OriginSilent(Silence.UNREADABLE) if offers is None else offers


class _PaymentRequired(msgspec.Struct):
    x402_version: int = msgspec.field(name="x402Version")
    accepts: list[msgspec.Raw]


class _Accepted(msgspec.Struct, rename="camel"):
    scheme: str
    network: str
    asset: str
    amount: str
    pay_to: str


_DOCUMENT: Final = msgspec.json.Decoder(_PaymentRequired)
_ENTRY: Final = msgspec.json.Decoder(_Accepted)


def read_offers(document: bytes) -> Offers | None:
    """The offers in a PaymentRequired object; None when it is none of version 2.

    What is offered in other schemes, on other networks or in another form is left out.
    """
    try:
        read = _DOCUMENT.decode(document)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if read.x402_version != X402_VERSION:
        return None
    found = (_offer(bytes(entry)) for entry in read.accepts[:MAX_OFFERS])
    return Offers(tuple(each for each in found if each is not None), document)


def _offer(raw: bytes) -> Offer | None:
    try:
        entry = _ENTRY.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    network, amount = parse_network(entry.network), parse_base_units(entry.amount)
    asset, pay_to = parse_contract(entry.asset), parse_party(entry.pay_to)
    if entry.scheme != SCHEME or network is None or asset is None or pay_to is None or not amount:
        return None
    return Offer(network, asset, amount, pay_to)
