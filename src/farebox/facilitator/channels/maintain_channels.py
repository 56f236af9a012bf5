"""Create, drain and retire the channel accounts of one network."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from farebox.facilitator.channels import store
from farebox.facilitator.channels.channel import (
    Channel,
    ChannelsRefused,
    ChannelState,
    channel_signer,
    check_keys,
    choose_active,
    choose_indices,
    count_active,
)
from farebox.facilitator.channels.channel_table import ChannelTable
from farebox.facilitator.channels.operator_ledger import OperatorLedger, OutcomeUnknown
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.account_operations import create_sponsored, merge_account
from farebox.stellar.signers import SigningAccount
from farebox.stellar.transactions import SignedTransaction
from farebox.storage.pool import Database

_MAX_ATTEMPTS: Final = 5  # transactions for one batch, each after the one before is proven dead
_MAX_CONCURRENT_MERGES: Final = 20


@dataclass(frozen=True, slots=True)
class ChannelsCreated:
    """The numbers of channels that were created, were adopted, and are active now."""

    created: int
    adopted: int
    active: int


@dataclass(frozen=True, slots=True)
class ChannelsRetired:
    """The channels merged back, and those still leased or with an unresolved envelope."""

    merged: tuple[Address, ...]
    busy: tuple[Address, ...]


class ChannelMaintenance:
    """Changes the channels of one network; every change on the ledger comes before its row.

    The ledger is read before a transaction is sent again, and addresses are derived from the
    relayer's key, so that nothing is created twice. `report` receives lines about the progress.
    The channels of automation have a table of their own, and the paymaster is their relayer.
    """

    def __init__(
        self,
        network: Network,
        relayer: SigningAccount,
        ledger: OperatorLedger,
        database: Database,
        clock: Clock,
        *,
        report: Callable[[str], None],
        table: ChannelTable = store,
    ) -> None:
        self._network, self._relayer, self._ledger = network, relayer, ledger
        self._table = table
        self._database, self._clock, self._report = database, clock, report

    async def create(self, target: int) -> ChannelsCreated:
        """Create channels until `target` are active; accounts that exist already are adopted.

        Raises:
            ChannelsRefused: the network did not take a transaction, for a reason that stays.
            OutcomeUnknown: a transaction may still land.
            Outage: the node or the database is unavailable; confirmed channels are recorded.
        """
        created = adopted = attempts = 0
        while True:
            channels = await self.list_channels()
            check_keys(channels, self._relayer, self._network)
            batch = choose_indices(channels, target)
            if not batch:
                return ChannelsCreated(created, adopted, count_active(channels))
            signers = [(self._signer(index), index) for index in batch]
            rows = [(signer.address, index) for signer, index in signers]
            existing = await self._ledger.find_existing([address for address, _ in rows])
            missing = [signer for signer, _ in signers if signer.address not in existing]
            if existing:
                self._report(f"{len(existing)} accounts exist already and are adopted")
                adopted += await self._add(rows, only=existing)
            if not missing:
                continue
            attempts += 1
            if await self._create_accounts(missing, is_last=attempts >= _MAX_ATTEMPTS):
                created, attempts = created + len(missing), 0
                await self._add(rows, only=frozenset(each.address for each in missing))

    async def drain(self, addresses: Sequence[str] | None) -> list[Address]:
        """Stop leasing these channels, or all for None; returns those that were active.

        Raises:
            ChannelsRefused: one of them is not known or is retired; nothing was changed.
        """
        channels = await self.list_channels()
        if addresses is None:
            addresses = [each.address for each in channels if each.state is ChannelState.ACTIVE]
        chosen = choose_active(channels, addresses)
        async with self._database.transaction() as db:
            for address in chosen:
                await self._table.change_state(db, self._network, address, ChannelState.DRAINING)
        return chosen

    async def retire(self) -> ChannelsRetired:
        """Merge drained channels without a lease or an unresolved envelope into the relayer.

        Raises:
            ChannelsRefused: the network did not take a merge.
            OutcomeUnknown: a merge may still land.
            Outage: the node or the database is unavailable.
        """
        channels = await self.list_channels()
        check_keys(channels, self._relayer, self._network)
        drained = [each for each in channels if each.state is ChannelState.DRAINING]
        merged: list[Address] = []
        for start in range(0, len(drained), _MAX_CONCURRENT_MERGES):
            part = drained[start : start + _MAX_CONCURRENT_MERGES]
            results = await asyncio.gather(
                *(self._retire(each) for each in part), return_exceptions=True
            )
            merged += [
                each.address for each, done in zip(part, results, strict=True) if done is True
            ]
            faults = [each for each in results if isinstance(each, BaseException)]
            for fault in sorted(faults, key=lambda each: not isinstance(each, OutcomeUnknown)):
                raise fault
            self._report(f"{len(merged)} of {len(drained)} drained channels are merged")
        busy = tuple(each.address for each in drained if each.address not in merged)
        return ChannelsRetired(tuple(merged), busy)

    async def _create_accounts(self, missing: Sequence[SigningAccount], *, is_last: bool) -> bool:
        """Create accounts by one transaction; False: read the ledger again, then try again."""

        def build(*, sequence: int, inclusion_fee: int, max_time: int) -> SignedTransaction:
            self._report(f"creating {len(missing)} accounts")
            return create_sponsored(
                self._network,
                self._relayer,
                missing,
                sequence=sequence,
                inclusion_fee=inclusion_fee,
                max_time=max_time,
            )

        is_done = await self._ledger.attempt(
            self._relayer.address,
            build,
            purpose="create the channels",
            is_last=is_last,
            accounts=[each.address for each in missing],
        )
        if is_done is None:
            raise ChannelsRefused(
                f"The account {self._relayer.address}, which pays, does not exist."
            )
        return is_done

    async def _retire(self, channel: Channel) -> bool:
        """Retire one channel; False while it is leased or unresolved."""
        async with self._database.connection() as db:
            if not await self._table.fence_drained(
                db, self._network, channel.address, now=self._clock.now()
            ):
                return False
        signer = self._signer(channel.derivation_index)
        for left in reversed(range(_MAX_ATTEMPTS)):
            merged = await self._ledger.attempt(
                channel.address,
                partial(merge_account, self._network, signer, self._relayer),
                purpose="merge a channel",
                is_last=left == 0,
                accounts=[channel.address],
                exist=False,
            )
            if merged is not False:  # None: another run merged it
                break
        async with self._database.connection() as db:
            return await self._table.change_state(
                db, self._network, channel.address, ChannelState.RETIRED
            )

    async def list_channels(self) -> list[Channel]:
        """List every channel, retired ones too, in the order of creation."""
        async with self._database.connection() as db:
            return await self._table.list_channels(db, self._network, now=self._clock.now())

    async def _add(self, rows: Sequence[tuple[Address, int]], *, only: frozenset[Address]) -> int:
        kept = [row for row in rows if row[0] in only]
        async with self._database.connection() as db:
            await self._table.add_channels(db, self._network, kept, at=self._clock.now())
        return len(kept)

    def _signer(self, index: int) -> SigningAccount:
        return channel_signer(self._relayer, self._network, index)
