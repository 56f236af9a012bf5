import base64
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from farebox.kernel.addresses import Address, account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import (
    AccountState,
    LedgerStatus,
    RpcUnavailable,
    SendAnswer,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)
from farebox.submission.fate import Dead, Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.submit import Submitter
from support.manual_clock import START, ManualClock

HASH = "ab" * 32
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
PENDING = SendAnswer(SendStatus.PENDING, HASH, 101)
DUPLICATE = SendAnswer(SendStatus.DUPLICATE, HASH, 101)
LATER = SendAnswer(SendStatus.TRY_AGAIN_LATER, HASH, 101)
LANDED = TransactionFound(
    HASH, LedgerStatus.SUCCESS, 102, START, "txSUCCESS", None, Stroops(100), ()
)
NOT_SENT = RpcUnavailable(Network.TESTNET, "refused", certainly_not_sent=True)
LOST = RpcUnavailable(Network.TESTNET, "timed out", certainly_not_sent=False)


def error(code: str | None) -> SendAnswer:
    return SendAnswer(SendStatus.ERROR, HASH, 101, result_code=code)


@dataclass
class ScriptedRpc:
    """Answers in the order given; the last answer repeats."""

    clock: ManualClock
    sends: list[SendAnswer | RpcUnavailable]
    lookups: list[TransactionFound | RpcUnavailable | None] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    async def send(self, envelope: str) -> SendAnswer:
        self.sent.append(envelope)
        answer = self.sends.pop(0) if len(self.sends) > 1 else self.sends[0]
        if isinstance(answer, RpcUnavailable):
            raise answer
        return answer

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        assert tx_hash == HASH
        answer = self.lookups.pop(0) if self.lookups else None
        if isinstance(answer, RpcUnavailable):
            raise answer
        return answer or TransactionNotFound(self.ledger, self.clock.now(), 50, START)

    async def account(self, address: Address) -> AccountState | None:
        return AccountState(6, Stroops(1), self.ledger)

    @property
    def ledger(self) -> int:
        """The newest one: 101 at the start, another every five seconds."""
        return 101 + int(self.clock.monotonic() // 5)


class Polling:
    """A watch that asks for the hash again and again."""

    def __init__(self, rpc: ScriptedRpc) -> None:
        self._submitter = Submitter(rpc, self, rpc.clock, poll_s=1, deliver_s=10)

    async def fate(
        self, sent: SentEnvelope, *, until: float
    ) -> TransactionFound | Dead | Indeterminate:
        fate = await self._submitter.wait(sent, until=until)
        assert isinstance(fate, TransactionFound | Dead | Indeterminate)
        return fate


class Taken:
    def __init__(self) -> None:
        self.times = 0

    async def __call__(self) -> None:
        self.times += 1


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def taken() -> Taken:
    return Taken()


async def submit(rpc: ScriptedRpc, taken: Taken, *, until: float = 30) -> Fate:
    submitter = Submitter(rpc, Polling(rpc), rpc.clock, poll_s=1, deliver_s=10)
    return await submitter.submit(SENT, until=until, on_taken=taken)


@pytest.mark.parametrize("answer", [PENDING, DUPLICATE])
async def test_a_queued_envelope_is_watched_until_it_lands(
    clock: ManualClock, taken: Taken, answer: SendAnswer
) -> None:
    rpc = ScriptedRpc(clock, [answer], [None, None, LANDED])
    assert await submit(rpc, taken) == LANDED
    assert (len(rpc.sent), taken.times) == (1, 1)


async def test_a_lost_answer_sends_the_same_bytes_again_and_no_others(
    clock: ManualClock, taken: Taken
) -> None:
    rpc = ScriptedRpc(clock, [LOST, LOST, DUPLICATE], [LANDED])
    assert await submit(rpc, taken) == LANDED
    assert set(rpc.sent) == {base64.b64encode(b"envelope").decode()}


async def test_answers_lost_to_the_end_leave_it_indeterminate(
    clock: ManualClock, taken: Taken
) -> None:
    rpc = ScriptedRpc(clock, [LOST])
    assert await submit(rpc, taken) == Indeterminate()
    assert taken.times == 0


async def test_a_node_nobody_reached_means_it_was_not_sent(
    clock: ManualClock, taken: Taken
) -> None:
    assert await submit(ScriptedRpc(clock, [NOT_SENT]), taken) == NotSent()


async def test_one_lost_answer_among_refused_connections_is_not_forgotten(
    clock: ManualClock, taken: Taken
) -> None:
    assert await submit(ScriptedRpc(clock, [LOST, NOT_SENT]), taken) == Indeterminate()


async def test_a_full_queue_to_the_end_is_a_refusal_with_a_code_of_its_own(
    clock: ManualClock, taken: Taken
) -> None:
    fate = await submit(ScriptedRpc(clock, [LATER]), taken)
    assert fate == Refused("queue_full")
    assert isinstance(fate, Refused)
    assert fate.is_for_now
    assert not Refused("txBAD_SEQ").is_for_now
    assert clock.monotonic() <= 10  # the time there is to deliver it


async def test_a_refusal_of_what_was_never_out_is_believed(
    clock: ManualClock, taken: Taken
) -> None:
    rpc = ScriptedRpc(clock, [error("txINSUFFICIENT_FEE")])
    assert await submit(rpc, taken) == Refused("txINSUFFICIENT_FEE")


@pytest.mark.parametrize("code", ["txBAD_SEQ", "txTOO_LATE", None])
async def test_a_refusal_after_a_lost_answer_is_looked_up_first(
    clock: ManualClock, taken: Taken, code: str | None
) -> None:
    rpc = ScriptedRpc(clock, [LOST, error(code)], [LANDED])
    assert await submit(rpc, taken) == LANDED


async def test_a_refusal_after_a_lost_answer_proves_nothing_by_itself(
    clock: ManualClock, taken: Taken
) -> None:
    rpc = ScriptedRpc(clock, [LOST, error("txBAD_SEQ")])
    assert await submit(rpc, taken) == Indeterminate()


async def test_a_bad_sequence_is_looked_up_by_hash_first(clock: ManualClock, taken: Taken) -> None:
    assert await submit(ScriptedRpc(clock, [error("txBAD_SEQ")], [LANDED]), taken) == LANDED
    assert await submit(ScriptedRpc(clock, [error("txBAD_SEQ")]), taken) == Refused("txBAD_SEQ")


async def test_a_refusal_without_a_readable_code_is_not_believed(
    clock: ManualClock, taken: Taken
) -> None:
    assert await submit(ScriptedRpc(clock, [error(None)]), taken) == Indeterminate()


async def test_an_outage_while_watching_proves_nothing(clock: ManualClock, taken: Taken) -> None:
    rpc = ScriptedRpc(clock, [PENDING], [LOST, NOT_SENT, LANDED])
    assert await submit(rpc, taken) == LANDED


async def test_an_envelope_outlived_by_the_ledger_is_dead(clock: ManualClock, taken: Taken) -> None:
    assert await submit(ScriptedRpc(clock, [PENDING]), taken, until=100) == Dead(112)


async def test_an_envelope_that_lands_between_two_look_ups_is_ours(clock: ManualClock) -> None:
    bumped = replace(SENT, inner_hash=bytes.fromhex("cd" * 32))
    rpc = ScriptedRpc(clock, [PENDING])
    asked: list[str] = []

    async def landing(tx_hash: str) -> TransactionFound | TransactionNotFound:
        asked.append(tx_hash)
        if len(asked) == 1:
            return TransactionNotFound(rpc.ledger, clock.now(), 50, START)
        return replace(LANDED, hash=tx_hash)

    rpc.get_transaction = landing  # type: ignore[method-assign]
    await clock.sleep(60)
    submitter = Submitter(rpc, Polling(rpc), clock, poll_s=1, deliver_s=10)
    assert await submitter.observe(bumped) == LANDED
    assert asked == [HASH, "cd" * 32, HASH]


async def test_the_source_is_read_only_when_history_is_too_short(clock: ManualClock) -> None:
    rpc = ScriptedRpc(clock, [PENDING])
    submitter = Submitter(rpc, Polling(rpc), clock, poll_s=1, deliver_s=10)
    await clock.sleep(60)
    before_history = replace(SENT, sent_after_ledger=10)
    assert await submitter.observe(before_history) == Indeterminate()
    await clock.sleep(5)
    assert await submitter.observe(before_history) == Dead(114)  # sequence 6 < 7
    rpc.account = _never  # type: ignore[method-assign]  # reading it now would fail the test
    assert await submitter.observe(SENT) == Dead(114)


async def test_an_absence_is_confirmed_by_a_later_ledger_and_by_no_other(
    clock: ManualClock,
) -> None:
    rpc = ScriptedRpc(clock, [PENDING])
    submitter = Submitter(rpc, Polling(rpc), clock, poll_s=1, deliver_s=10)
    await clock.sleep(60)
    assert [await submitter.observe(SENT) for _ in range(3)] == [Indeterminate()] * 3
    rpc.lookups = [LANDED]
    await clock.sleep(5)
    assert await submitter.observe(SENT) == LANDED, "the look-up saw less than it named"
    assert await submitter.observe(SENT) == Indeterminate(), "the proof starts anew"


async def _never(address: Address) -> AccountState | None:
    raise AssertionError("the account was read without need")
