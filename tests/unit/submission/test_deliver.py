"""Delivery of an envelope: repeats, waits and conclusions after each response of a node."""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from farebox.kernel.addresses import Address, account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import (
    AccountState,
    LedgerStatus,
    RpcUnavailable,
    SendResponse,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)
from farebox.submission.fate import Dead, Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.submit import Submitter
from farebox.submission.try_again_later import TryAgainLaterCause
from support.fake_rpc import FakeRpc
from support.manual_clock import START, ManualClock
from support.promises import case

HASH, INNER = "ab" * 32, "cd" * 32
SENT = SentEnvelope(
    tx_hash=bytes.fromhex(HASH),
    inner_hash=None,
    envelope=Secret(b"envelope"),
    source=account_address(bytes(32)),
    source_sequence=7,
    max_time=START + timedelta(seconds=45),
    fee_limit=Stroops(1),
    sent_after_ledger=100,
)
PENDING = SendResponse(SendStatus.PENDING, HASH, 101)
LATER = SendResponse(SendStatus.TRY_AGAIN_LATER, HASH, 101)
BAD_SEQ = SendResponse(SendStatus.ERROR, HASH, 101, result_code="txBAD_SEQ")
LANDED = TransactionFound(
    HASH, LedgerStatus.SUCCESS, 102, START, "txSUCCESS", None, Stroops(100), ()
)
LOST = RpcUnavailable(Network.TESTNET, "timed out", certainly_not_sent=False)
LEDGER_S = 5


@dataclass
class LivelyNode(FakeRpc):
    """Closes a ledger every five seconds from 101 on; responds to sends in the order given."""

    sends: list[SendResponse | RpcUnavailable]
    clock: ManualClock = field(default_factory=ManualClock)
    used: Callable[[int], int] = lambda _: 6  # the source's number by ledger
    landed: dict[str, TransactionFound] = field(default_factory=dict)
    sent_at: list[int] = field(default_factory=list)  # the ledger each send came after
    bodies: set[str] = field(default_factory=set)
    accounts_read: int = 0
    oldest: int = 50

    @property
    def ledger(self) -> int:
        return 101 + int(self.clock.monotonic()) // LEDGER_S

    def now(self) -> LedgerReading:
        return LedgerReading(self.ledger, self.clock.now(), LEDGER_S, 0)

    async def send(self, envelope: str) -> SendResponse:
        self.sent_at.append(self.ledger)
        self.bodies.add(envelope)
        answer = self.sends.pop(0) if len(self.sends) > 1 else self.sends[0]
        if isinstance(answer, RpcUnavailable):
            raise answer
        return replace(answer, latest_ledger=self.ledger)

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        missing = TransactionNotFound(self.ledger, self.clock.now(), self.oldest, START)
        return self.landed.get(tx_hash, missing)

    async def account(self, address: Address) -> AccountState | None:
        self.accounts_read += 1
        return AccountState(self.used(self.ledger), Stroops(1), self.ledger)


class Watch:
    """Finds what the node has as landed, or what lands after the delivery."""

    def __init__(self, node: LivelyNode, *later: TransactionFound) -> None:
        self._node = node
        self._later = {each.hash: each for each in later}
        self.calls = 0

    async def fate(
        self, sent: SentEnvelope, *, until: float
    ) -> TransactionFound | Dead | Indeterminate:
        self.calls += 1
        found = self._node.landed | self._later
        return found.get(sent.tx_hash.hex(), Indeterminate())


def submitter_on(node: LivelyNode, watch: Watch | None = None, **more: object) -> Submitter:
    return Submitter(
        node,
        watch or Watch(node),
        node.clock,
        poll_s=1,
        deliver_s=12,
        ledgers=node,
        **more,  # type: ignore[arg-type]
    )


async def submit(
    submitter: Submitter, sent: SentEnvelope = SENT, *, may_be_sent: bool = False, until: float = 30
) -> Fate:
    async def taken() -> None:
        return None

    return await submitter.submit(
        sent, until=until, on_taken=taken, may_be_sent=may_be_sent, may_be_replaced=True
    )


async def test_submit_sends_the_same_bytes_after_each_ledger_on_try_again_later() -> None:
    node = LivelyNode([LATER, LATER, PENDING])
    assert await submit(submitter_on(node, Watch(node, LANDED))) == LANDED
    assert node.sent_at == [101, 102, 103]
    assert node.bodies == {base64.b64encode(b"envelope").decode()}


async def test_submit_waits_for_a_ledger_without_calling_the_node() -> None:
    node = LivelyNode([LATER, PENDING])
    await submit(submitter_on(node))
    assert node.accounts_read == 1  # the evidence of the one refusal


async def test_submit_reads_the_ledger_from_the_account_without_a_ledger_clock() -> None:
    node = LivelyNode([LATER, PENDING])
    submitter = Submitter(node, Watch(node, LANDED), node.clock, poll_s=1, deliver_s=12)
    assert await submit(submitter) == LANDED
    assert node.sent_at == [101, 102]


async def test_submit_ends_in_time_when_the_ledger_clock_is_stale() -> None:
    node = LivelyNode([LATER])

    def stale() -> LedgerReading:
        raise ClockStale(Network.TESTNET)

    node.now = stale  # type: ignore[method-assign]
    assert await submit(submitter_on(node)) == Indeterminate(TryAgainLaterCause.QUEUE_FULL)
    assert node.clock.monotonic() <= 12


async def test_submit_is_indeterminate_when_the_number_is_used_after_try_again_later() -> None:
    """The envelope itself may have used it: a node that does not find it yet proves nothing.

    Control: a refusal as `txBAD_SEQ`, after which another envelope is made.
    """
    node = LivelyNode([LATER], used=lambda ledger: 6 if ledger < 102 else 7)
    assert await submit(submitter_on(node)) == Indeterminate()
    assert node.sent_at == [101, 102]


async def test_submit_finds_the_landing_when_the_envelope_used_its_number() -> None:
    node = LivelyNode([LOST, LATER], used=lambda _: 7, landed={HASH: LANDED})
    assert await submit(submitter_on(node)) == LANDED


async def test_submit_is_indeterminate_when_the_number_is_used_after_a_lost_response() -> None:
    node = LivelyNode([LOST, LATER], used=lambda _: 7)
    assert await submit(submitter_on(node)) == Indeterminate()


async def test_submit_is_indeterminate_when_a_possibly_sent_envelope_is_refused_to_the_end() -> (
    None
):
    node = LivelyNode([LOST, LATER])
    assert await submit(submitter_on(node)) == Indeterminate()


async def test_banned_envelope_is_watched_and_never_sent_again() -> None:
    node = LivelyNode([LATER])
    dropped = replace(SENT, sent_after_ledger=90)
    assert await submit(submitter_on(node), dropped, may_be_sent=True) == Indeterminate()
    assert node.sent_at == [101]


async def test_envelope_accepted_before_is_banned_when_refused_later() -> None:
    node = LivelyNode([PENDING, LATER])
    submitter = submitter_on(node)
    assert await submit(submitter) == Indeterminate()
    assert await submit(submitter, may_be_sent=True) == Indeterminate()
    assert len(node.sent_at) == 2


@pytest.mark.parametrize(
    ("is_same_source", "cause"),
    [(True, TryAgainLaterCause.SOURCE_PENDING), (False, TryAgainLaterCause.QUEUE_FULL)],
)
async def test_submit_names_source_pending_or_queue_full(
    *, is_same_source: bool, cause: TryAgainLaterCause
) -> None:
    other_source = SENT.source if is_same_source else account_address(b"\1" * 32)
    other = replace(SENT, tx_hash=bytes(32), source=other_source)
    node = LivelyNode([replace(PENDING, hash="00" * 32), LATER])
    submitter = submitter_on(node)
    await submit(submitter, other)
    assert await submit(submitter) == Indeterminate(cause)


async def test_submit_repeats_an_unused_number_before_refusing_it_as_bad_sequence() -> None:
    behind = LivelyNode([BAD_SEQ, PENDING], landed={HASH: LANDED})
    behind.landed = {}
    watch = Watch(behind)
    assert await submit(submitter_on(behind, watch)) == Indeterminate()
    assert (behind.sent_at, watch.calls) == ([101, 102], 1)
    gap = LivelyNode([BAD_SEQ], used=lambda _: 3)
    assert await submit(submitter_on(gap)) == Refused("txBAD_SEQ")
    assert gap.sent_at == [101, 102, 103]


async def test_submit_refuses_a_used_number_at_once() -> None:
    node = LivelyNode([BAD_SEQ], used=lambda _: 7)
    assert await submit(submitter_on(node)) == Refused("txBAD_SEQ")
    assert node.clock.monotonic() == 0


@pytest.mark.parametrize("returned_hash", [HASH.upper(), "ef" * 32, ""])
@pytest.mark.parametrize("status", list(SendStatus))
async def test_response_about_another_hash_is_logged_and_indeterminate(
    returned_hash: str, status: SendStatus
) -> None:
    node = LivelyNode([SendResponse(status, returned_hash, 101, result_code="txBAD_AUTH")])
    with capture_logs() as written:
        assert await submit(submitter_on(node)) == Indeterminate()
    assert len(node.sent_at) == 1
    assert [(each["event"], each["tx_hash"]) for each in written] == [
        ("submission.hash_differs", HASH)
    ]


async def test_refusal_is_indeterminate_when_another_node_may_have_the_envelope() -> None:
    refused = SendResponse(SendStatus.ERROR, HASH, 101, result_code="txBAD_AUTH", may_be_sent=True)
    assert await submit(submitter_on(LivelyNode([refused]))) == Indeterminate()


async def test_submit_returns_at_the_deadline_when_the_send_hangs() -> None:
    node = LivelyNode([PENDING])

    async def never(envelope: str) -> SendResponse:
        await asyncio.Event().wait()
        raise AssertionError(envelope)

    node.send = never  # type: ignore[method-assign]
    submitter = Submitter(node, Watch(node), node.clock, poll_s=0.01, deliver_s=12)
    async with asyncio.timeout(5):
        assert await submit(submitter, until=0.02) == Indeterminate()


async def test_refused_resources_are_reported_and_other_refusals_are_not() -> None:
    reported: list[None] = []
    for code in ("txBAD_AUTH", "txSOROBAN_INVALID"):
        node = LivelyNode([SendResponse(SendStatus.ERROR, HASH, 101, result_code=code)])
        submitter = submitter_on(node, on_resources_refused=lambda: reported.append(None))
        assert await submit(submitter) == Refused(code)
    assert len(reported) == 1


async def test_transaction_landed_inside_another_fee_bump_is_not_dead() -> None:
    bumped = replace(SENT, inner_hash=bytes.fromhex(INNER))
    node = LivelyNode([PENDING], landed={INNER: replace(LANDED, hash=INNER)})
    node.clock.turn(60)
    assert await submitter_on(node).observe(bumped) == replace(LANDED, hash=INNER)
    node.landed.clear()
    submitter = submitter_on(node)
    assert await submitter.observe(bumped) == Indeterminate()
    node.clock.turn(LEDGER_S)
    assert isinstance(await submitter.observe(bumped), Dead)


async def test_absence_of_the_inner_hash_on_a_stale_node_is_indeterminate() -> None:
    bumped = replace(SENT, inner_hash=bytes.fromhex(INNER))
    node = LivelyNode([PENDING], used=lambda _: 7)
    node.clock.turn(60)
    honest = node.get_transaction

    async def two_nodes(tx_hash: str) -> TransactionFound | TransactionNotFound:
        answer = await honest(tx_hash)
        assert isinstance(answer, TransactionNotFound)
        if tx_hash != INNER:
            return answer
        behind = START + timedelta(
            seconds=40
        )  # not yet past the bound, as its own close time shows
        return replace(answer, latest_ledger=108, latest_close_at=behind)

    node.get_transaction = two_nodes  # type: ignore[method-assign]
    assert await submitter_on(node).observe(bumped) == Indeterminate()


async def test_submit_is_not_sent_when_no_node_was_reached_to_the_end() -> None:
    away = RpcUnavailable(Network.TESTNET, "refused", certainly_not_sent=True)
    assert await submit(submitter_on(LivelyNode([away]))) == NotSent()


@case("RL-040")
@pytest.mark.parametrize("wall_s", [-36_000, 0, 36_000])
@pytest.mark.parametrize(("ledger_s", "sends"), [(44, 1), (45, 0), (600, 0)])
async def test_ledger_time_decides_whether_an_old_envelope_is_sent_again(
    *, wall_s: int, ledger_s: int, sends: int
) -> None:
    node = LivelyNode([PENDING])
    node.clock.now = lambda: START + timedelta(seconds=wall_s)  # type: ignore[method-assign]
    close_at = START + timedelta(seconds=ledger_s)
    node.now = lambda: LedgerReading(101, close_at, 5, 0)  # type: ignore[method-assign]
    await submit(submitter_on(node), may_be_sent=True, until=2)
    assert len(node.sent_at) == sends


async def test_possibly_sent_envelope_is_looked_up_before_it_is_sent_again() -> None:
    node = LivelyNode([LOST], landed={HASH: LANDED})
    assert await submit(submitter_on(node)) == LANDED
    assert len(node.sent_at) == 1


@case("RL-018")
@pytest.mark.parametrize("code", ["-19", "7", "txFAILED", "txINTERNAL_ERROR", "txSUCCESS", None])
async def test_send_error_that_proves_nothing_is_indeterminate(code: str | None) -> None:
    """Control: any code as a refusal; then the envelope lands, and its payment is gone."""
    node = LivelyNode([SendResponse(SendStatus.ERROR, HASH, 101, result_code=code)])
    assert await submit(submitter_on(node)) == Indeterminate()
    node.landed[HASH] = LANDED
    assert await submit(submitter_on(node)) == LANDED


async def test_fee_that_is_too_low_after_try_again_later_is_no_refusal() -> None:
    """The node may have kept it; another with the fee that it names may be made in its place."""
    low = SendResponse(
        SendStatus.ERROR, HASH, 101, result_code="txINSUFFICIENT_FEE", required_fee=Stroops(900)
    )
    node = LivelyNode([LATER, low])
    outbid = Indeterminate(TryAgainLaterCause.QUEUE_FULL, Stroops(900))
    assert await submit(submitter_on(node)) == outbid
    node = LivelyNode([LOST, low])
    assert await submit(submitter_on(node)) == Indeterminate(), "it may be in the queue"
