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
from support.manual_clock import ManualClock

GENESIS = datetime(2026, 11, 21, tzinfo=UTC)


def closed(sequence: int, at_s: int) -> LatestLedger:
    return LatestLedger(sequence, GENESIS + timedelta(seconds=at_s))


class Node:
    """Answers what it is told to; None is an outage."""

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
def test_seconds_become_ledgers_rounded_up(seconds: int, cadence_s: float, ledgers: int) -> None:
    assert ledgers_for(seconds, cadence_s=cadence_s, tolerance=0) == ledgers
    assert ledgers_for(seconds, cadence_s=cadence_s, tolerance=2) == ledgers + 2


@given(st.integers(0, 10**6), st.floats(0.1, 60), st.integers(1, 60))
def test_no_client_that_measured_a_slower_network_is_refused(
    seconds: int, cadence_s: float, clients_estimate_s: int
) -> None:
    if clients_estimate_s < min(cadence_s, 5):
        return
    asked_for = -(-seconds // clients_estimate_s)
    assert asked_for <= ledgers_for(seconds, cadence_s=cadence_s, tolerance=0)


def test_cadence_is_time_over_ledgers_however_the_seconds_fall() -> None:
    six_then_five = tuple((n, GENESIS + timedelta(seconds=n * 5 + n // 2)) for n in range(0, 41, 3))
    assert observed_cadence(six_then_five) == pytest.approx(5.5, abs=0.05)


def test_ledgers_that_share_a_second_are_counted_by_sequence() -> None:
    fast = tuple((n, GENESIS + timedelta(seconds=n // 5)) for n in range(51))
    assert observed_cadence(fast) == pytest.approx(0.2)


def test_ledgers_all_of_one_second_have_a_cadence_that_can_be_divided_by() -> None:
    assert observed_cadence(((1, GENESIS), (100, GENESIS))) == 0.1


@pytest.mark.parametrize("closes", [(), ((5, GENESIS),), ((5, GENESIS), (24, GENESIS))])
def test_fewer_than_twenty_ledgers_tell_nothing(closes: tuple[tuple[int, datetime], ...]) -> None:
    assert observed_cadence(closes) is None


async def test_before_the_first_answer_the_clock_has_no_time() -> None:
    bench = Bench()
    with pytest.raises(ClockStale) as caught:
        bench.clock.now()
    assert caught.value.part == "stellar:testnet"


async def test_the_newest_ledger_is_read_with_its_age() -> None:
    bench = Bench()
    await bench.sees(closed(7, 0))
    bench.time.turn(3)
    assert bench.clock.now() == LedgerReading(7, GENESIS, 5.0, 3.0)


async def test_the_cadence_is_observed_after_twenty_ledgers() -> None:
    bench = Bench()
    await bench.sees(*(closed(n, 2 * n) for n in range(1, 21)), every_s=2)
    assert bench.clock.now().cadence_s == 5.0
    await bench.sees(closed(21, 42), every_s=2)
    assert bench.clock.now().cadence_s == 2.0


async def test_the_cadence_of_a_start_is_that_of_the_nodes_history() -> None:
    bench = Bench()
    later = GENESIS + timedelta(seconds=2000)
    bench.clock.learn_cadence(NodeHealth(1_100, later, 100, GENESIS), target_s=5)
    await bench.sees(closed(1_100, 2000))
    assert bench.clock.now().cadence_s == 2
    bench.clock.learn_cadence(NodeHealth(1_100, later, 1_000, GENESIS), target_s=5)
    assert bench.clock.now().cadence_s == 2, "what was seen here is not unlearned"


@pytest.mark.parametrize(("target_s", "cadence_s"), [(2.0, 2.0), (None, 5.0)])
async def test_a_history_too_short_to_judge_gives_way_to_what_the_network_aims_at(
    target_s: float | None, cadence_s: float
) -> None:
    bench = Bench()
    short = NodeHealth(110, GENESIS + timedelta(seconds=10), 100, GENESIS)
    bench.clock.learn_cadence(short, target_s=target_s)
    await bench.sees(closed(110, 10))
    assert bench.clock.now().cadence_s == cadence_s


async def test_the_cadence_follows_a_network_that_changes_speed() -> None:
    bench = Bench()
    await bench.sees(*(closed(n, 5 * n) for n in range(1, 101)), every_s=5)
    await bench.sees(*(closed(100 + n, 500 + n) for n in range(1, 101)), every_s=1)
    assert bench.clock.now().cadence_s == 1.0


async def test_the_same_ledger_again_does_not_make_the_reading_younger() -> None:
    bench = Bench()
    await bench.sees(closed(7, 0), closed(7, 0), closed(7, 0), every_s=10)
    assert bench.clock.now().age_s == 20
    bench.time.turn(10.5)
    with pytest.raises(ClockStale):
        bench.clock.now()


async def test_a_node_that_is_away_leaves_the_last_reading_until_it_is_stale() -> None:
    bench = Bench()
    await bench.sees(closed(7, 0), None, None, every_s=10)
    assert (bench.clock.now().sequence, bench.clock.failed_polls) == (7, 2)
    await bench.sees(None, every_s=10.5)
    with pytest.raises(ClockStale):
        bench.clock.now()
    await bench.sees(closed(9, 40))
    assert bench.clock.now().sequence == 9


async def test_an_answer_from_before_is_counted_and_does_not_turn_the_clock_back() -> None:
    bench = Bench()
    await bench.sees(closed(7, 30), closed(5, 20), closed(6, 25), closed(8, 29), every_s=1)
    assert (bench.clock.now().sequence, bench.clock.lagging_answers) == (7, 3)
    await bench.sees(closed(8, 35), every_s=1)
    assert (bench.clock.now().sequence, bench.clock.now().age_s) == (8, 0)


async def test_a_lagging_node_that_stands_still_never_becomes_the_clock() -> None:
    bench = Bench()
    await bench.sees(closed(100, 500), every_s=10)
    bench.time.turn(31)
    for _ in range(3):
        await bench.sees(closed(90, 450), every_s=10)
        with pytest.raises(ClockStale):
            bench.clock.now()


async def test_a_network_that_was_set_back_is_followed_once_it_advances() -> None:
    bench = Bench()
    await bench.sees(*(closed(90_000 + n, 450 + 2 * n) for n in range(25)), every_s=2)
    await bench.sees(closed(3, 510), every_s=5)
    assert bench.clock.now().sequence == 90_024
    await bench.sees(closed(4, 515), every_s=5)
    assert (bench.clock.now().sequence, bench.clock.now().cadence_s) == (4, 2.0)
    await bench.sees(*(closed(n, 495 + 5 * n) for n in range(5, 27)), every_s=5)
    reading = bench.clock.now()
    assert (reading.sequence, reading.cadence_s) == (26, 5.0)


async def test_two_nodes_of_which_one_is_ahead_never_set_the_clock_back() -> None:
    bench = Bench()
    for n in range(20):
        await bench.sees(closed(100 + n, 5 * n), closed(97 + n, 5 * n - 15), every_s=2.5)
        assert bench.clock.now().sequence == 100 + n


async def test_a_ledger_that_never_existed_is_forgotten_within_seconds() -> None:
    bench = Bench()
    await bench.sees(closed(100, 500), closed(160, 800), every_s=2)
    assert bench.clock.now().sequence == 160
    await bench.sees(closed(101, 505), closed(101, 505), closed(102, 510), every_s=2)
    assert bench.clock.now().sequence == 102


async def test_a_jump_that_no_elapsed_time_allows_is_not_believed_while_the_clock_is_fresh() -> (
    None
):
    bench = Bench()
    await bench.sees(closed(100, 500), every_s=5)
    await bench.sees(*(closed(300 + n, 1500 + 5 * n) for n in range(5)), every_s=5)
    assert (bench.clock.now().sequence, bench.clock.implausible_answers) == (100, 5)
    await bench.sees(closed(106, 530), every_s=5)
    assert bench.clock.now().sequence == 106
    await bench.sees(*(closed(400 + n, 2000 + 5 * n) for n in range(8)), every_s=5)
    assert bench.clock.now().sequence == 407, "a stale clock follows what advances"


async def test_the_earliest_close_of_a_ledger_never_trusts_a_slow_network() -> None:
    slow, fast = (LedgerReading(100, GENESIS, cadence, 0) for cadence in (9.0, 2.0))
    assert slow.earliest_close(104) == GENESIS + timedelta(seconds=20)
    assert fast.earliest_close(104) == GENESIS + timedelta(seconds=8)
    assert fast.earliest_close(90) == GENESIS


async def test_the_task_polls_at_its_pace_through_outages_and_ends_only_by_a_bug() -> None:
    bench = Bench()
    bench.node.answers = [closed(7, 0), None, closed(8, 5)]
    with pytest.raises(IndexError):  # the script is over
        await bench.clock.run()
    assert bench.time.slept == [2.0, 2.0, 2.0]
    assert (bench.clock.now().sequence, bench.clock.failed_polls) == (8, 1)


async def test_what_was_heard_elsewhere_counts_like_a_poll_and_spares_it() -> None:
    bench = Bench()
    bench.clock.heard(100, GENESIS)
    assert bench.clock.now().sequence == 100
    running = asyncio.create_task(bench.clock.run())
    for second in range(1, 5):
        bench.clock.heard(100 + second, GENESIS + timedelta(seconds=5 * second))
        await asyncio.sleep(0)
    bench.node.answers.append(closed(109, 45))
    for _ in range(20):
        await asyncio.sleep(0)
        if not bench.node.answers:
            break
    running.cancel()
    assert bench.time.slept[0] > 0, "it rested before it asked"
    assert bench.clock.now().sequence == 109, "and asks once nobody tells"


async def test_the_next_close_is_expected_a_cadence_after_the_last_was_seen() -> None:
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
    assert bench.clock.next_close_in() is None, "nobody can say any more"
