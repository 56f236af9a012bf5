import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from farebox.facilitator import channel_store
from farebox.facilitator.channel_store import LeasedRow
from farebox.facilitator.channels import ChannelState, Lease, channel_signer
from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal import SettlementJournal
from farebox.facilitator.ledger_room import LedgerRoom
from farebox.facilitator.settlement import Claim, Ending, Recording, SettlementState
from farebox.facilitator.source_line import NoSourceFree
from farebox.facilitator.sources import SourcePool
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.signers import Relayer, parse_secret_seed
from farebox.storage.pool import Connection, Database
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason
from support.manual_clock import START, ManualClock

SEED = "SCRLORXQ7J7KHCZSNXNAKVM6DWJQPZIGIGVE6EH2JVGEYUVS6NWTPR53"
NET = Network.TESTNET


@pytest.fixture
def relayer() -> Relayer:
    key = parse_secret_seed(SEED)
    assert key is not None
    return Relayer(account_address(bytes(key.reveal().verify_key)), key)


def claim(nonce: int) -> Claim:
    return Claim(
        identity=PaymentIdentity(NET, account_address(bytes([1]) * 32), nonce),
        claim_id=uuid4(),
        request_digest=bytes(32),
        asset=contract_address(bytes(32)),
        amount=BaseUnits(1),
        pay_to=account_address(bytes([2]) * 32),
        expires_at_ledger=200,
        claimed_at=START,
        max_timeout_s=60,
    )


def envelope(source: Address, tag: int = 1) -> SentEnvelope:
    return SentEnvelope(
        tx_hash=bytes([tag]) * 32,
        inner_hash=None,
        envelope=Secret(b"signed"),
        source=source,
        source_sequence=7,
        max_time=START + timedelta(seconds=45),
        fee_limit=Stroops(1),
        sent_after_ledger=100,
    )


async def with_channels(database: Database, relayer: Relayer, count: int) -> list[Address]:
    channels = [(channel_signer(relayer, NET, index).address, index) for index in range(count)]
    async with database.connection() as db:
        await channel_store.add_channels(db, NET, channels, at=START)
        await channel_store.add_channels(db, NET, channels, at=START)
    return [address for address, _ in channels]


def pool(database: Database, relayer: Relayer) -> SourcePool:
    return SourcePool(NET, relayer, database, ManualClock(), lease_s=60)


def test_keys_of_channels_follow_from_the_relayers_and_from_nothing_else(relayer: Relayer) -> None:
    addresses = {
        channel_signer(relayer, network, index).address for network in Network for index in (0, 1)
    }
    assert len(addresses) == 4
    assert channel_signer(relayer, NET, 0).address in addresses
    assert relayer.address not in addresses


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


async def test_a_holder_that_was_given_up_cannot_write_an_envelope_down(
    database: Database, relayer: Relayer
) -> None:
    (address,) = await with_channels(database, relayer, 1)
    journal = SettlementJournal(database, ManualClock())
    mine = claim(1)
    await journal.claim(mine)
    async with database.connection() as db:
        later = START + timedelta(seconds=61)
        (first,) = await channel_store.lease_channels(
            db, NET, count=1, now=START, until=START + timedelta(seconds=60)
        )
        (second,) = await channel_store.lease_channels(
            db, NET, count=1, now=later, until=later + timedelta(seconds=60)
        )
        assert second.epoch > first.epoch
        assert (
            await journal.sending(mine, envelope(address), epoch=first.epoch)
            is Recording.CLAIM_LOST
        )
        late = channel_store.Returned(address, first.epoch, used_sequence=99)
        assert await channel_store.release_leases(db, NET, [late]) == 0
        assert (
            await journal.sending(mine, envelope(address), epoch=second.epoch) is Recording.WRITTEN
        )


async def test_a_channel_only_moves_on(database: Database, relayer: Relayer) -> None:
    (address,) = await with_channels(database, relayer, 1)
    async with database.connection() as db:
        assert not await channel_store.change_state(db, NET, address, ChannelState.RETIRED)
        assert await channel_store.change_state(db, NET, address, ChannelState.DRAINING)
        leased = await channel_store.lease_channels(
            db, NET, count=1, now=START, until=START + timedelta(seconds=60)
        )
        assert leased == [], "what drains is not handed out"
        assert await channel_store.change_state(db, NET, address, ChannelState.RETIRED)
        assert not await channel_store.change_state(db, NET, address, ChannelState.DRAINING)


async def test_only_a_drained_free_channel_is_fenced_and_its_last_holder_with_it(
    database: Database, relayer: Relayer
) -> None:
    (address,) = await with_channels(database, relayer, 1)
    journal = SettlementJournal(database, ManualClock())
    mine = claim(1)
    await journal.claim(mine)
    soon, later = START + timedelta(seconds=60), START + timedelta(seconds=61)
    async with database.connection() as db:
        assert not await channel_store.fence_drained(db, NET, address, now=START)
        (held,) = await channel_store.lease_channels(db, NET, count=1, now=START, until=soon)
        await channel_store.change_state(db, NET, address, ChannelState.DRAINING)
        assert not await channel_store.fence_drained(db, NET, address, now=START), "it is leased"
        assert await channel_store.fence_drained(db, NET, address, now=later)
    assert await journal.sending(mine, envelope(address), epoch=held.epoch) is Recording.CLAIM_LOST


async def test_a_drained_channel_with_an_unresolved_envelope_is_not_fenced(
    database: Database, relayer: Relayer
) -> None:
    (address,) = await with_channels(database, relayer, 1)
    journal = SettlementJournal(database, ManualClock())
    async with pool(database, relayer).source(wait_s=1) as source:
        mine = claim(1)
        await journal.claim(mine)
        assert (
            await journal.sending(mine, envelope(address), epoch=source.lease.epoch)
            is Recording.WRITTEN
        )
    async with database.connection() as db:
        await channel_store.change_state(db, NET, address, ChannelState.DRAINING)
        assert not await channel_store.fence_drained(db, NET, address, now=START)


async def test_the_number_used_last_is_not_believed_when_its_holder_died(
    database: Database, relayer: Relayer
) -> None:
    (address,) = await with_channels(database, relayer, 1)
    async with database.connection() as db:
        times = [START + timedelta(seconds=61 * turn) for turn in range(3)]

        async def lease(turn: int) -> channel_store.LeasedRow:
            (row,) = await channel_store.lease_channels(
                db, NET, count=1, now=times[turn], until=times[turn] + timedelta(seconds=60)
            )
            return row

        first = await lease(0)
        given = channel_store.Returned(address, first.epoch, used_sequence=99)
        assert await channel_store.release_leases(db, NET, [given]) == 1
        assert (await lease(1)).used_sequence == 99
        assert (await lease(2)).used_sequence is None, "the lease before lapsed"


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
