"""What the service does often, each step asked of a database as the use cases ask it."""

import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final, TypeVar
from uuid import uuid4

from bench.growth_fill import CALLER, CHARGED, LEDGER, NETWORK, Size
from bench.search_asker import open_search
from bench.search_queries import Query
from farebox.catalog.shown.browse import Browse
from farebox.catalog.shown.filters import Filters
from farebox.facilitator.budgets.budget import Budgets
from farebox.facilitator.budgets.sponsor import Sponsor
from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Claim, Ending, Recording, SettlementState
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
BUDGETS: Final = Budgets(  # the defaults, the total apart, which this many payments would use up
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
    """Takes each step once a turn and keeps how long it took, milliseconds."""

    def __init__(self, size: Size, listings: int, database: Database, search: Search) -> None:
        self._size, self._listings, self._search = size, listings, search
        clock = SystemClock()
        self._clock = clock
        self._journal = SettlementJournal(database, clock, {NETWORK: BUDGETS})
        self._sponsor = Sponsor(NETWORK, BUDGETS, database, clock, dearest=_DEAREST)
        self._usage, self._browse = Usage(database, clock), Browse(database)
        self._turn = 0
        self.samples: Samples = {}

    async def take_all(self, query: Query) -> None:
        """Every step once; the query is the only one that its words are asked with."""
        self._turn += 1
        payer = self._turn * 7919 % self._size.payers + 1
        await self._reads(payer)
        await self._settlement()
        request = SearchRequest(query.text, limit=_PAGE)
        await self._timed("search", lambda: self._search.find(request))

    async def _reads(self, payer: int) -> None:
        known = PaymentIdentity(NETWORK, _payer(payer), payer)  # of today
        found = await self._timed("look_up", lambda: self._journal.find(known))
        assert found is not None
        assert found.sent is not None
        tx_hash = hashlib.sha256(f"tx{payer} 3".encode()).digest()  # pruned by now
        by_hash = await self._timed("hash", lambda: self._journal.find_by_hash(tx_hash))
        assert by_hash is not None
        await self._timed("budget_refresh", self._sponsor.refresh)
        period = read_period(None, None, today=self._usage.today())
        days = await self._timed("usage", lambda: self._usage.of(OwnerId(CALLER), period))
        assert sum(day.settled.confirmed for day in days) >= self._size.settlements // 5 - 100
        offset = self._turn * 7919 % (self._listings - _PAGE)  # the same for every size
        page = await self._timed(
            "browse", lambda: self._browse.page(Filters(), limit=_PAGE, offset=offset)
        )
        assert page.total == self._listings
        pending = await self._timed("reconciliation", self._unresolved)
        assert pending > 0

    async def _unresolved(self) -> int:
        await self._journal.release_stale(NETWORK, older_than_s=60)
        return len(await self._journal.unresolved(NETWORK, older_than_s=30, limit=500))

    async def _settlement(self) -> None:
        """A payment of somebody new, under its caller, from the claim to the end."""
        claim = _claim(self._clock)
        assert await self._timed("claim", lambda: self._journal.claim(claim))
        sent = _envelope(self._clock)
        recorded = await self._timed("sending", lambda: self._journal.sending(claim, sent))
        assert recorded is Recording.WRITTEN, recorded
        await self._timed("submitted", lambda: self._journal.submitted(sent.tx_hash))
        ending = Ending(SettlementState.CONFIRMED, ledger=LEDGER, fee_charged=CHARGED)
        assert await self._timed("end", lambda: self._journal.end(sent.tx_hash, ending))

    async def _timed(self, step: str, work: Callable[[], Awaitable[T]]) -> T:
        began = time.perf_counter()
        found = await work()
        self.samples.setdefault(step, []).append((time.perf_counter() - began) * 1000)
        return found


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
    """The use cases on one database, as the service puts them together."""
    async with Database(url, connections=2, statement_s=30) as database, open_search(url) as search:
        yield Steps(size, listings, database, search)
