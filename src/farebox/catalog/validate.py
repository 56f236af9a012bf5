"""Judge what would become of a resource's listing, without writing anything."""

from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from farebox.catalog.discovery.canonical_url import read_url
from farebox.catalog.discovery.drop_reason import Dropped, DropReason, FieldDropped
from farebox.catalog.discovery.read import Read, read_closely
from farebox.catalog.origin.offers import Offer, Offers, Origins, OriginSilent, Silence
from farebox.kernel.addresses import Address
from farebox.x402.discovery import DiscoveryText, read_discovery_text


class Fault(StrEnum):
    """Why there is nothing to judge, beside the reasons why what there is would be dropped."""

    BAZAAR_MISSING = "bazaar_missing"
    NO_SUPPORTED_OFFER = "no_supported_offer"
    NOT_CALLED = "origin_not_called"
    UNREACHABLE = "origin_unreachable"
    NO_ANSWER = "origin_no_answer"
    NO_PAYMENT_ASKED = "origin_no_payment_asked"
    UNREADABLE = "origin_unreadable"


SENTENCES: Final = MappingProxyType(
    {
        Fault.BAZAAR_MISSING: "There is no extension bazaar.",
        Fault.NO_SUPPORTED_OFFER: "None of the ways to pay is one that this service settles.",
        Fault.NOT_CALLED: "This service does not call such an address.",
        Fault.UNREACHABLE: "The resource could not be reached.",
        Fault.NO_ANSWER: "The resource gave no whole answer in time.",
        Fault.NO_PAYMENT_ASKED: "The resource did not answer 402.",
        Fault.UNREADABLE: "The resource's 402 is not one of x402 version 2.",
    }
)
_OF_SILENCE: Final = MappingProxyType(
    {
        Silence.NOT_CALLED: Fault.NOT_CALLED,
        Silence.UNREACHABLE: Fault.UNREACHABLE,
        Silence.NO_ANSWER: Fault.NO_ANSWER,
        Silence.NO_PAYMENT_ASKED: Fault.NO_PAYMENT_ASKED,
        Silence.UNREADABLE: Fault.UNREADABLE,
    }
)
NOBODY: Final = Address("")  # where no recipient is named: only mcp:// keys would have one


@dataclass(frozen=True, slots=True)
class Said:
    """Metadata as a payload carries it; None without an extension."""

    text: DiscoveryText | None
    pay_to: Address = NOBODY


@dataclass(frozen=True, slots=True)
class Asked:
    """A URL that is to answer for itself."""

    url: str
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Flaw:
    """A reason against a listing: a code, and a sentence for a person."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Report:
    """What would be listed, or why nothing would."""

    flaws: tuple[Flaw, ...] = ()
    read: Read | None = None
    offers: tuple[Offer, ...] | None = None  # what the resource asks for, where it was asked

    @property
    def is_valid(self) -> bool:
        """Whether a payment for it would list it."""
        return not self.flaws


class Validation:
    """Reads as the catalog reads, and writes nothing."""

    def __init__(self, origins: Origins, *, is_local_allowed: bool = False) -> None:
        self._origins, self._is_local_allowed = origins, is_local_allowed

    async def judge(self, question: Said | Asked) -> Report:
        """What a settled payment with these words, or for this URL, would list."""
        return (
            self._judge_said(question) if isinstance(question, Said) else await self._ask(question)
        )

    def _judge_said(self, said: Said) -> Report:
        if said.text is None:
            return Report((_fault(Fault.BAZAAR_MISSING),))
        if said.text.is_oversized:
            return Report((_dropped(Dropped(DropReason.DISCOVERY_TOO_LARGE)),))
        read = read_closely(
            said.text.to_bytes(), pay_to=said.pay_to, is_local_allowed=self._is_local_allowed
        )
        return Report(read=read) if isinstance(read, Read) else Report((_dropped(read),))

    async def _ask(self, asked: Asked) -> Report:
        url = read_url(asked.url, is_local_allowed=self._is_local_allowed)
        if isinstance(url, DropReason):
            return Report((_dropped(Dropped(url)),))
        query = asked.url.partition("#")[0].partition("?")[2]
        place = f"{url}?{query}" if query else str(url)
        answer = await self._origins.offers(place, method=asked.method)
        if isinstance(answer, OriginSilent):
            return Report((_fault(_OF_SILENCE[answer.why], answer.detail),))
        report = self._judge_said(_said(answer))
        flaws = report.flaws if answer.offers else (*report.flaws, _fault(Fault.NO_SUPPORTED_OFFER))
        report = replace(report, flaws=flaws, offers=answer.offers)
        return _compared(report, str(url))


class _Document(msgspec.Struct):
    resource: msgspec.Raw = msgspec.Raw()
    extensions: msgspec.Raw = msgspec.Raw()


_DOCUMENT: Final = msgspec.json.Decoder(_Document)


def _said(answer: Offers) -> Said:
    try:
        document = _DOCUMENT.decode(answer.document)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return Said(None)
    pay_to = answer.offers[0].pay_to if answer.offers else NOBODY
    return Said(read_discovery_text(document.resource, document.extensions), pay_to)


def _compared(report: Report, asked: str) -> Report:
    """With a warning where the resource speaks of another place than the one that was asked."""
    read = report.read
    if read is None or read.resource.asked_url == asked:
        return report
    why = f"names {read.resource.asked_url} and not the URL that was asked."
    warned = FieldDropped("resource.url", why)
    return replace(report, read=replace(read, dropped=(*read.dropped, warned)))


def _dropped(dropped: Dropped) -> Flaw:
    return Flaw(dropped.reason.value, dropped.sentence)


def _fault(fault: Fault, detail: str = "") -> Flaw:
    return Flaw(fault.value, SENTENCES[fault] + (f" ({detail})" if detail else ""))
