"""Who is next for a source account, and who prepares for which."""

import asyncio

import pytest

from farebox.facilitator.channels.channel import Lease
from farebox.facilitator.channels.source_line import HeldSource, NoSourceFree, SourceLine, Waiter
from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.secret import Secret
from farebox.stellar.signers import Relayer, parse_secret_seed
from farebox.submission.fate import SentEnvelope
from support.manual_clock import START

KEY = parse_secret_seed("SCRLORXQ7J7KHCZSNXNAKVM6DWJQPZIGIGVE6EH2JVGEYUVS6NWTPR53")


class Prepared:
    """A settlement that writes down for which source and number it prepared."""

    def __init__(self) -> None:
        self.numbers: list[tuple[str, int]] = []

    def __call__(self, source: HeldSource, sequence: int, /) -> SentEnvelope:
        self.numbers.append((source.lease.source.address, sequence))
        return SentEnvelope(
            tx_hash=bytes([sequence]) * 32,
            inner_hash=None,
            envelope=Secret(b""),
            source=source.lease.source.address,
            source_sequence=sequence,
            max_time=START,
            fee_limit=Stroops(1),
            sent_after_ledger=1,
        )


def held(line: SourceLine, tag: int) -> HeldSource:
    assert KEY is not None
    signer = Relayer(account_address(bytes([tag]) * 32), KEY)
    return HeldSource(Lease(signer, 3, 40), line, is_relayer=False, pass_on_until=10)


def join(line: SourceLine, *, until: float = 10, place: int = 0) -> tuple[Waiter, Prepared]:
    prepared = Prepared()
    return line.join(until, prepared, place=place), prepared


async def test_who_comes_first_is_served_first() -> None:
    line = SourceLine()
    waiters = [join(line)[0] for _ in range(3)]
    for tag, waiter in enumerate(waiters, start=1):
        one = held(line, tag)
        assert line.serve(one)
        assert waiter.turn.result() is one
    assert not line.serve(held(line, 9)), "nobody waits any more"


async def test_who_waits_prepares_the_next_number_while_the_last_one_is_pending() -> None:
    line = SourceLine()
    one = held(line, 1)
    first, prepared = join(line)
    second, unprepared = join(line)
    one.pending(41)
    assert prepared.numbers == [(one.lease.source.address, 42)]
    assert unprepared.numbers == [], "one prepares for a source"
    one.landed(41)
    assert line.pass_on(one)
    turn = first.turn.result()
    assert turn.ready is not None
    assert (turn.ready.source_sequence, turn.used_sequence) == (42, 41)
    assert (turn.lease.source, turn.lease.epoch) == (one.lease.source, 3), "the same lease"
    assert not second.turn.done()


async def test_who_comes_while_an_envelope_is_pending_prepares_at_once() -> None:
    line = SourceLine()
    one = held(line, 1)
    one.pending(41)
    _, prepared = join(line)
    assert prepared.numbers == [(one.lease.source.address, 42)]


async def test_a_source_that_comes_free_elsewhere_goes_to_who_waits_longest() -> None:
    line = SourceLine()
    slow, other = held(line, 1), held(line, 2)
    first, _ = join(line)
    second, prepared = join(line)
    slow.pending(41)
    assert line.serve(other)
    assert first.turn.result() is other
    assert other.ready is None or other.ready.source != other.lease.source.address
    assert prepared.numbers == [(slow.lease.source.address, 42)], "the next one prepares instead"
    slow.landed(41)
    assert line.pass_on(slow)
    assert second.turn.done()


async def test_nobody_follows_a_source_whose_envelope_is_in_doubt() -> None:
    line = SourceLine()
    one = held(line, 1)
    waiter, _ = join(line)
    one.pending(41)
    line.end(one)
    assert not waiter.turn.done()
    assert (waiter.follows, waiter.ready) == (None, None), "what was prepared is thrown away"
    another = held(line, 2)
    another.pending(7)
    assert waiter.follows is another, "and it prepares for another"


async def test_a_place_is_kept_over_a_source_of_no_use() -> None:
    line = SourceLine()
    first, _ = join(line)
    second, _ = join(line)
    line.serve(held(line, 1))
    again, _ = join(line, place=first.turn.result().place)
    line.serve(held(line, 2))
    assert again.turn.done()
    assert not second.turn.done()


async def test_only_the_impatient_are_turned_away() -> None:
    line = SourceLine()
    early, _ = join(line, until=5)
    late, _ = join(line, until=6)
    assert line.next_until == 5
    assert line.turn_away(NoSourceFree, late_at=5) == 1
    with pytest.raises(NoSourceFree):
        early.turn.result()
    assert not late.turn.done()
    assert line.turn_away(NoSourceFree) == 1
    assert len(line) == 0
    with pytest.raises(NoSourceFree):
        await asyncio.wait_for(late.turn, 1)


async def test_one_that_cannot_prepare_harms_nobody_else() -> None:
    def broken(source: HeldSource, sequence: int, /) -> SentEnvelope:
        raise RuntimeError("a bug of this settlement alone")

    line = SourceLine()
    one = held(line, 1)
    first = line.join(10, broken)
    one.pending(41)
    one.landed(41)
    assert line.pass_on(one)
    assert first.turn.result().ready is None, "it prepares in its own call"
