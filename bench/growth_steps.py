"""Measures the frequent steps of the service, each by its use case."""

import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final, TypeVar
from uuid import uuid4

from bench.growth_fill import CALLER, CHARGED, LEDGER, NETWORK, Size
from bench.search_client import open_search
from bench.search_queries import Query
from farebox.catalog.browsing.browse import Browse
from farebox.catalog.listing import ListingFilters
from farebox.facilitator.budgets.budget import Budgets
from farebox.facilitator.budgets.sponsor_budget import SponsorBudget
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import (
    Claim,
    FinalStatus,
    PaymentIdentity,
    Recording,
    SettlementState,
)
from farebox.ingress.usage import Usage
from farebox.ingress.usage_day import read_period
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.search.search import Search, SearchRequest
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope

_XLM: Final = 10_000_000  # stroops
BUDGETS: Final = Budgets(  # the defaults, but for a larger total
    total=Stroops(2_000_000 * _XLM),
    payer=Stroops(2 * _XLM),
    pay_to=Stroops(500_000 * _XLM),
    key=Stroops(500_000 * _XLM),
    payer_loss=Stroops(_XLM // 4),
)
_DEAREST: Final = Stroops(500_000)
_PAGE: Final = 20
T = TypeVar("T")
Samples = dict[str, list[float]]


class Steps:
    """Runs each step once a turn and records its latency, milliseconds."""

    def __init__(self, size: Size, listings: int, database: Database, search: Search) -> None:
        self._size, self._listings, self._search = size, listings, search
        clock = SystemClock()
        self._clock = clock
        self._journal = SettlementJournal(database, clock, {NETWORK: BUDGETS})
        self._sponsor = SponsorBudget(NETWORK, BUDGETS, database, clock, highest_fee=_DEAREST)
        self._usage, self._browse = Usage(database, clock), Browse(database)
        self._turn = 0
        self.samples: Samples = {}

    async def run_all(self, query: Query) -> None:
        """Run every step once; no two queries have the same words."""
        self._turn += 1
        payer = self._turn * 7919 % self._size.payers + 1
        await self._run_reads(payer)
        await self._run_settlement()
        request = SearchRequest(query.text, limit=_PAGE)
        await self._measure("search", lambda: self._search.find(request))

    async def _run_reads(self, payer: int) -> None:
        known = PaymentIdentity(NETWORK, _payer(payer), payer)  # of today
        result = await self._measure("look_up", lambda: self._journal.find(known))
        assert result is not None
        assert result.sent is not None
        tx_hash = hashlib.sha256(f"tx{payer} 3".encode()).digest()  # pruned by now
        by_hash = await self._measure("hash", lambda: self._journal.find_by_hash(tx_hash))
        assert by_hash is not None
        await self._measure("budget_refresh", self._sponsor.refresh)
        period = read_period(None, None, today=self._usage.today())
        days = await self._measure("usage", lambda: self._usage.of(OwnerId(CALLER), period))
        assert sum(day.settlements.confirmed for day in days) >= self._size.settlements // 5 - 100
        offset = self._turn * 7919 % (self._listings - _PAGE)  # the same for every size
        page = await self._measure(
            "browse", lambda: self._browse.read_page(ListingFilters(), limit=_PAGE, offset=offset)
        )
        assert page.total == self._listings
        pending = await self._measure("reconciliation", self._unresolved)
        assert pending > 0

    async def _unresolved(self) -> int:
        await self._journal.release_stale(NETWORK, older_than_s=60)
        return len(await self._journal.find_unresolved(NETWORK, older_than_s=30, limit=500))

    async def _run_settlement(self) -> None:
        """Settle a payment of a new payer, from the claim to the final status."""
        claim = _claim(self._clock)
        assert await self._measure("claim", lambda: self._journal.claim(claim))
        sent = _envelope(self._clock)
        recorded = await self._measure("sending", lambda: self._journal.record_sending(claim, sent))
        assert recorded is Recording.WRITTEN, recorded
        await self._measure("submitted", lambda: self._journal.record_submitted(sent.tx_hash))
        status = FinalStatus(SettlementState.CONFIRMED, ledger=LEDGER, fee_charged=CHARGED)
        assert await self._measure("end", lambda: self._journal.record_final(sent.tx_hash, status))

    async def _measure(self, step: str, work: Callable[[], Awaitable[T]]) -> T:
        began = time.perf_counter()
        result = await work()
        self.samples.setdefault(step, []).append((time.perf_counter() - began) * 1000)
        return result


def _payer(number: int) -> Address:
    text = hashlib.md5(f"payer{number}".encode(), usedforsecurity=False).hexdigest()
    again = hashlib.md5(f"again{number}".encode(), usedforsecurity=False).hexdigest()
    return Address("G" + (text + again).upper()[:55])


def _claim(clock: SystemClock) -> Claim:
    tag = uuid4()
    return Claim(
        identity=PaymentIdentity(NETWORK, account_address(tag.bytes * 2), tag.int % 2**60),
        claim_id=tag,
        request_digest=tag.bytes * 2,
        asset=contract_address(bytes(32)),
        amount=BaseUnits(10_000),
        pay_to=account_address(bytes([7]) * 32),
        expires_at_ledger=LEDGER + 20,
        claimed_at=clock.now(),
        ends_by=clock.now(),
        max_timeout_s=60,
        caller=OwnerId(CALLER),
    )


def _envelope(clock: SystemClock) -> SentEnvelope:
    tag = uuid4()
    return SentEnvelope(
        tx_hash=tag.bytes * 2,
        inner_hash=tag.bytes[::-1] * 2,
        envelope=Secret(tag.bytes * 75),
        source=account_address(tag.bytes + bytes(16)),
        source_sequence=1,
        max_time=clock.now() + timedelta(seconds=45),
        fee_limit=Stroops(30_000),
        sent_after_ledger=LEDGER,
    )


@asynccontextmanager
async def open_steps(url: Secret[str], size: Size, listings: int) -> AsyncIterator[Steps]:
    """Open the use cases on one database, as the service composes them."""
    async with Database(url, connections=2, statement_s=30) as database, open_search(url) as search:
        yield Steps(size, listings, database, search)
