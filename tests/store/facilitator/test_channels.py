"""Rows of channels: whose they are, how they move on, and what a lease that is over cannot do."""

from datetime import timedelta

from farebox.facilitator.channels import store as channel_store
from farebox.facilitator.channels.channel import ChannelState, channel_signer
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Recording
from farebox.kernel.networks import Network
from farebox.stellar.signers import Relayer
from farebox.storage.pool import Database
from support.channel_rows import envelope, pool, with_channels
from support.claims import NET, claim
from support.manual_clock import START, ManualClock


def test_keys_of_channels_follow_from_the_relayers_and_from_nothing_else(relayer: Relayer) -> None:
    addresses = {
        channel_signer(relayer, network, index).address for network in Network for index in (0, 1)
    }
    assert len(addresses) == 4
    assert channel_signer(relayer, NET, 0).address in addresses
    assert relayer.address not in addresses


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
