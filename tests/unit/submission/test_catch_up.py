"""Many envelopes are looked for in one listing, and one by one only where that shows more."""

from dataclasses import dataclass, field
from datetime import timedelta

from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import (
    LedgerStatus,
    RpcUnavailable,
    TransactionFound,
    TransactionNotFound,
    TransactionsPage,
)
from farebox.submission.catch_up import CatchUp
from farebox.submission.fate import Indeterminate, ObservedFate, SentEnvelope, Unproven
from support.fake_rpc import FakeRpc
from support.manual_clock import START


def sent(tag: int) -> SentEnvelope:
    return SentEnvelope(
        tx_hash=bytes([tag]) * 32,
        inner_hash=None,
        envelope=Secret(b""),
        source=account_address(bytes([tag]) * 32),
        source_sequence=7,
        max_time=START + timedelta(seconds=45),
        fee_limit=Stroops(1),
        sent_after_ledger=100,
    )


def landed(tag: int) -> TransactionFound:
    return TransactionFound(
        f"{tag:02x}" * 32, LedgerStatus.SUCCESS, 101, START, "txSUCCESS", None, Stroops(100), ()
    )


@dataclass
class Node(FakeRpc):
    """A ledger of what landed, 420 transactions in all, as of some seconds after the start."""

    found: dict[int, TransactionFound] = field(default_factory=dict)
    now_s: int = 20
    pages: int = 0
    observed: list[int] = field(default_factory=list)
    is_away: bool = False
    largest: int = 200  # a page with more is refused
    limits: list[int] = field(default_factory=list)

    async def transactions(
        self, wanted: frozenset[str], *, from_ledger: int, cursor: str = "", limit: int
    ) -> TransactionsPage:
        assert from_ledger == 100
        self.limits.append(limit)
        if self.is_away or limit > self.largest:
            raise RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=False)
        self.pages += 1
        listed = limit if self.pages < 3 else 20
        at = START + timedelta(seconds=self.now_s)
        absence = TransactionNotFound(104, at, 1, START)
        mine = [each for tag, each in self.found.items() if tag % 3 == self.pages % 3]
        return TransactionsPage(
            tuple(each for each in mine if each.hash in wanted), listed, str(self.pages), absence
        )

    async def observe(self, envelope: SentEnvelope) -> ObservedFate:
        self.observed.append(envelope.tx_hash[0])
        return Unproven(104)

    def now(self) -> LedgerReading:
        if self.now_s < 0:
            raise ClockStale(Network.TESTNET)
        return LedgerReading(104, START + timedelta(seconds=self.now_s), 5, 0)


def catching_up(node: Node) -> CatchUp:
    return CatchUp(node, node, node)


async def test_catch_up_finds_two_hundred_envelopes_with_three_calls() -> None:
    node = Node({tag: landed(tag) for tag in range(1, 201)})
    sents = [sent(tag) for tag in range(1, 201)]
    assert await catching_up(node).observe_all(sents) == [landed(tag) for tag in range(1, 201)]
    assert (node.pages, node.observed) == (3, [])


async def test_absent_envelope_is_indeterminate_before_its_bound_without_a_look_up() -> None:
    node = Node({1: landed(1)})
    seen = await catching_up(node).observe_all([sent(tag) for tag in range(1, 6)])
    assert seen == [landed(1)] + [Indeterminate()] * 4
    assert node.observed == []


async def test_absent_envelope_is_looked_up_by_itself_past_its_bound() -> None:
    node = Node({1: landed(1)}, now_s=46)
    seen = await catching_up(node).observe_all([sent(tag) for tag in range(1, 6)])
    assert seen == [landed(1)] + [Unproven(104)] * 4
    assert sorted(node.observed) == [2, 3, 4, 5]


async def test_envelopes_are_looked_up_one_by_one_when_few_or_not_listable() -> None:
    few = Node()
    await catching_up(few).observe_all([sent(1), sent(2)])
    assert (few.pages, sorted(few.observed)) == (0, [1, 2])
    away = Node(is_away=True)
    await catching_up(away).observe_all([sent(tag) for tag in range(1, 8)])
    assert sorted(away.observed) == list(range(1, 8))
    blind = Node(now_s=-1)
    await catching_up(blind).observe_all([sent(tag) for tag in range(1, 8)])
    assert (blind.pages, len(blind.observed)) == (0, 7)


async def test_page_size_shrinks_when_a_page_is_too_large() -> None:
    """Control: a page that keeps its size fails for ever, and every row costs a look-up."""
    node = Node({1: landed(1)}, largest=60)
    catch_up = catching_up(node)
    sents = [sent(tag) for tag in range(1, 8)]
    for _ in range(2):
        await catch_up.observe_all(sents)
    assert (node.limits, len(node.observed)) == ([200, 100], 14)
    node.observed.clear()
    assert (await catch_up.observe_all(sents))[0] == landed(1)
    assert node.limits[2] == 50
    assert node.observed == [], "what a listing did not show may still land"
