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
    SendResponse,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)
from farebox.submission.fate import Dead, Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.submit import Submitter
from farebox.submission.try_again_later import TryAgainLaterCause
from farebox.submission.watch import look_up_inner
from support.fake_rpc import FakeRpc
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
PENDING = SendResponse(SendStatus.PENDING, HASH, 101)
DUPLICATE = SendResponse(SendStatus.DUPLICATE, HASH, 101)
LATER = SendResponse(SendStatus.TRY_AGAIN_LATER, HASH, 101)
LANDED = TransactionFound(
    HASH, LedgerStatus.SUCCESS, 102, START, "txSUCCESS", None, Stroops(100), ()
)
NOT_SENT = RpcUnavailable(Network.TESTNET, "refused", certainly_not_sent=True)
LOST = RpcUnavailable(Network.TESTNET, "timed out", certainly_not_sent=False)


def error(code: str | None) -> SendResponse:
    return SendResponse(SendStatus.ERROR, HASH, 101, result_code=code)


@dataclass
class ScriptedRpc(FakeRpc):
    """Responds in the order given; the last response repeats."""

    sends: list[SendResponse | RpcUnavailable]
    lookups: list[TransactionFound | RpcUnavailable | None] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    clock: ManualClock = field(default_factory=ManualClock)

    async def send(self, envelope: str) -> SendResponse:
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
        """The newest ledger: 101 at the start, another every five seconds."""
        return 101 + int(self.clock.monotonic() // 5)


class Polling:
    """A watch that polls for the hash."""

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


async def submit(
    rpc: ScriptedRpc,
    taken: Taken | None = None,
    *,
    until: float = 30,
    may_be_replaced: bool = False,
) -> Fate:
    submitter = Submitter(rpc, Polling(rpc), rpc.clock, poll_s=1, deliver_s=10)
    return await submitter.submit(
        SENT, until=until, on_taken=taken or Taken(), may_be_replaced=may_be_replaced
    )


@pytest.mark.parametrize("answer", [PENDING, DUPLICATE])
async def test_queued_envelope_is_watched_until_it_lands(answer: SendResponse) -> None:
    taken = Taken()
    rpc = ScriptedRpc([answer], [None, None, LANDED])
    assert await submit(rpc, taken) == LANDED
    assert (len(rpc.sent), taken.times) == (1, 1)


async def test_submit_sends_the_same_bytes_again_after_a_lost_response() -> None:
    rpc = ScriptedRpc([LOST, LOST, DUPLICATE], [LANDED])
    assert await submit(rpc) == LANDED
    assert set(rpc.sent) == {base64.b64encode(b"envelope").decode()}


async def test_submit_is_indeterminate_when_every_response_is_lost() -> None:
    taken = Taken()
    rpc = ScriptedRpc([LOST])
    assert await submit(rpc, taken) == Indeterminate()
    assert taken.times == 0


async def test_submit_is_not_sent_when_the_node_was_never_reached() -> None:
    assert await submit(ScriptedRpc([NOT_SENT])) == NotSent()


async def test_submit_is_indeterminate_after_one_lost_response_among_refused_connections() -> None:
    assert await submit(ScriptedRpc([LOST, NOT_SENT])) == Indeterminate()


async def test_submit_leaves_a_full_queue_in_time_to_a_caller_that_may_replace_the_envelope() -> (
    None
):
    rpc = ScriptedRpc([LATER])
    fate = await submit(rpc, may_be_replaced=True)
    assert fate == Indeterminate(TryAgainLaterCause.QUEUE_FULL)
    assert rpc.clock.monotonic() <= 10  # the time there is to deliver it


async def test_submit_finds_the_landing_of_an_envelope_that_no_node_queued() -> None:
    """Control: a refusal for a full queue that ends the search."""
    rpc = ScriptedRpc([LATER], [LANDED])
    assert await submit(rpc) == LANDED


async def test_submit_returns_a_refusal_of_an_envelope_never_sent() -> None:
    rpc = ScriptedRpc([error("txINSUFFICIENT_FEE")])
    assert await submit(rpc) == Refused("txINSUFFICIENT_FEE")


@pytest.mark.parametrize("code", ["txBAD_SEQ", "txTOO_LATE", None])
async def test_refusal_after_a_lost_response_is_looked_up_first(code: str | None) -> None:
    rpc = ScriptedRpc([LOST, error(code)], [LANDED])
    assert await submit(rpc) == LANDED


async def test_refusal_after_a_lost_response_is_indeterminate() -> None:
    rpc = ScriptedRpc([LOST, error("txBAD_SEQ")])
    assert await submit(rpc) == Indeterminate()


async def test_bad_sequence_is_looked_up_by_hash_first() -> None:
    assert await submit(ScriptedRpc([error("txBAD_SEQ")], [LANDED])) == LANDED
    assert await submit(ScriptedRpc([error("txBAD_SEQ")])) == Refused("txBAD_SEQ")


async def test_refusal_without_a_readable_code_is_indeterminate() -> None:
    assert await submit(ScriptedRpc([error(None)])) == Indeterminate()


async def test_outage_while_watching_ends_no_watch() -> None:
    rpc = ScriptedRpc([PENDING], [LOST, NOT_SENT, LANDED])
    assert await submit(rpc) == LANDED


async def test_envelope_is_dead_when_the_ledger_passed_its_bound() -> None:
    assert await submit(ScriptedRpc([PENDING]), until=100) == Dead(112)


async def test_envelope_that_lands_between_two_look_ups_is_found() -> None:
    bumped = replace(SENT, inner_hash=bytes.fromhex("cd" * 32))
    rpc = ScriptedRpc([PENDING])
    looked_up: list[str] = []

    async def landing(tx_hash: str) -> TransactionFound | TransactionNotFound:
        looked_up.append(tx_hash)
        if len(looked_up) == 1:
            return TransactionNotFound(rpc.ledger, rpc.clock.now(), 50, START)
        return replace(LANDED, hash=tx_hash)

    rpc.get_transaction = landing  # type: ignore[method-assign]
    await rpc.clock.sleep(60)
    submitter = Submitter(rpc, Polling(rpc), rpc.clock, poll_s=1, deliver_s=10)
    assert await submitter.observe(bumped) == LANDED
    assert looked_up == [HASH, "cd" * 32, HASH]


@pytest.mark.parametrize("ledgers_past", [-2, 0, 1])
async def test_foreign_fee_bump_is_proved_by_a_node_past_the_inner_transaction_only(
    ledgers_past: int,
) -> None:
    """Two nodes share one address, and the one with the inner transaction has the envelope too."""
    inner = replace(LANDED, hash="cd" * 32)
    rpc = ScriptedRpc([PENDING])
    absence = TransactionNotFound(LANDED.ledger + ledgers_past, rpc.clock.now(), 50, START)

    async def two_nodes(tx_hash: str) -> TransactionFound | TransactionNotFound:
        return inner if tx_hash == inner.hash else absence

    rpc.get_transaction = two_nodes  # type: ignore[method-assign]
    found = await look_up_inner(rpc, SENT, bytes.fromhex(inner.hash))
    assert found == (inner if ledgers_past > 0 else absence)


async def test_source_account_is_read_only_when_the_history_is_too_short() -> None:
    rpc = ScriptedRpc([PENDING])
    submitter = Submitter(rpc, Polling(rpc), rpc.clock, poll_s=1, deliver_s=10)
    await rpc.clock.sleep(60)
    before_history = replace(SENT, sent_after_ledger=10)
    assert await submitter.observe(before_history) == Indeterminate()
    await rpc.clock.sleep(5)
    assert await submitter.observe(before_history) == Dead(114)  # sequence 6 < 7
    rpc.account = _never  # type: ignore[method-assign]  # reading it now would fail the test
    assert await submitter.observe(SENT) == Dead(114)


async def test_absence_is_confirmed_only_by_a_later_ledger() -> None:
    rpc = ScriptedRpc([PENDING])
    submitter = Submitter(rpc, Polling(rpc), rpc.clock, poll_s=1, deliver_s=10)
    await rpc.clock.sleep(60)
    assert [await submitter.observe(SENT) for _ in range(3)] == [Indeterminate()] * 3
    rpc.lookups = [LANDED]
    await rpc.clock.sleep(5)
    assert await submitter.observe(SENT) == LANDED, "the look-up saw less than it named"
    assert await submitter.observe(SENT) == Indeterminate(), "the proof starts anew"


async def _never(address: Address) -> AccountState | None:
    raise AssertionError("the account was read without need")
