"""The operator's accounts on one network, channels included, refreshed in the background."""

from collections.abc import Sequence
from typing import Final

import structlog

from farebox.facilitator.channels import store
from farebox.facilitator.channels.channel import ChannelState
from farebox.facilitator.channels.channel_table import ChannelTable
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

_REFRESH_S: Final = 5.0  # the longest until a new channel is known here

log = structlog.get_logger(__name__)


class OperatorAccounts:
    """The accounts that can be the source of a transaction or pay its fee.

    Retired channels are among them: their keys are still the operator's. `tables` has one table
    of channels for each purpose.
    """

    def __init__(
        self,
        network: Network,
        signers: frozenset[Address],
        database: Database,
        clock: Clock,
        tables: Sequence[ChannelTable] = (store,),
    ) -> None:
        self._network, self._database, self._clock = network, database, clock
        self._tables = tables
        self._signers = signers
        self._usable = signers
        self._all = signers

    @property
    def addresses(self) -> frozenset[Address]:
        """All accounts, as of a few seconds ago."""
        return self._all

    @property
    def usable(self) -> frozenset[Address]:
        """The accounts that are not retired."""
        return self._usable

    async def refresh(self) -> None:
        """Read the channels.

        Raises:
            DatabaseUnavailable: the last state is kept.
        """
        async with self._database.connection() as db:
            now = self._clock.now()
            channels = [
                channel
                for table in self._tables
                for channel in await table.list_channels(db, self._network, now=now)
            ]
        self._all = self._signers | {channel.address for channel in channels}
        retired = {each.address for each in channels if each.state is ChannelState.RETIRED}
        self._usable = self._all - retired

    async def run(self) -> None:
        """Refresh every five seconds until cancelled."""
        while True:
            try:
                await self.refresh()
            except DatabaseUnavailable:
                log.warning("operator_accounts.database_unavailable", network=self._network.value)
            await self._clock.sleep(_REFRESH_S)
