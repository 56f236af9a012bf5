"""The ledger clock: cadence, staleness, nodes that lag."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import (
    ClockStale,
    LedgerClock,
    LedgerReading,
    ledgers_for,
    observed_cadence,
)
from farebox.stellar.rpc import LatestLedger, NodeHealth, RpcUnavailable
from support.fake_rpc import FakeRpc
from support.manual_clock import ManualClock

GENESIS = datetime(2026, 11, 21, tzinfo=UTC)


def closed(sequence: int, at_s: int) -> LatestLedger:
    return LatestLedger(sequence, GENESIS + timedelta(seconds=at_s))


class Node(FakeRpc):
    """Returns the scripted ledgers; None is an outage."""

    def __init__(self) -> None:
        self.answers: list[LatestLedger | None] = []

    async def latest_ledger(self) -> LatestLedger:
        answer = self.answers.pop(0)
        if answer is None:
            raise RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=True)
        return answer


class Bench:
    """A clock under test, its node and its time."""

    def __init__(self) -> None:
        self.node, self.time = Node(), ManualClock()
        self.clock = LedgerClock(Network.TESTNET, self.node, self.time, stale_after_s=30)

    async def sees(self, *answers: LatestLedger | None, every_s: float = 0) -> None:
        for answer in answers:
            self.time.turn(every_s)
            self.node.answers.append(answer)
            await self.clock.poll()


@pytest.mark.parametrize(
    ("seconds", "cadence_s", "ledgers"),
    [
        (60, 5.0, 12),
        (60, 6.0, 12),  # a slower network gives no fewer than a client at 5 would ask for
        (61, 5.0, 13),
        (300, 2.0, 150),
        (60, 0.2, 300),
        (1, 5.0, 1),
        (0, 5.0, 0),
    ],
)
def test_ledgers_for_rounds_seconds_up(seconds: int, cadence_s: float, ledgers: int) -> None:
    assert ledgers_for(seconds, cadence_s=cadence_s, tolerance=0) == ledgers
    assert ledgers_for(seconds, cadence_s=cadence_s, tolerance=2) == ledgers + 2


@given(st.integers(0, 10**6), st.floats(0.1, 60), st.integers(1, 60))
def test_ledgers_for_covers_clients_that_estimate_a_slower_network(
    seconds: int, cadence_s: float, clients_estimate_s: int
) -> None:
    if clients_estimate_s < min(cadence_s, 5):
        return
    asked_for = -(-seconds // clients_estimate_s)
    assert asked_for <= ledgers_for(seconds, cadence_s=cadence_s, tolerance=0)


def test_cadence_is_time_over_ledgers_when_closes_round_to_seconds() -> None:
    six_then_five = tuple((n, GENESIS + timedelta(seconds=n * 5 + n // 2)) for n in range(0, 41, 3))
    assert observed_cadence(six_then_five) == pytest.approx(5.5, abs=0.05)


def test_cadence_counts_ledgers_that_share_a_second() -> None:
    fast = tuple((n, GENESIS + timedelta(seconds=n // 5)) for n in range(101))
    assert observed_cadence(fast) == pytest.approx(0.2)


def test_cadence_is_a_tenth_of_a_second_at_least() -> None:
    assert observed_cadence(((1, GENESIS), (1_001, GENESIS + timedelta(seconds=20)))) == 0.1


@pytest.mark.parametrize(("ledgers", "seconds"), [(19, 95), (95, 19), (100, 0)])
def test_cadence_is_none_below_twenty_ledgers_or_seconds(ledgers: int, seconds: int) -> None:
    closes = ((5, GENESIS), (5 + ledgers, GENESIS + timedelta(seconds=seconds)))
    assert observed_cadence(closes) is None
    assert observed_cadence(closes[:1]) is None
    assert observed_cadence(closes[:0]) is None


async def test_clock_is_stale_before_the_first_response() -> None:
    bench = Bench()
    with pytest.raises(ClockStale) as caught:
        bench.clock.now()
    assert caught.value.part == "stellar:testnet"


async def test_clock_reads_the_newest_ledger_with_its_age() -> None:
    bench = Bench()
    await bench.sees(closed(7, 0))
    bench.time.turn(3)
    assert bench.clock.now() == LedgerReading(7, GENESIS, 5.0, 3.0)


async def test_clock_observes_the_cadence_after_twenty_ledgers() -> None:
    bench = Bench()
    await bench.sees(*(closed(n, 2 * n) for n in range(1, 21)), every_s=2)
    assert bench.clock.now().cadence_s == 5.0
    await bench.sees(closed(21, 42), every_s=2)
    assert bench.clock.now().cadence_s == 2.0


async def test_time_without_ledgers_is_no_part_of_the_cadence() -> None:
    """A network that stood still for two minutes goes on at its pace."""
    bench = Bench()
    await bench.sees(*(closed(n, n) for n in range(1, 61)), every_s=1)
    bench.time.turn(120)
    for n in range(61, 121):
        await bench.sees(closed(n, n + 120), every_s=1)
        assert bench.clock.now().cadence_s == 1.0


@pytest.mark.parametrize("offset_ms", range(0, 1_000, 100))
async def test_cadence_of_a_fast_network_is_a_twentieth_off_at_most(offset_ms: int) -> None:
    """Five ledgers close in a second, and their close times are whole seconds.

    Control: twenty ledgers alone, which last three to five such seconds.
    """
    bench = Bench()
    bench.clock.learn_cadence(NodeHealth(1, GENESIS, 1, GENESIS), target_s=0.2)
    for n in range(1, 1_001):
        await bench.sees(closed(n, (200 * n + offset_ms) // 1_000), every_s=0.2)
        assert bench.clock.now().cadence_s == pytest.approx(0.2, rel=0.05)


async def test_clock_learns_its_first_cadence_from_the_nodes_history() -> None:
    bench = Bench()
    later = GENESIS + timedelta(seconds=2000)
    bench.clock.learn_cadence(NodeHealth(1_100, later, 100, GENESIS), target_s=5)
    await bench.sees(closed(1_100, 2000))
    assert bench.clock.now().cadence_s == 2
    bench.clock.learn_cadence(NodeHealth(1_100, later, 1_000, GENESIS), target_s=5)
    assert bench.clock.now().cadence_s == 2, "an observed cadence is kept"


@pytest.mark.parametrize(("target_s", "cadence_s"), [(2.0, 2.0), (None, 5.0)])
async def test_clock_uses_the_target_cadence_when_the_history_is_too_short(
    target_s: float | None, cadence_s: float
) -> None:
    bench = Bench()
    short = NodeHealth(110, GENESIS + timedelta(seconds=10), 100, GENESIS)
    bench.clock.learn_cadence(short, target_s=target_s)
    await bench.sees(closed(110, 10))
    assert bench.clock.now().cadence_s == cadence_s


async def test_clock_follows_a_network_that_changes_speed() -> None:
    bench = Bench()
    await bench.sees(*(closed(n, 5 * n) for n in range(1, 101)), every_s=5)
    await bench.sees(*(closed(100 + n, 500 + n) for n in range(1, 101)), every_s=1)
    assert bench.clock.now().cadence_s == 1.0


async def test_repeated_ledger_does_not_refresh_the_reading() -> None:
    bench = Bench()
    await bench.sees(closed(7, 0), closed(7, 0), closed(7, 0), every_s=10)
    assert bench.clock.now().age_s == 20
    bench.time.turn(10.5)
    with pytest.raises(ClockStale):
        bench.clock.now()


async def test_clock_keeps_its_reading_until_stale_while_the_node_is_unavailable() -> None:
    bench = Bench()
    await bench.sees(closed(7, 0), None, None, every_s=10)
    assert (bench.clock.now().sequence, bench.clock.failed_polls) == (7, 2)
    await bench.sees(None, every_s=10.5)
    with pytest.raises(ClockStale):
        bench.clock.now()
    await bench.sees(closed(9, 40))
    assert bench.clock.now().sequence == 9


async def test_lagging_response_is_counted_and_does_not_set_the_clock_back() -> None:
    bench = Bench()
    await bench.sees(closed(7, 30), closed(5, 20), closed(6, 25), closed(8, 29), every_s=1)
    assert (bench.clock.now().sequence, bench.clock.lagging_answers) == (7, 3)
    await bench.sees(closed(8, 35), every_s=1)
    assert (bench.clock.now().sequence, bench.clock.now().age_s) == (8, 0)


async def test_clock_never_follows_a_lagging_node_that_stands_still() -> None:
    bench = Bench()
    await bench.sees(closed(100, 500), every_s=10)
    bench.time.turn(31)
    for _ in range(3):
        await bench.sees(closed(90, 450), every_s=10)
        with pytest.raises(ClockStale):
            bench.clock.now()


async def test_clock_follows_a_network_that_was_set_back_once_it_advances() -> None:
    bench = Bench()
    await bench.sees(*(closed(90_000 + n, 450 + 2 * n) for n in range(25)), every_s=2)
    await bench.sees(closed(3, 510), every_s=5)
    assert bench.clock.now().sequence == 90_024
    await bench.sees(closed(4, 515), every_s=5)
    assert (bench.clock.now().sequence, bench.clock.now().cadence_s) == (4, 2.0)
    await bench.sees(*(closed(n, 495 + 5 * n) for n in range(5, 27)), every_s=5)
    reading = bench.clock.now()
    assert (reading.sequence, reading.cadence_s) == (26, 5.0)


async def test_clock_is_never_set_back_by_the_slower_of_two_nodes() -> None:
    bench = Bench()
    for n in range(20):
        await bench.sees(closed(100 + n, 5 * n), closed(97 + n, 5 * n - 15), every_s=2.5)
        assert bench.clock.now().sequence == 100 + n


async def test_clock_drops_a_ledger_that_never_existed_within_seconds() -> None:
    bench = Bench()
    await bench.sees(closed(100, 500), closed(160, 800), every_s=2)
    assert bench.clock.now().sequence == 160
    await bench.sees(closed(101, 505), closed(101, 505), closed(102, 510), every_s=2)
    assert bench.clock.now().sequence == 102


async def test_implausible_jump_is_ignored_while_the_clock_is_fresh() -> None:
    bench = Bench()
    await bench.sees(closed(100, 500), every_s=5)
    await bench.sees(*(closed(300 + n, 1500 + 5 * n) for n in range(5)), every_s=5)
    assert (bench.clock.now().sequence, bench.clock.implausible_answers) == (100, 5)
    await bench.sees(closed(106, 530), every_s=5)
    assert bench.clock.now().sequence == 106
    await bench.sees(*(closed(400 + n, 2000 + 5 * n) for n in range(8)), every_s=5)
    assert bench.clock.now().sequence == 407, "a stale clock follows what advances"


async def test_earliest_close_assumes_at_most_the_target_cadence() -> None:
    slow, fast = (LedgerReading(100, GENESIS, cadence, 0) for cadence in (9.0, 2.0))
    assert slow.earliest_close(104) == GENESIS + timedelta(seconds=20)
    assert fast.earliest_close(104) == GENESIS + timedelta(seconds=8)
    assert fast.earliest_close(90) == GENESIS


async def test_clock_polls_at_its_interval_through_outages() -> None:
    bench = Bench()
    bench.node.answers = [closed(7, 0), None, closed(8, 5)]
    with pytest.raises(IndexError):  # the script is over
        await bench.clock.run()
    assert bench.time.slept == [2.0, 2.0, 2.0]
    assert (bench.clock.now().sequence, bench.clock.failed_polls) == (8, 1)


async def test_node_is_out_after_two_failed_polls_and_back_after_one_answer() -> None:
    bench = Bench()
    states = []
    for answer in (closed(7, 0), None, closed(8, 5), None, None, closed(9, 10)):
        await bench.sees(answer)
        states.append(bench.clock.node_answers)
    assert states == [True, True, True, True, False, True]


async def test_reported_ledger_counts_as_a_poll() -> None:
    bench = Bench()
    bench.clock.report(100, GENESIS)
    assert bench.clock.now().sequence == 100
    running = asyncio.create_task(bench.clock.run())
    for second in range(1, 5):
        bench.clock.report(100 + second, GENESIS + timedelta(seconds=5 * second))
        await asyncio.sleep(0)
    bench.node.answers.append(closed(109, 45))
    for _ in range(20):
        await asyncio.sleep(0)
        if not bench.node.answers:
            break
    running.cancel()
    assert bench.time.slept[0] > 0, "it sleeps before its first poll"
    assert bench.clock.now().sequence == 109, "it polls once nothing is reported"


async def test_next_close_is_expected_one_cadence_after_the_last() -> None:
    bench = Bench()
    assert bench.clock.next_close_in() is None
    for ledger in range(25):
        await bench.sees(closed(100 + ledger, 4 * ledger), every_s=4)
    assert bench.clock.next_close_in() == pytest.approx(4)
    bench.time.turn(3.5)
    assert bench.clock.next_close_in() == pytest.approx(0.5)
    bench.time.turn(4)
    assert bench.clock.next_close_in() == pytest.approx(-3.5), "late, but due any moment"
    bench.time.turn(5)
    assert bench.clock.next_close_in() is None, "no expectation is left"


async def test_ledger_far_ahead_is_confirmed_by_a_later_one(bench_at_100: Bench) -> None:
    bench = bench_at_100
    await bench.sees(closed(163, 500), every_s=2)
    reading = bench.clock.now()
    assert (reading.sequence, reading.is_confirmed) == (163, False)
    await bench.sees(closed(163, 500), every_s=2)
    assert not bench.clock.now().is_confirmed, "the same ledger again is the same look"
    await bench.sees(closed(164, 505), every_s=2)
    assert bench.clock.now().is_confirmed, "two looks agree"


async def test_ledger_far_ahead_is_not_confirmed_by_ledgers_before_it(bench_at_100: Bench) -> None:
    bench = bench_at_100
    await bench.sees(closed(163, 500), closed(101, 505), every_s=2)
    assert not bench.clock.now().is_confirmed
    await bench.sees(closed(102, 510), every_s=4)
    reading = bench.clock.now()
    assert (reading.sequence, reading.is_confirmed) == (102, True), "two looks agree"


@pytest.mark.parametrize("ahead", [40, 60, 99])
@pytest.mark.parametrize("ledger_s", [0, 5, 60])
async def test_cadence_is_not_learned_from_a_node_that_is_ahead(ahead: int, ledger_s: int) -> None:
    """The network closes a ledger a second; the node states `ledger_s` seconds for each.

    Control: the cadence of close times alone, by which payments outlive their window.
    """
    bench = Bench()
    await bench.sees(*(closed(n, n) for n in range(1, 61)), every_s=1)
    assert bench.clock.now().cadence_s == 1.0
    await bench.sees(closed(60 + ahead, 60 + ahead * ledger_s), every_s=1)
    assert bench.clock.now().cadence_s == 1.0
    await bench.sees(*(closed(60 + n, 60 + n) for n in range(2, 12)), every_s=1)
    reading = bench.clock.now()
    assert (reading.sequence, reading.cadence_s) == (71, 1.0), "nor afterwards"


@pytest.fixture
async def bench_at_100() -> Bench:
    bench = Bench()
    await bench.sees(*(closed(n, 5 * n) for n in range(70, 101)), every_s=5)
    assert bench.clock.now().is_confirmed
    return bench
