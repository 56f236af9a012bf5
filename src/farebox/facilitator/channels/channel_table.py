"""The table of the channel accounts of one purpose; `store` is that of settlement."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from farebox.facilitator.channels.channel import Channel, ChannelState
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


class ChannelTable(Protocol):
    """What commands do to the channels of one purpose."""

    async def list_channels(
        self, db: Connection, network: Network, *, now: datetime
    ) -> list[Channel]:
        """List every channel of a network, retired ones too, in the order of creation."""
        ...

    async def add_channels(
        self,
        db: Connection,
        network: Network,
        channels: Sequence[tuple[Address, int]],
        *,
        at: datetime,
    ) -> None:
        """Record channels that exist on the ledger; those recorded already stay unchanged."""
        ...

    async def change_state(
        self, db: Connection, network: Network, address: Address, state: ChannelState
    ) -> bool:
        """Change a channel's state: active to draining, or draining to retired."""
        ...

    async def fence_drained(
        self, db: Connection, network: Network, address: Address, *, now: datetime
    ) -> bool:
        """Make sure that nobody uses a drained channel any more; False while somebody does."""
        ...
