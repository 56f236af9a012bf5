"""Channel leases: acquired by one holder at a time, passed on, waited for and released."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from farebox.facilitator.channels import store as channel_store
from farebox.facilitator.channels.channel import ChannelLease, channel_signer
from farebox.facilitator.channels.channel_leases import ChannelLeases
from farebox.facilitator.channels.lease_queue import NoChannelFree
from farebox.facilitator.channels.ledger_capacity import LedgerCapacity
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import FinalStatus, Recording, SettlementState
from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.stellar.signers import SigningAccount
from farebox.storage.pool import Connection, Database
from farebox.x402.reasons import Reason
from support.channel_rows import acquire, channel_leases, envelope, insert_channels
from support.claims import NET, claim
from support.manual_clock import START, ManualClock
from testing.waiting import WITHIN_S

DEAD = FinalStatus(SettlementState.DEAD, Reason.TRANSACTION_FAILED)


async def test_a_channel_is_leased_to_one_holder_at_a_time(
    database: Database, relayer: SigningAccount
) -> None:
    addresses = await insert_channels(database, relayer, 4)
    one, other = channel_leases(database, relayer), channel_leases(database, relayer)
    held: list[Address] = []

    async def hold(leases: ChannelLeases) -> None:
        lease = await acquire(leases, wait_s=5)
        assert lease.address not in held
        held.append(lease.address)
        await asyncio.sleep(0.01)  # time in which no other waiter may get it
        held.remove(lease.address)
        await leases.release(lease)

    await asyncio.gather(*(hold(each) for each in [one, other] * 20))
    async with database.connection() as db:
        listed = await channel_store.list_channels(db, NET, now=START)
    assert [channel.address for channel in listed] == addresses
    assert all(channel.is_free for channel in listed)


async def test_acquire_fails_when_no_channel_is_free_in_time(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    leases = channel_leases(database, relayer)
    lease = await acquire(leases)
    with pytest.raises(NoChannelFree):
        await acquire(leases, wait_s=0)
    await leases.release(lease)
    assert not (await acquire(leases)).is_relayer


async def test_the_relayer_is_leased_to_one_at_a_time_when_there_are_no_channels(
    database: Database, relayer: SigningAccount
) -> None:
    leases = channel_leases(database, relayer)
    lease = await acquire(leases)
    assert lease.is_relayer
    assert lease.address == relayer.address
    with pytest.raises(NoChannelFree):
        await acquire(leases, wait_s=0)
    await leases.release(lease)
    assert (await acquire(leases)).is_relayer


async def test_a_release_records_the_sequence_number_that_is_known(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    leases = channel_leases(database, relayer)
    lease = await acquire(leases)
    assert lease.used_sequence is None
    await leases.release(lease.with_landed(41))
    lease = await acquire(leases)
    assert lease.used_sequence == 41
    await leases.release(lease.with_unknown_sequence())
    assert (await acquire(leases)).used_sequence is None


async def test_a_channel_with_an_unresolved_envelope_is_not_leased(
    database: Database, relayer: SigningAccount
) -> None:
    (address,) = await insert_channels(database, relayer, 1)
    journal = SettlementJournal(database, ManualClock())
    leases = channel_leases(database, relayer)
    lease = await acquire(leases)
    mine = claim(1)
    await journal.claim(mine)
    recorded = await journal.record_sending(mine, envelope(address), epoch=lease.epoch)
    assert recorded is Recording.WRITTEN
    await leases.release(lease.with_unknown_sequence())
    with pytest.raises(NoChannelFree):
        await acquire(leases, wait_s=0)
    await journal.record_final(envelope(address).tx_hash, DEAD)
    assert (await acquire(leases)).address == address


async def test_release_raises_nothing_without_a_database_and_the_lease_expires(
    database: Database, postgres_url: Secret[str], relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    clock = ManualClock()
    async with Database(postgres_url) as own:
        leases = channel_leases(own, relayer, clock)
        lease = await acquire(leases)
        await own.__aexit__(None, None, None)  # the database goes away in the middle
        await leases.release(lease)
    assert lease.address == channel_signer(relayer, NET, 0).address
    after = channel_leases(database, relayer, clock)
    with pytest.raises(NoChannelFree):
        await acquire(after, wait_s=0)
    clock.turn(61)
    assert (await acquire(after)).address == lease.address


async def test_a_settled_lease_passes_to_the_next_waiter_while_it_is_young(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    leases = channel_leases(database, relayer)
    epochs: list[int] = []

    async def use(sequence: int) -> None:
        lease = await acquire(leases, wait_s=5)
        epochs.append(lease.epoch)
        assert lease.used_sequence == (None if sequence == 1 else sequence - 1)
        assert not lease.is_settled, "it is settled anew by each holder"
        await asyncio.sleep(0.02)  # the time of a payment
        await leases.release(lease.with_landed(sequence))

    await asyncio.gather(*(use(sequence) for sequence in range(1, 6)))
    assert epochs == [1] * 5, "one lease for all of them"
    lease = await acquire(leases)
    assert (lease.epoch, lease.used_sequence) == (2, 5)


async def test_a_waiter_learns_the_expected_lease_while_its_envelope_is_pending(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    leases = channel_leases(database, relayer)
    lease = await acquire(leases)
    announced: asyncio.Queue[ChannelLease] = asyncio.Queue()
    waiting = asyncio.create_task(
        leases.acquire(leases.issue_ticket("one", wait_s=5), announced.put_nowait)
    )
    leases.expect(lease.with_landed(41))
    expected = await asyncio.wait_for(announced.get(), WITHIN_S)
    await leases.release(lease.with_landed(41))
    passed = await asyncio.wait_for(waiting, WITHIN_S)
    assert (expected.address, expected.used_sequence) == (passed.address, passed.used_sequence)


async def test_a_lease_with_an_unresolved_envelope_is_not_passed_on(
    database: Database, relayer: SigningAccount
) -> None:
    (address,) = await insert_channels(database, relayer, 1)
    journal = SettlementJournal(database, ManualClock())
    leases = channel_leases(database, relayer)
    mine = claim(1)
    await journal.claim(mine)
    lease = await acquire(leases)
    await journal.record_sending(mine, envelope(address), epoch=lease.epoch)
    waiting = asyncio.create_task(acquire(leases, wait_s=5))
    await asyncio.sleep(0)  # it enters the queue
    leases.expect(lease.with_landed(7))
    await leases.release(lease.with_unknown_sequence())
    await asyncio.sleep(0.3)  # some polls, in which nothing may be leased
    assert not waiting.done(), "the channel is quarantined"
    await journal.record_final(envelope(address).tx_hash, DEAD)
    after = await asyncio.wait_for(waiting, WITHIN_S)
    assert (after.address, after.used_sequence) == (address, None), "read from the ledger"


async def test_a_waiting_replica_gets_a_channel_that_another_replica_passes_on(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    clock = ManualClock()
    greedy, starving = channel_leases(database, relayer, clock), channel_leases(database, relayer)
    sequence = 0
    is_leased, is_fair = asyncio.Event(), asyncio.Event()

    async def use() -> None:
        nonlocal sequence
        while not is_fair.is_set():
            lease = await acquire(greedy, wait_s=50)
            await asyncio.sleep(0.01)  # the time of a payment
            sequence += 1
            is_leased.set()
            clock.turn(1)
            await greedy.release(lease.with_landed(sequence))

    users = [asyncio.create_task(use()) for _ in range(3)]
    try:
        await asyncio.wait_for(is_leased.wait(), WITHIN_S)
        lease = await asyncio.wait_for(acquire(starving, wait_s=5), WITHIN_S)
        await starving.release(lease)
    finally:
        is_fair.set()
        await asyncio.gather(*users)
    assert lease.epoch > 1


async def test_leases_stop_at_the_ledger_capacity(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 4)

    def room() -> LedgerCapacity:
        return LedgerCapacity(3, "transaction bytes")

    one, other = (
        ChannelLeases(NET, relayer.address, database, ManualClock(), lease_s=60, capacity=room)
        for _ in "12"
    )
    first = await acquire(one)
    await acquire(other)
    await acquire(one)
    with pytest.raises(NoChannelFree):
        await acquire(other, wait_s=0)
    await one.release(first)
    assert not (await acquire(other)).is_relayer


class CountingDatabase(Database):
    """Counts the uses of a connection, each of which leases channels once."""

    uses = 0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        self.uses += 1
        async with super().connection() as connection:
            yield connection


async def test_many_waiters_lease_with_one_statement(
    database: Database, postgres_url: Secret[str], relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 20)
    async with CountingDatabase(postgres_url) as counting:
        leases = channel_leases(counting, relayer)
        leased = await asyncio.gather(*(acquire(leases, wait_s=5) for _ in range(20)))
    assert len({lease.address for lease in leased}) == 20
    assert counting.uses == 1


async def test_a_cancelled_waiter_leaves_its_lease_to_the_others(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    leases = channel_leases(database, relayer)
    lease = await acquire(leases)
    served, waiting = (asyncio.create_task(acquire(leases, wait_s=5)) for _ in "12")
    await asyncio.sleep(0)  # both join the queue
    await leases.release(lease.with_landed(1))
    served.cancel()  # after the lease was passed to it, before it ran
    with pytest.raises(asyncio.CancelledError):
        await served
    assert (await asyncio.wait_for(waiting, WITHIN_S)).used_sequence == 1


async def test_closed_leases_reject_waiters_and_release_what_they_hold(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    leases = channel_leases(database, relayer)
    lease = await acquire(leases)
    waiting = asyncio.create_task(acquire(leases))
    await asyncio.sleep(0)  # it enters the queue
    leases.close()
    with pytest.raises(NoChannelFree):
        await waiting
    await leases.release(lease.with_landed(41))
    with pytest.raises(NoChannelFree):
        await acquire(leases)
    lease = await acquire(channel_leases(database, relayer))
    assert lease.used_sequence == 41, "it was given back"
