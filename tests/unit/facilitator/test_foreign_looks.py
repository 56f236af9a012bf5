"""Looks for another use of an authorization: one at a time, and none counted that was not made."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

import pytest

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.conclude import Conclusions
from farebox.facilitator.journal.foreign import Authorization, ForeignLandings, LookUpFailed
from farebox.facilitator.settlement import Claim, Ending, SettlementState
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import (
    LandedEnvelope,
    LedgerEntries,
    NodeHealth,
    NoEnvelope,
    RpcUnavailable,
    TransfersFound,
    TransferWindow,
)
from farebox.submission.fate import Dead, SentEnvelope
from support.manual_clock import START, ManualClock

PAYER, PAY_TO = account_address(bytes([1]) * 32), account_address(bytes([2]) * 32)
ASSET = contract_address(bytes(32))
IDENTITY = PaymentIdentity(Network.TESTNET, PAYER, 5)
SPENT = Authorization(IDENTITY, ASSET, PAY_TO)
SENT = SentEnvelope(
    tx_hash=bytes([7]) * 32,
    inner_hash=None,
    envelope=Secret(b"signed"),
    source=account_address(bytes([3]) * 32),
    source_sequence=7,
    max_time=START,
    fee_limit=Stroops(30_000),
    sent_after_ledger=100,
)
CLAIM = Claim(IDENTITY, uuid4(), bytes(32), ASSET, BaseUnits(1), PAY_TO, 200, START, 60)


class Nobody:
    """No account of ours."""

    addresses: frozenset[Address] = frozenset()


class Node:
    """Answers every look after so long, or not at all."""

    def __init__(self, *, after_s: float = 0.0, is_away: bool = False) -> None:
        self.after_s, self.is_away = after_s, is_away
        self.asked = 0

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        self.asked += 1
        await asyncio.sleep(self.after_s)
        if self.is_away:
            raise RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=False)
        return LedgerEntries(latest_ledger=120, entries=())

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        raise AssertionError("nobody used the nonce")

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        raise AssertionError("nobody used the nonce")

    async def health(self) -> NodeHealth:
        raise AssertionError("no history is in question")


async def test_waiting_for_others_takes_nothing_of_a_looks_own_time() -> None:
    landings = ForeignLandings(Node(after_s=0.1), Nobody(), look_s=0.3, turn_s=5)
    assert (
        await asyncio.gather(*(landings.of_used_nonce(SPENT, as_of_ledger=110) for _ in range(6)))
        == [None] * 6
    )


async def test_who_does_not_get_a_turn_was_not_answered_and_the_node_not_asked() -> None:
    node = Node(after_s=0.2)
    landings = ForeignLandings(node, Nobody(), look_s=5, turn_s=0.02)
    first = asyncio.ensure_future(landings.of_used_nonce(SPENT, as_of_ledger=110))
    await asyncio.sleep(0)
    with pytest.raises(LookUpFailed) as missed:
        await landings.of_used_nonce(SPENT, as_of_ledger=110)
    assert (missed.value.was_asked, missed.value.is_forgotten, node.asked) == (False, False, 1)
    await first


async def _ending(conclusions: Conclusions) -> Ending | None:
    return await conclusions.ending(Dead(110), CLAIM, SENT)


async def test_a_row_found_long_after_its_bound_is_looked_for_as_long_as_any_other() -> None:
    clock, node = ManualClock(), Node(is_away=True)
    clock.turn(3_600)
    conclusions = Conclusions(ForeignLandings(node, Nobody()), clock)
    assert await _ending(conclusions) is None
    clock.turn(59)
    assert await _ending(conclusions) is None
    clock.turn(2)
    ended = await _ending(conclusions)
    assert ended is not None
    assert ended.state is SettlementState.DEAD


async def test_a_look_that_had_no_turn_ends_no_row() -> None:
    clock, node = ManualClock(), Node(after_s=0.2)
    landings = ForeignLandings(node, Nobody(), look_s=5, turn_s=0.01)
    conclusions = Conclusions(landings, clock)
    for _ in range(3):
        clock.turn(timedelta(minutes=5).total_seconds())
        running = asyncio.ensure_future(landings.of_used_nonce(SPENT, as_of_ledger=110))
        await asyncio.sleep(0)
        assert await _ending(conclusions) is None
        await running
