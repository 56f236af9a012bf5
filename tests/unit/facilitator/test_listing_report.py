"""The listing report header is there in time and readable, whatever the catalog does."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.facilitator.listing_report import (
    ListingReport,
    ListingReports,
    ListingStatus,
    render_report_header,
)
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.x402.extensions import DiscoveryText
from farebox.x402.headers import decode_header
from support.promises import case, promise

IDENTITY: Final = PaymentIdentity(Network.TESTNET, account_address(bytes(32)), 1)
TEXT: Final = DiscoveryText(b"{}", b"{}")


class Scripted:
    """A catalog that does one thing."""

    def __init__(self, does: Callable[[], Awaitable[ListingReport]]) -> None:
        self.does = does
        self.calls = 0

    async def prepare(self) -> None:
        return None

    async def list_resource(
        self, identity: PaymentIdentity, discovery: DiscoveryText
    ) -> ListingReport:
        assert (identity, discovery) == (IDENTITY, TEXT)
        self.calls += 1
        return await self.does()


def read(header: bytes) -> dict[str, Any]:
    decoded = decode_header(header.decode())
    assert decoded is not None
    assert set(decoded) == {"bazaar"}
    entry = decoded["bazaar"]
    assert isinstance(entry, dict)
    return entry


async def report(reports: ListingReports) -> dict[str, Any]:
    return read(render_report_header(await reports.report(IDENTITY, TEXT)))


async def listed() -> ListingReport:
    return ListingReport(ListingStatus.SUCCESS)


async def never() -> ListingReport:
    await asyncio.Event().wait()
    return await listed()


async def away() -> ListingReport:
    raise DatabaseUnavailable("away")


async def broken() -> ListingReport:
    raise RecursionError("a bug")


@promise("settle:extension-responses")
@pytest.mark.parametrize(
    ("report", "entry"),
    [
        (ListingReport(ListingStatus.SUCCESS), {"success": True, "status": "success"}),
        (
            ListingReport(ListingStatus.PROCESSING, "catalog_busy"),
            {"success": False, "status": "processing", "reason": "catalog_busy"},
        ),
        (
            ListingReport(ListingStatus.REJECTED, "schema_invalid"),
            {
                "success": False,
                "status": "rejected",
                "reason": "schema_invalid",
                "rejectedReason": "schema_invalid",
            },
        ),
    ],
)
def test_rejection_is_reported_in_both_spellings(
    report: ListingReport, entry: dict[str, object]
) -> None:
    assert read(render_report_header(report)) == entry


@case("CT-048")
@given(st.text(max_size=400) | st.just("x" * 20_000) | st.just("a\r\nset-cookie: b"))
def test_header_stays_short_and_valid_whatever_the_reason(reason: str) -> None:
    for status in ListingStatus:
        header = render_report_header(ListingReport(status, reason))
        assert len(header) <= 400
        assert header.isascii()
        assert b"\n" not in header
        assert read(header)["status"] == status


@pytest.mark.parametrize(
    ("does", "reason"), [(away, "catalog_unavailable"), (broken, "catalog_failed")]
)
async def test_report_is_processing_when_the_catalog_fails(
    does: Callable[[], Awaitable[ListingReport]], reason: str
) -> None:
    decoded = await report(ListingReports(Scripted(does)))
    assert decoded == {"success": False, "status": "processing", "reason": reason}


async def timers_of(*seconds: float) -> list[asyncio.Task[None]]:
    """Begun timers of this loop: while it stands still, none is ahead of one that began before."""
    timers = [asyncio.create_task(asyncio.sleep(each)) for each in seconds]
    await asyncio.sleep(0)
    return timers


async def test_hanging_catalog_delays_one_caller_briefly_and_no_other() -> None:
    catalog = Scripted(never)
    reports = ListingReports(catalog, wait_s=0.1)
    least, most = await timers_of(0.1, 0.4)
    assert (await report(reports))["reason"] == "catalog_busy"
    assert (least.done(), most.done()) == (True, False)
    (all_together,) = await timers_of(0.1)
    for _ in range(50):
        assert (await report(reports))["reason"] == "catalog_busy"
    assert not all_together.done()
    for timer in (most, all_together):
        timer.cancel()
    assert catalog.calls == 1


class Unprepared(Scripted):
    """A catalog that cannot prepare."""

    def __init__(self, prepares: Callable[[], Awaitable[ListingReport]]) -> None:
        super().__init__(listed)
        self._prepares = prepares

    async def prepare(self) -> None:
        await self._prepares()


@pytest.mark.parametrize("prepares", [never, broken])
async def test_settlement_goes_on_without_a_catalog_that_cannot_prepare(
    prepares: Callable[[], Awaitable[ListingReport]],
) -> None:
    reports = ListingReports(Unprepared(prepares), wait_s=0.1)
    await reports.prepare()
    assert (await report(reports))["success"] is True


async def test_catalog_is_called_again_after_it_recovers() -> None:
    over = asyncio.Event()

    async def slow() -> ListingReport:
        await over.wait()
        return await listed()

    catalog = Scripted(slow)
    reports = ListingReports(catalog, wait_s=0.02)
    assert (await report(reports))["status"] == "processing"
    over.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (await report(reports))["status"] == "success"


async def test_catalog_is_called_for_at_most_max_concurrent_reports() -> None:
    catalog = Scripted(never)
    reports = ListingReports(catalog, wait_s=0.05, max_concurrent=3)
    decoded = await asyncio.gather(*(report(reports) for _ in range(20)))
    assert {each["reason"] for each in decoded} == {"catalog_busy"}
    assert catalog.calls == 3


async def test_listing_continues_when_its_caller_disconnects() -> None:
    begun, over, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow() -> ListingReport:
        begun.set()
        await over.wait()
        done.set()
        return await listed()

    caller = asyncio.ensure_future(report(ListingReports(Scripted(slow))))
    await begun.wait()
    caller.cancel()
    over.set()
    await asyncio.wait_for(done.wait(), 1)
