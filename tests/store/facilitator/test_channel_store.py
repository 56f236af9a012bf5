"""Channels as rows: state changes, and leases that have expired."""

from dataclasses import replace
from datetime import timedelta

from farebox.facilitator.channels import store as channel_store
from farebox.facilitator.channels.channel import ChannelLease, ChannelState
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Recording
from farebox.stellar.signers import SigningAccount
from farebox.storage.pool import Database
from support.channel_rows import acquire, channel_leases, envelope, insert_channels
from support.claims import NET, claim
from support.manual_clock import START, ManualClock


async def test_record_sending_is_refused_with_an_expired_lease_epoch(
    database: Database, relayer: SigningAccount
) -> None:
    (address,) = await insert_channels(database, relayer, 1)
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
            await journal.record_sending(mine, envelope(address), epoch=first.epoch)
            is Recording.CLAIM_LOST
        )
        late = replace(first, used_sequence=99)
        assert await channel_store.release_leases(db, NET, [late]) == 0
        assert (
            await journal.record_sending(mine, envelope(address), epoch=second.epoch)
            is Recording.WRITTEN
        )


async def test_a_channel_state_never_moves_back(
    database: Database, relayer: SigningAccount
) -> None:
    (address,) = await insert_channels(database, relayer, 1)
    async with database.connection() as db:
        assert not await channel_store.change_state(db, NET, address, ChannelState.RETIRED)
        assert await channel_store.change_state(db, NET, address, ChannelState.DRAINING)
        leased = await channel_store.lease_channels(
            db, NET, count=1, now=START, until=START + timedelta(seconds=60)
        )
        assert leased == [], "a draining channel is not leased"
        assert await channel_store.change_state(db, NET, address, ChannelState.RETIRED)
        assert not await channel_store.change_state(db, NET, address, ChannelState.DRAINING)


async def test_fence_drained_requires_a_draining_channel_without_a_lease(
    database: Database, relayer: SigningAccount
) -> None:
    (address,) = await insert_channels(database, relayer, 1)
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
    assert (
        await journal.record_sending(mine, envelope(address), epoch=held.epoch)
        is Recording.CLAIM_LOST
    )


async def test_fence_drained_fails_while_an_envelope_is_unresolved(
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
    await leases.release(lease)
    async with database.connection() as db:
        await channel_store.change_state(db, NET, address, ChannelState.DRAINING)
        assert not await channel_store.fence_drained(db, NET, address, now=START)


async def test_a_lease_has_no_sequence_number_after_the_previous_lease_expired(
    database: Database, relayer: SigningAccount
) -> None:
    await insert_channels(database, relayer, 1)
    async with database.connection() as db:
        times = [START + timedelta(seconds=61 * turn) for turn in range(3)]

        async def lease(turn: int) -> ChannelLease:
            (row,) = await channel_store.lease_channels(
                db, NET, count=1, now=times[turn], until=times[turn] + timedelta(seconds=60)
            )
            return row

        first = await lease(0)
        given = replace(first, used_sequence=99)
        assert await channel_store.release_leases(db, NET, [given]) == 1
        assert (await lease(1)).used_sequence == 99
        assert (await lease(2)).used_sequence is None, "the lease before lapsed"
