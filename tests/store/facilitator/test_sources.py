"""Sources to send from: leased by one holder at a time, passed on, waited for and given back."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from farebox.facilitator.channels import store as channel_store
from farebox.facilitator.channels.channel import Lease, channel_signer
from farebox.facilitator.channels.ledger_room import LedgerRoom
from farebox.facilitator.channels.source_line import NoSourceFree
from farebox.facilitator.channels.sources import SourcePool
from farebox.facilitator.channels.store import LeasedRow
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Ending, Recording, SettlementState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.signers import Relayer
from farebox.storage.pool import Connection, Database
from farebox.x402.reasons import Reason
from support.channel_rows import envelope, pool, with_channels
from support.claims import NET, claim
from support.manual_clock import START, ManualClock


async def test_no_two_holders_have_one_channel(database: Database, relayer: Relayer) -> None:
    addresses = await with_channels(database, relayer, 4)
    one, other = pool(database, relayer), pool(database, relayer)
    held: list[Address] = []

    async def hold(each: SourcePool) -> None:
        async with each.source(wait_s=5) as source:
            assert source.lease.source.address not in held
            held.append(source.lease.source.address)
            await asyncio.sleep(0.01)
            held.remove(source.lease.source.address)

    await asyncio.gather(*(hold(each) for each in [one, other] * 20))
    async with database.connection() as db:
        listed = await channel_store.list_channels(db, NET, now=START)
    assert [channel.address for channel in listed] == addresses
    assert all(channel.is_free for channel in listed)


async def test_waiting_for_a_channel_ends(database: Database, relayer: Relayer) -> None:
    await with_channels(database, relayer, 1)
    sources = pool(database, relayer)
    async with sources.source(wait_s=1):
        with pytest.raises(NoSourceFree):
            async with sources.source(wait_s=0):
                pass
    async with sources.source(wait_s=1) as source:
        assert not source.is_relayer


async def test_without_channels_the_relayer_goes_one_at_a_time(
    database: Database, relayer: Relayer
) -> None:
    sources = pool(database, relayer)
    async with sources.source(wait_s=1) as source:
        assert source.is_relayer
        assert source.lease.source == relayer
        with pytest.raises(NoSourceFree):
            async with sources.source(wait_s=0):
                pass


async def test_what_was_learnt_of_a_sequence_number_is_kept_for_the_next_holder(
    database: Database, relayer: Relayer
) -> None:
    await with_channels(database, relayer, 1)
    sources = pool(database, relayer)
    async with sources.source(wait_s=1) as source:
        assert source.used_sequence is None
        source.landed(41)
    async with sources.source(wait_s=1) as source:
        assert source.used_sequence == 41
        source.forget()
    async with sources.source(wait_s=1) as source:
        assert source.used_sequence is None


async def test_a_channel_with_an_unresolved_envelope_is_quarantined(
    database: Database, relayer: Relayer
) -> None:
    (address,) = await with_channels(database, relayer, 1)
    journal = SettlementJournal(database, ManualClock())
    sources = pool(database, relayer)
    async with sources.source(wait_s=1) as source:
        mine = claim(1)
        await journal.claim(mine)
        assert (
            await journal.sending(mine, envelope(address), epoch=source.lease.epoch)
            is Recording.WRITTEN
        )
    with pytest.raises(NoSourceFree):
        async with sources.source(wait_s=0):
            pass
    await journal.end(
        envelope(address).tx_hash, Ending(SettlementState.DEAD, Reason.TRANSACTION_FAILED)
    )
    async with sources.source(wait_s=1) as source:
        assert source.lease.source.address == address


async def test_a_lease_that_cannot_be_given_back_hides_nothing_and_ends_by_itself(
    database: Database, postgres_url: Secret[str], relayer: Relayer
) -> None:
    await with_channels(database, relayer, 1)
    clock = ManualClock()
    async with Database(postgres_url) as own:
        sources = SourcePool(NET, relayer, own, clock, lease_s=60)
        async with sources.source(wait_s=1) as source:
            await own.__aexit__(None, None, None)  # the database goes away in the middle
            outcome = source.lease.source.address
    assert outcome == channel_signer(relayer, NET, 0).address
    after = SourcePool(NET, relayer, database, clock, lease_s=60)
    with pytest.raises(NoSourceFree):
        async with after.source(wait_s=0):
            pass
    clock.turn(61)
    async with after.source(wait_s=1) as source:
        assert source.lease.source.address == outcome


async def test_a_channel_passes_straight_to_the_next_waiter_while_its_lease_is_young(
    database: Database, relayer: Relayer
) -> None:
    await with_channels(database, relayer, 1)
    sources = pool(database, relayer)
    epochs: list[int] = []

    async def use(sequence: int) -> None:
        async with sources.source(wait_s=5) as source:
            epochs.append(source.lease.epoch)
            assert source.used_sequence == (None if sequence == 1 else sequence - 1)
            await asyncio.sleep(0.02)
            source.landed(sequence)

    await asyncio.gather(*(use(sequence) for sequence in range(1, 6)))
    assert epochs == [1] * 5, "one lease for all of them"
    async with sources.source(wait_s=1) as source:
        assert source.lease.epoch == 2
        assert source.used_sequence == 5


async def test_a_channel_whose_envelope_may_be_out_is_passed_to_nobody(
    database: Database, relayer: Relayer
) -> None:
    (address,) = await with_channels(database, relayer, 1)
    journal = SettlementJournal(database, ManualClock())
    sources = pool(database, relayer)
    mine = claim(1)
    await journal.claim(mine)
    async with sources.source(wait_s=1) as source:
        await journal.sending(mine, envelope(address), epoch=source.lease.epoch)
        waiting = asyncio.create_task(_lease_of(sources))
        await asyncio.sleep(0.01)
        source.pending(7)
        source.forget()
    await asyncio.sleep(0.3)
    assert not waiting.done(), "it is quarantined"
    await journal.end(
        envelope(address).tx_hash, Ending(SettlementState.DEAD, Reason.TRANSACTION_FAILED)
    )
    lease = await asyncio.wait_for(waiting, 2)
    assert (lease.source.address, lease.used_sequence) == (address, None), "read from the ledger"


async def _lease_of(sources: SourcePool) -> Lease:
    async with sources.source(wait_s=5) as source:
        return source.lease


async def test_a_starving_replica_gets_a_channel_that_another_could_pass_on_for_ever(
    database: Database, relayer: Relayer
) -> None:
    await with_channels(database, relayer, 1)
    clock = ManualClock()
    greedy = SourcePool(NET, relayer, database, clock, lease_s=60)
    starving = pool(database, relayer)
    sequence = 0
    is_fair = asyncio.Event()

    async def use() -> None:
        nonlocal sequence
        while not is_fair.is_set():
            async with greedy.source(wait_s=50) as source:
                await asyncio.sleep(0.01)
                sequence += 1
                source.landed(sequence)
                clock.turn(1)

    users = [asyncio.create_task(use()) for _ in range(3)]
    try:
        await asyncio.sleep(0.05)
        assert sequence > 0, "the greedy one has the channel"
        lease = await asyncio.wait_for(_lease_of(starving), 10)
    finally:
        is_fair.set()
        await asyncio.gather(*users)
    assert lease.epoch > 1


async def test_no_more_are_leased_together_than_a_ledger_has_room_for(
    database: Database, relayer: Relayer
) -> None:
    await with_channels(database, relayer, 4)

    class Room:
        def room(self) -> LedgerRoom:
            return LedgerRoom(3, "transaction bytes")

    one, other = (
        SourcePool(NET, relayer, database, ManualClock(), lease_s=60, room=Room()) for _ in "12"
    )
    async with AsyncExitStack() as held:
        for each in (one, other, one):
            await held.enter_async_context(each.source(wait_s=1))
        with pytest.raises(NoSourceFree):
            async with other.source(wait_s=0):
                pass
    async with other.source(wait_s=1) as source:
        assert not source.is_relayer


async def test_many_waiters_lease_with_one_statement(
    database: Database, relayer: Relayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_channels(database, relayer, 20)
    statements: list[int] = []
    lease = channel_store.lease_channels

    async def counted(db: Connection, network: Network, **rest: Any) -> list[LeasedRow]:
        statements.append(rest["count"])
        return await lease(db, network, **rest)

    monkeypatch.setattr(channel_store, "lease_channels", counted)
    sources = pool(database, relayer)
    together = asyncio.Barrier(20)

    async def use() -> None:
        async with sources.source(wait_s=5):
            await together.wait()

    await asyncio.gather(*(use() for _ in range(20)))
    assert statements == [20]


async def test_a_closed_pool_gives_nothing_more(database: Database, relayer: Relayer) -> None:
    await with_channels(database, relayer, 1)
    sources = pool(database, relayer)
    async with sources.source(wait_s=1) as source:
        waiting = asyncio.create_task(_lease_of(sources))
        await asyncio.sleep(0.01)
        sources.close()
        with pytest.raises(NoSourceFree):
            await waiting
        source.landed(41)
    with pytest.raises(NoSourceFree):
        await _lease_of(sources)
    async with pool(database, relayer).source(wait_s=1) as source:
        assert source.used_sequence == 41, "it was given back"
