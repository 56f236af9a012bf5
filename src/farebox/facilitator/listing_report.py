"""The listing report of a settlement, which never delays or fails the settlement."""

import asyncio
import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol

import structlog

from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.errors import Outage
from farebox.x402.extensions import BAZAAR, DiscoveryText
from farebox.x402.headers import encode_header

_WAIT_S: Final = 0.5
_MAX_CONCURRENT: Final = 64
_CODE: Final = re.compile(r"[a-z0-9_]{1,64}\Z", re.ASCII)
_NOT_LISTABLE: Final = "not_listable"
_BUSY: Final = "catalog_busy"
_UNAVAILABLE: Final = "catalog_unavailable"
_FAILED: Final = "catalog_failed"
SENTENCES: Final = MappingProxyType(
    {
        _NOT_LISTABLE: "The resource cannot be listed.",
        _BUSY: "The catalog is busy; the resource is listed later.",
        _UNAVAILABLE: "The catalog cannot be reached now; the resource is listed later.",
        _FAILED: "An unexpected fault of the catalog; the resource is listed later.",
    }
)

log = structlog.get_logger(__name__)


class ListingStatus(StrEnum):
    """The listing status of a settled payment's resource."""

    SUCCESS = "success"
    PROCESSING = "processing"  # retried without another request
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ListingReport:
    """The listing status, and a reason code while the resource is not listed."""

    status: ListingStatus
    reason: str | None = None


class Catalog(Protocol):
    """Lists the resources of settled payments."""

    async def prepare(self) -> None:
        """Prepare for a listing while its payment settles."""
        ...

    async def list_resource(
        self, identity: PaymentIdentity, discovery: DiscoveryText
    ) -> ListingReport:
        """List the resource of a settled payment, or report why it is not listed.

        `discovery` is this request's metadata; the listing uses that stored with the settlement.
        """
        ...


class ListingReports:
    """Gets reports from the catalog within a timeout; there is a report in every case.

    After a timeout no request waits for the catalog until that call has returned. The call
    continues within the catalog's own timeouts, and the outbox retries a listing that it leaves.
    """

    def __init__(
        self, catalog: Catalog, *, wait_s: float = _WAIT_S, max_concurrent: int = _MAX_CONCURRENT
    ) -> None:
        self._catalog, self._wait_s, self._max_concurrent = catalog, wait_s, max_concurrent
        self._running: set[asyncio.Task[ListingReport]] = set()
        self._late: set[asyncio.Task[ListingReport]] = set()

    async def prepare(self) -> None:
        """Let the catalog prepare for a listing while its payment settles; raises nothing."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._catalog.prepare()
        except Exception:
            log.exception("listing.not_prepared")

    async def report(self, identity: PaymentIdentity, discovery: DiscoveryText) -> ListingReport:
        """Get the report for a settled payment within `wait_s` seconds; raises nothing."""
        if self._late or len(self._running) >= self._max_concurrent:
            return ListingReport(ListingStatus.PROCESSING, _BUSY)
        task = asyncio.ensure_future(self._list(identity, discovery))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await asyncio.wait({task}, timeout=self._wait_s)
        if task.done():
            return task.result()
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        return ListingReport(ListingStatus.PROCESSING, _BUSY)

    async def _list(self, identity: PaymentIdentity, discovery: DiscoveryText) -> ListingReport:
        try:
            return await self._catalog.list_resource(identity, discovery)
        except Outage as outage:
            log.warning("listing.postponed", part=outage.part)
            return ListingReport(ListingStatus.PROCESSING, _UNAVAILABLE)
        except Exception:  # a bug of the catalog does not fail the settlement
            log.exception("listing.broken")
            return ListingReport(ListingStatus.PROCESSING, _FAILED)


def render_report_header(report: ListingReport) -> bytes:
    """Render the value of EXTENSION-RESPONSES: base64 of JSON with the members of both spellings.

    Its length is bounded for every report.
    """
    entry: dict[str, object] = {
        "success": report.status is ListingStatus.SUCCESS,
        "status": report.status.value,
    }
    if report.reason is not None:
        reason = report.reason if _CODE.match(report.reason) else _NOT_LISTABLE
        entry["reason"] = reason
        if report.status is ListingStatus.REJECTED:
            entry["rejectedReason"] = reason
    return encode_header({BAZAAR: entry}).encode()
