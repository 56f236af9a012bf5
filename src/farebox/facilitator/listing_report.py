"""What `/settle` says of the listing beside its answer, whatever the catalog does meanwhile."""

import asyncio
import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol

import structlog

from farebox.facilitator.identity import PaymentIdentity
from farebox.kernel.errors import Outage
from farebox.x402.discovery import EXTENSION, DiscoveryText
from farebox.x402.headers import encode_header

_WAIT_S: Final = 0.5
_AT_ONCE: Final = 64
_CODE: Final = re.compile(r"[a-z0-9_]{1,64}\Z", re.ASCII)
_UNREADABLE: Final = "not_listable"
_BUSY: Final = "catalog_busy"
_AWAY: Final = "catalog_unavailable"
_BROKEN: Final = "catalog_failed"
SENTENCES: Final = MappingProxyType(
    {
        _UNREADABLE: "The resource cannot be listed.",
        _BUSY: "The catalog is busy; the resource is listed later.",
        _AWAY: "The catalog cannot be reached now; the resource is listed later.",
        _BROKEN: "An unexpected fault of the catalog; the resource is listed later.",
    }
)

log = structlog.get_logger(__name__)


class ListingStatus(StrEnum):
    """How far the listing of a settled payment's resource has come."""

    SUCCESS = "success"
    PROCESSING = "processing"  # it is tried again without anybody's help
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ListingReport:
    """The listing's standing, and a machine-readable reason while it is not listed."""

    status: ListingStatus
    reason: str | None = None


class Catalog(Protocol):
    """Lists what settled payments were made for."""

    async def listed(self, identity: PaymentIdentity, discovery: DiscoveryText) -> ListingReport:
        """List the resource of a settled payment, or say why it is not listed.

        `discovery` is what this request said of it; what is listed was kept with the settlement.
        """
        ...


class ListingReports:
    """Asks the catalog, waits a moment for its answer, and has one to give in every case.

    A catalog that was too slow for one caller keeps no other waiting until it has come back: its
    work goes on, within its own time limits, and whatever it leaves is listed later.
    """

    def __init__(
        self, catalog: Catalog, *, wait_s: float = _WAIT_S, at_once: int = _AT_ONCE
    ) -> None:
        self._catalog, self._wait_s, self._at_once = catalog, wait_s, at_once
        self._asked: set[asyncio.Task[ListingReport]] = set()
        self._late: set[asyncio.Task[ListingReport]] = set()

    async def header(self, identity: PaymentIdentity, discovery: DiscoveryText) -> bytes:
        """The text of EXTENSION-RESPONSES for a settled payment, within `wait_s`."""
        return report_header(await self._report(identity, discovery))

    async def _report(self, identity: PaymentIdentity, discovery: DiscoveryText) -> ListingReport:
        if self._late or len(self._asked) >= self._at_once:
            return ListingReport(ListingStatus.PROCESSING, _BUSY)
        task = asyncio.ensure_future(self._ask(identity, discovery))
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)
        await asyncio.wait({task}, timeout=self._wait_s)
        if task.done():
            return task.result()
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        return ListingReport(ListingStatus.PROCESSING, _BUSY)

    async def _ask(self, identity: PaymentIdentity, discovery: DiscoveryText) -> ListingReport:
        try:
            return await self._catalog.listed(identity, discovery)
        except Outage as outage:
            log.warning("listing.postponed", part=outage.part)
            return ListingReport(ListingStatus.PROCESSING, _AWAY)
        except Exception:  # a bug of the catalog's is no settlement's
            log.exception("listing.broken")
            return ListingReport(ListingStatus.PROCESSING, _BROKEN)


def report_header(report: ListingReport) -> bytes:
    """Base64 of a JSON object in the members of both spellings; short whatever the report says."""
    entry: dict[str, object] = {
        "success": report.status is ListingStatus.SUCCESS,
        "status": report.status.value,
    }
    if report.reason is not None:
        reason = report.reason if _CODE.match(report.reason) else _UNREADABLE
        entry["reason"] = reason
        if report.status is ListingStatus.REJECTED:
            entry["rejectedReason"] = reason
    return encode_header({EXTENSION: entry}).encode()
