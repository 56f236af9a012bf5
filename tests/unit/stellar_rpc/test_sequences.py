"""Sequence numbers of one source."""

import asyncio

import pytest

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.sequences import SourceMissing, SourceSequence

SOURCE = Address("GSOURCE")


class Chain:
    """A ledger whose account stands at `sequence`."""

    def __init__(self, sequence: int | None) -> None:
        self.sequence = sequence
        self.reads = 0
        self.is_away = False

    async def account_sequence(self, address: Address) -> int | None:
        assert address == SOURCE
        self.reads += 1
        await asyncio.sleep(0)
        if self.is_away:
            raise RpcUnavailable(Network.TESTNET, "away", certainly_not_sent=True)
        return self.sequence


def source_on(chain: Chain) -> SourceSequence:
    return SourceSequence(Network.TESTNET, SOURCE, chain)


async def test_the_first_number_comes_from_the_ledger_and_stays_until_it_lands() -> None:
    chain = Chain(40)
    source = source_on(chain)
    assert [await source.following() for _ in range(3)] == [41, 41, 41]
    assert chain.reads == 1


async def test_a_number_that_landed_is_followed_without_asking() -> None:
    chain = Chain(40)
    source = source_on(chain)
    source.landed(await source.following())
    assert await source.following() == 42
    assert chain.reads == 1


async def test_a_late_word_of_an_older_landing_changes_nothing() -> None:
    source = source_on(Chain(40))
    await source.following()
    source.landed(44)
    source.landed(42)
    assert await source.following() == 45
    source.forget()
    assert await source.following() == 45


async def test_after_a_bad_sequence_the_ledger_is_asked_again() -> None:
    chain = Chain(40)
    source = source_on(chain)
    await source.following()
    chain.sequence = 47  # somebody else used this source
    source.forget()
    assert await source.following() == 48


async def test_a_node_that_lags_cannot_bring_a_used_number_back() -> None:
    source = source_on(Chain(40))
    source.landed(43)
    source.forget()
    assert await source.following() == 44


async def test_many_at_once_ask_the_ledger_once() -> None:
    chain = Chain(40)
    source = source_on(chain)
    assert set(await asyncio.gather(*(source.following() for _ in range(20)))) == {41}
    assert chain.reads == 1


async def test_a_source_that_is_not_there_is_named() -> None:
    with pytest.raises(SourceMissing, match=SOURCE):
        await source_on(Chain(None)).following()


async def test_an_outage_is_passed_on_and_the_next_call_asks_again() -> None:
    chain = Chain(40)
    source = source_on(chain)
    chain.is_away = True
    with pytest.raises(RpcUnavailable):
        await source.following()
    chain.is_away = False
    assert await source.following() == 41
