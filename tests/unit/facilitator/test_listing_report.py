"""Whatever the catalog does, there is a header in time, and it can be read."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.listing_report import (
    ListingReport,
    ListingReports,
    ListingStatus,
    report_header,
)
from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.x402.discovery import DiscoveryText
from farebox.x402.headers import decode_header
from support.promises import case, promise

IDENTITY: Final = PaymentIdentity(Network.TESTNET, account_address(bytes(32)), 1)
TEXT: Final = DiscoveryText(b"{}", b"{}")


class Scripted:
    """A catalog that does one thing."""

    def __init__(self, does: Callable[[], Awaitable[ListingReport]]) -> None:
        self.does = does
        self.asked = 0

    async def listed(self, identity: PaymentIdentity, discovery: DiscoveryText) -> ListingReport:
        assert (identity, discovery) == (IDENTITY, TEXT)
        self.asked += 1
        return await self.does()


def read(header: bytes) -> dict[str, Any]:
    told = decode_header(header.decode())
    assert told is not None
    assert set(told) == {"bazaar"}
    entry = told["bazaar"]
    assert isinstance(entry, dict)
    return entry


async def asked(reports: ListingReports) -> dict[str, Any]:
    return read(await reports.header(IDENTITY, TEXT))


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
def test_both_spellings_are_given(report: ListingReport, entry: dict[str, object]) -> None:
    assert read(report_header(report)) == entry


@case("CT-048")
@given(st.text(max_size=400) | st.just("x" * 20_000) | st.just("a\r\nset-cookie: b"))
def test_no_reason_makes_the_header_long_or_breaks_it(reason: str) -> None:
    for status in ListingStatus:
        header = report_header(ListingReport(status, reason))
        assert len(header) <= 400
        assert header.isascii()
        assert b"\n" not in header
        assert read(header)["status"] == status


@pytest.mark.parametrize(
    ("does", "reason"), [(away, "catalog_unavailable"), (broken, "catalog_failed")]
)
async def test_a_catalog_that_fails_is_told_as_still_to_come(
    does: Callable[[], Awaitable[ListingReport]], reason: str
) -> None:
    told = await asked(ListingReports(Scripted(does)))
    assert told == {"success": False, "status": "processing", "reason": reason}


async def test_a_catalog_that_hangs_costs_one_caller_a_moment_and_the_others_none() -> None:
    catalog = Scripted(never)
    reports = ListingReports(catalog, wait_s=0.1)
    began = time.monotonic()
    assert (await asked(reports))["reason"] == "catalog_busy"
    assert 0.1 <= time.monotonic() - began < 0.4
    began = time.monotonic()
    for _ in range(50):
        assert (await asked(reports))["reason"] == "catalog_busy"
    assert time.monotonic() - began < 0.1
    assert catalog.asked == 1


async def test_a_catalog_that_has_come_back_is_asked_again() -> None:
    over = asyncio.Event()

    async def slow() -> ListingReport:
        await over.wait()
        return await listed()

    catalog = Scripted(slow)
    reports = ListingReports(catalog, wait_s=0.02)
    assert (await asked(reports))["status"] == "processing"
    over.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (await asked(reports))["status"] == "success"


async def test_a_catalog_is_asked_for_so_many_at_once_and_no_more() -> None:
    catalog = Scripted(never)
    reports = ListingReports(catalog, wait_s=0.05, at_once=3)
    told = await asyncio.gather(*(asked(reports) for _ in range(20)))
    assert {each["reason"] for each in told} == {"catalog_busy"}
    assert catalog.asked == 3


async def test_a_caller_who_leaves_stops_no_listing() -> None:
    begun, over, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow() -> ListingReport:
        begun.set()
        await over.wait()
        done.set()
        return await listed()

    caller = asyncio.ensure_future(asked(ListingReports(Scripted(slow))))
    await begun.wait()
    caller.cancel()
    over.set()
    await asyncio.wait_for(done.wait(), 1)
