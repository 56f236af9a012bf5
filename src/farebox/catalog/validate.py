"""Validate discovery metadata as the catalog would read it, without writing anything."""

from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from farebox.catalog.discovery.canonical_url import read_url
from farebox.catalog.discovery.discovered_resource import DiscoveredResource
from farebox.catalog.discovery.drop_reason import Dropped, DropReason, FieldDropped
from farebox.catalog.discovery.reader import DiscoveryReader, ReadFailed
from farebox.catalog.ingestion.gateway_sales import GatewaySales
from farebox.catalog.ingestion.listing_outcome import SENTENCES as REJECTIONS
from farebox.catalog.ingestion.listing_outcome import RejectionReason
from farebox.catalog.origin.payment_required import (
    OriginClient,
    OriginFailure,
    OriginFault,
    OriginPaymentRequired,
    PaymentOption,
)
from farebox.kernel.addresses import Address
from farebox.x402.extensions import DiscoveryText, read_discovery_text


class ValidationFault(StrEnum):
    """Why there is no metadata to validate; `DropReason` has the faults of metadata itself."""

    BAZAAR_MISSING = "bazaar_missing"
    NO_SUPPORTED_OFFER = "no_supported_offer"
    NOT_ASKED = "origin_not_asked"
    NOT_CALLED = "origin_not_called"
    UNREACHABLE = "origin_unreachable"
    NO_ANSWER = "origin_no_answer"
    NO_PAYMENT_ASKED = "origin_no_payment_asked"
    UNREADABLE = "origin_unreadable"


SENTENCES: Final = MappingProxyType(
    {
        ValidationFault.BAZAAR_MISSING: "There is no extension bazaar.",
        ValidationFault.NO_SUPPORTED_OFFER: (
            "None of the ways to pay is one that this service settles."
        ),
        ValidationFault.NOT_ASKED: "This service has no room for the call now: ask again later.",
        ValidationFault.NOT_CALLED: "This service does not call such an address.",
        ValidationFault.UNREACHABLE: "The resource could not be reached.",
        ValidationFault.NO_ANSWER: "The resource gave no whole answer in time.",
        ValidationFault.NO_PAYMENT_ASKED: "The resource did not answer 402.",
        ValidationFault.UNREADABLE: "The resource's 402 is not one of x402 version 2.",
    }
)
_OF_SILENCE: Final = MappingProxyType(
    {
        OriginFault.NOT_ASKED: ValidationFault.NOT_ASKED,
        OriginFault.NOT_CALLED: ValidationFault.NOT_CALLED,
        OriginFault.UNREACHABLE: ValidationFault.UNREACHABLE,
        OriginFault.NO_ANSWER: ValidationFault.NO_ANSWER,
        OriginFault.NO_PAYMENT_ASKED: ValidationFault.NO_PAYMENT_ASKED,
        OriginFault.UNREADABLE: ValidationFault.UNREADABLE,
    }
)
NOBODY: Final = Address("")  # where no recipient is named: only mcp:// keys would have one


@dataclass(frozen=True, slots=True)
class MetadataSubmission:
    """Metadata as a payload carries it; `text` is None without an extension."""

    text: DiscoveryText | None
    pay_to: Address = NOBODY


@dataclass(frozen=True, slots=True)
class UrlSubmission:
    """A URL whose own 402 is validated."""

    url: str
    method: str | None = None


@dataclass(frozen=True, slots=True)
class ValidationFlaw:
    """A reason against a listing: a code, and a sentence for a person."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The listing that a payment would make, or why it would make none."""

    flaws: tuple[ValidationFlaw, ...] = ()
    read: DiscoveredResource | None = None
    offers: tuple[PaymentOption, ...] | None = None  # what the resource asks for, if asked

    @property
    def is_valid(self) -> bool:
        """Whether a payment would list the resource."""
        return not self.flaws


class Validation:
    """Reads metadata as the catalog does, and writes nothing."""

    def __init__(
        self,
        origins: OriginClient,
        reader: DiscoveryReader,
        gateway: GatewaySales,
        *,
        is_local_allowed: bool = False,
    ) -> None:
        self._origins, self._reader, self._gateway = origins, reader, gateway
        self._is_local_allowed = is_local_allowed

    async def validate(self, submission: MetadataSubmission | UrlSubmission) -> ValidationReport:
        """Report the listing that a payment with this metadata, or for this URL, would make.

        Raises:
            ReaderUnavailable: nothing can be validated now.
        """
        if isinstance(submission, MetadataSubmission):
            return await self._validate_metadata(submission)
        return await self._validate_url(submission)

    async def _validate_metadata(self, metadata: MetadataSubmission) -> ValidationReport:
        if metadata.text is None:
            return ValidationReport((_fault(ValidationFault.BAZAAR_MISSING),))
        if metadata.text.is_oversized:
            return ValidationReport((_dropped(Dropped(DropReason.DISCOVERY_TOO_LARGE)),))
        try:
            read = await self._reader.read(metadata.text.to_bytes(), pay_to=metadata.pay_to)
        except ReadFailed:
            read = Dropped(DropReason.SCHEMA_TOO_COSTLY)
        if isinstance(read, Dropped):
            return ValidationReport((_dropped(read),))
        if self._gateway.is_own(read.resource.url):
            reserved = RejectionReason.GATEWAY_URL
            return ValidationReport((ValidationFlaw(reserved.value, REJECTIONS[reserved]),))
        return ValidationReport(read=read)

    async def _validate_url(self, submission: UrlSubmission) -> ValidationReport:
        url = read_url(submission.url, is_local_allowed=self._is_local_allowed)
        if isinstance(url, DropReason):
            return ValidationReport((_dropped(Dropped(url)),))
        query = submission.url.partition("#")[0].partition("?")[2]
        target = f"{url}?{query}" if query else str(url)
        answer = await self._origins.fetch_payment_required(target, method=submission.method)
        if isinstance(answer, OriginFailure):
            return ValidationReport((_fault(_OF_SILENCE[answer.fault], answer.detail),))
        report = await self._validate_metadata(_metadata_of(answer))
        flaws = (
            report.flaws
            if answer.options
            else (*report.flaws, _fault(ValidationFault.NO_SUPPORTED_OFFER))
        )
        report = replace(report, flaws=flaws, offers=answer.options)
        return _with_url_warning(report, str(url))


class _PaymentRequiredBody(msgspec.Struct):
    resource: msgspec.Raw = msgspec.Raw()
    extensions: msgspec.Raw = msgspec.Raw()


_PAYMENT_REQUIRED: Final = msgspec.json.Decoder(_PaymentRequiredBody)


def _metadata_of(answer: OriginPaymentRequired) -> MetadataSubmission:
    try:
        document = _PAYMENT_REQUIRED.decode(answer.document)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return MetadataSubmission(None)
    pay_to = answer.options[0].pay_to if answer.options else NOBODY
    return MetadataSubmission(read_discovery_text(document.resource, document.extensions), pay_to)


def _with_url_warning(report: ValidationReport, url: str) -> ValidationReport:
    """Add a warning when the metadata names another URL than the one that was called."""
    read = report.read
    if read is None or read.resource.paid_url == url:
        return report
    why = f"names {read.resource.paid_url} and not the URL that was asked."
    warned = FieldDropped("resource.url", why)
    return replace(report, read=replace(read, dropped=(*read.dropped, warned)))


def _dropped(dropped: Dropped) -> ValidationFlaw:
    return ValidationFlaw(dropped.reason.value, dropped.sentence)


def _fault(fault: ValidationFault, detail: str = "") -> ValidationFlaw:
    return ValidationFlaw(fault.value, SENTENCES[fault] + (f" ({detail})" if detail else ""))
