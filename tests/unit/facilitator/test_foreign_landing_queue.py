"""Foreign landing searches run one at a time; a search that was not tried does not count."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from farebox.facilitator.journal.foreign_landing import (
    ForeignLandingSearch,
    LandingSearchFailed,
    SpentAuthorization,
)
from farebox.facilitator.journal.status_resolver import StatusResolver
from farebox.facilitator.settlement import FinalStatus, SettlementState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.rpc import (
    LandedEnvelope,
    LedgerEntries,
    NodeHealth,
    NoEnvelope,
    RpcUnavailable,
    TransfersFound,
    TransferWindow,
)
from farebox.submission.fate import Dead
from support.claims import ASSET, PAY_TO, claim, signed_envelope
from support.fake_rpc import FakeRpc
from support.manual_clock import START, ManualClock
from support.status_resolvers import status_resolver

CLAIM = claim()
SPENT = SpentAuthorization(CLAIM.identity, ASSET, PAY_TO, CLAIM.amount)
SENT = signed_envelope(max_time=START)


class Nobody:
    """No account of ours."""

    addresses: frozenset[Address] = frozenset()


class Node(FakeRpc):
    """Answers each request after `after_s` seconds, or is unavailable."""

    def __init__(self, *, after_s: float = 0.0, is_away: bool = False) -> None:
        self.after_s, self.is_away = after_s, is_away
        self.calls = 0

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self.calls += 1
        await asyncio.sleep(self.after_s)
        if self.is_away:
            raise RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=False)
        return LedgerEntries(latest_ledger=120, entries=())

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        raise AssertionError("the nonce is unused")

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        raise AssertionError("the nonce is unused")

    async def health(self) -> NodeHealth:
        raise AssertionError("no history is in question")


async def test_search_keeps_its_full_time_when_it_waited_for_others() -> None:
    """Together they take longer than each of them may."""
    landings = ForeignLandingSearch(Node(after_s=0.1), Nobody(), search_s=1.5, queue_s=20)
    searches = (landings.find_by_nonce(SPENT, as_of_ledger=110) for _ in range(20))
    assert await asyncio.gather(*searches) == [None] * 20


async def test_search_fails_as_not_tried_when_its_wait_times_out() -> None:
    node = Node(after_s=0.2)
    landings = ForeignLandingSearch(node, Nobody(), search_s=5, queue_s=0.02)
    first = asyncio.ensure_future(landings.find_by_nonce(SPENT, as_of_ledger=110))
    await asyncio.sleep(0)
    with pytest.raises(LandingSearchFailed) as missed:
        await landings.find_by_nonce(SPENT, as_of_ledger=110)
    assert (missed.value.was_tried, missed.value.is_beyond_history, node.calls) == (False, False, 1)
    await first


async def _resolve(conclusions: StatusResolver) -> FinalStatus | None:
    return await conclusions.resolve(Dead(110), CLAIM, SENT)


async def test_settlement_resolved_late_is_searched_for_as_long_as_any_other() -> None:
    clock, node = ManualClock(), Node(is_away=True)
    clock.turn(3_600)
    conclusions = status_resolver(ForeignLandingSearch(node, Nobody()), clock)
    assert await _resolve(conclusions) is None
    clock.turn(59)
    assert await _resolve(conclusions) is None
    clock.turn(2)
    resolved = await _resolve(conclusions)
    assert resolved is not None
    assert resolved.state is SettlementState.DEAD


async def test_search_that_was_not_tried_ends_no_settlement() -> None:
    clock, node = ManualClock(), Node(after_s=0.2)
    landings = ForeignLandingSearch(node, Nobody(), search_s=5, queue_s=0.01)
    conclusions = status_resolver(landings, clock)
    for _ in range(3):
        clock.turn(timedelta(minutes=5).total_seconds())
        running = asyncio.ensure_future(landings.find_by_nonce(SPENT, as_of_ledger=110))
        await asyncio.sleep(0)
        assert await _resolve(conclusions) is None
        await running
