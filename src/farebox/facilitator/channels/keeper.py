"""Make channel accounts on the ledger, stop handing them out, and merge them back."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.facilitator.channels import store
from farebox.facilitator.channels.channel import Channel, ChannelState, channel_signer
from farebox.facilitator.channels.operator_ledger import OperatorLedger, OutcomeUnknown, succeeded
from farebox.facilitator.channels.plan import (
    ChannelsRefused,
    check_keys,
    choose_drained,
    count_active,
    next_indices,
)
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.account_operations import create_sponsored, merge_account
from farebox.stellar.signers import Relayer
from farebox.storage.pool import Database

_MAX_TRIES: Final = 5  # transactions for one batch, each after the one before proved dead
_MERGED_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class Created:
    """How a wish for channels was fulfilled."""

    made: int
    adopted: int
    active: int


@dataclass(frozen=True, slots=True)
class Retired:
    """Channels merged back, and drained ones that still carry a payment."""

    merged: tuple[Address, ...]
    busy: tuple[Address, ...]


class ChannelKeeper:
    """Changes the channels of one network; every change on the ledger comes before its row.

    Whatever is in doubt is looked up on the ledger before anything is sent again, and addresses
    follow from the relayer's key, so that nothing is made twice.
    """

    def __init__(
        self,
        network: Network,
        relayer: Relayer,
        ledger: OperatorLedger,
        database: Database,
        clock: Clock,
        *,
        bid: int,
        tell: Callable[[str], None],
    ) -> None:
        self._network, self._relayer, self._ledger = network, relayer, ledger
        self._database, self._clock = database, clock
        self._bid, self._tell = bid, tell

    async def create(self, wanted: int) -> Created:
        """At least `wanted` channels are active; accounts that exist already are adopted.

        Raises:
            ChannelsRefused: the network did not take a transaction, for a reason that stays.
            OutcomeUnknown: a transaction may still land.
            Outage: the node or the database is away; what was confirmed is written down.
        """
        made = adopted = tries = 0
        while True:
            channels = await self.channels()
            check_keys(channels, self._relayer, self._network)
            batch = next_indices(channels, wanted)
            if not batch:
                return Created(made, adopted, count_active(channels))
            signers = [(self._signer(index), index) for index in batch]
            rows = [(signer.address, index) for signer, index in signers]
            there = await self._ledger.existing([address for address, _ in rows])
            missing = [signer for signer, _ in signers if signer.address not in there]
            if there:
                self._tell(f"{len(there)} accounts exist already and are adopted")
                adopted += await self._add(rows, only=there)
            if not missing:
                continue
            tries += 1
            if await self._make(missing, is_last=tries >= _MAX_TRIES):
                made, tries = made + len(missing), 0
                await self._add(rows, only=frozenset(each.address for each in missing))

    async def drain(self, named: Sequence[str] | None) -> list[Address]:
        """The channels named, or all, are handed out no more; returns those that were active.

        Raises:
            ChannelsRefused: one of them is not known or is retired; nothing was changed.
        """
        channels = await self.channels()
        if named is None:
            named = [each.address for each in channels if each.state is ChannelState.ACTIVE]
        chosen = choose_drained(channels, named)
        async with self._database.transaction() as db:
            for address in chosen:
                await store.change_state(db, self._network, address, ChannelState.DRAINING)
        return chosen

    async def retire(self) -> Retired:
        """Drained channels that carry nothing are merged into the relayer.

        Raises:
            ChannelsRefused: the network did not take a merge.
            OutcomeUnknown: a merge may still land.
            Outage: the node or the database is away.
        """
        channels = await self.channels()
        check_keys(channels, self._relayer, self._network)
        drained = [each for each in channels if each.state is ChannelState.DRAINING]
        merged: list[Address] = []
        for start in range(0, len(drained), _MERGED_AT_ONCE):
            part = drained[start : start + _MERGED_AT_ONCE]
            ended = await asyncio.gather(
                *(self._retire(each) for each in part), return_exceptions=True
            )
            merged += [each.address for each, end in zip(part, ended, strict=True) if end is True]
            faults = [end for end in ended if isinstance(end, BaseException)]
            for fault in sorted(faults, key=lambda each: not isinstance(each, OutcomeUnknown)):
                raise fault
            self._tell(f"{len(merged)} of {len(drained)} drained channels are merged")
        busy = tuple(each.address for each in drained if each.address not in merged)
        return Retired(tuple(merged), busy)

    async def _make(self, missing: Sequence[Relayer], *, is_last: bool) -> bool:
        """Whether one transaction created all of `missing`; False: look again, then try again."""
        used = await self._ledger.used_sequence(self._relayer.address)
        if used is None:
            raise ChannelsRefused(f"The relayer's account {self._relayer.address} does not exist.")
        self._tell(f"creating {len(missing)} accounts")
        now = await self._ledger.now()
        sequence, max_time = used + 1, self._ledger.max_time(now)
        signed = create_sponsored(
            self._network,
            self._relayer,
            missing,
            sequence=sequence,
            bid=self._bid,
            max_time=max_time,
        )
        fate = await self._ledger.land(signed, self._relayer.address, sequence, now)
        wanted = frozenset(each.address for each in missing)
        if succeeded(fate):
            return await self._ledger.shows(wanted, exist=True, tx_hash=signed.hash)
        there = await self._ledger.existing(list(wanted))
        if there:
            self._ledger.resolved(signed.hash)
        else:
            self._ledger.judge(fate, signed.hash, is_last=is_last, doing="create the channels")
        return False

    async def _retire(self, channel: Channel) -> bool:
        """Whether the channel is gone; False while it carries something."""
        async with self._database.connection() as db:
            if not await store.fence_drained(
                db, self._network, channel.address, now=self._clock.now()
            ):
                return False
        for left in reversed(range(_MAX_TRIES)):
            used = await self._ledger.used_sequence(channel.address)
            if used is None:
                break
            now = await self._ledger.now()
            signed = merge_account(
                self._network,
                self._signer(channel.derivation_index),
                self._relayer,
                sequence=used + 1,
                bid=self._bid,
                max_time=self._ledger.max_time(now),
            )
            fate = await self._ledger.land(signed, channel.address, used + 1, now)
            gone = frozenset([channel.address])
            if succeeded(fate):
                await self._ledger.shows(gone, exist=False, tx_hash=signed.hash)
            elif await self._ledger.existing([channel.address]):
                self._ledger.judge(fate, signed.hash, is_last=left == 0, doing="merge a channel")
            else:
                self._ledger.resolved(signed.hash)
        async with self._database.connection() as db:
            return await store.change_state(
                db, self._network, channel.address, ChannelState.RETIRED
            )

    async def channels(self) -> list[Channel]:
        """Every channel, retired ones too, in the order they were made."""
        async with self._database.connection() as db:
            return await store.list_channels(db, self._network, now=self._clock.now())

    async def _add(self, rows: Sequence[tuple[Address, int]], *, only: frozenset[Address]) -> int:
        kept = [row for row in rows if row[0] in only]
        async with self._database.connection() as db:
            await store.add_channels(db, self._network, kept, at=self._clock.now())
        return len(kept)

    def _signer(self, index: int) -> Relayer:
        return channel_signer(self._relayer, self._network, index)
