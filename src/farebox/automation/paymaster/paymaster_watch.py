"""Whether the paymaster of one network can pay for runs now, as of a few seconds ago."""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from farebox.automation.paymaster import budget_store, channel_store
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.rpc import AccountState, RpcUnavailable
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database

STOPPED: Final = "automation_stopped"  # by the operator
UNFUNDED: Final = "paymaster_unfunded"
NO_CHANNELS: Final = "automation_channels_missing"
NOT_CHECKED: Final = "automation_not_checked"
_REFRESH_S: Final = 2.0
_BALANCE_S: Final = 10.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class PaymasterWatch:
    """Reads the switch, the channels and the balance; `floor` is the least above its reserves.

    `account` reads an account from the node, None when it does not exist.
    """

    def __init__(
        self,
        network: Network,
        address: Address,
        database: Database,
        clock: Clock,
        *,
        account: Callable[[Address], Awaitable[AccountState | None]],
        floor: Stroops,
    ) -> None:
        self._network, self._address, self._database = network, address, database
        self._clock, self._account, self._floor = clock, account, floor
        self._is_stopped = False
        self._channels: int | None = None
        self._available: int | None = None
        self._balance_due_at = clock.monotonic()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The codes of why no run is paid for now; empty while runs are."""
        if self._channels is None or self._available is None:
            return (NOT_CHECKED,)
        faults = (
            (self._is_stopped, STOPPED),
            (self._available < self._floor, UNFUNDED),
            (self._channels == 0, NO_CHANNELS),
        )
        return tuple(code for is_wrong, code in faults if is_wrong)

    @property
    def is_available(self) -> bool:
        """Whether plans can be proposed and paid: the paymaster is funded and has channels."""
        return not set(self.warnings) - {STOPPED}

    async def run(self) -> None:
        """Refresh every two seconds until cancelled."""
        while True:
            await self.refresh()
            await self._clock.sleep(_REFRESH_S)

    async def refresh(self) -> None:
        """Read the rows, and the balance when it is due; what cannot be read stays as it was."""
        try:
            async with self._database.connection() as db:
                stopped_at = await budget_store.read_stop_time(db, self._network)
                self._channels = await channel_store.count_active(db, self._network)
            self._is_stopped = stopped_at is not None
            if self._clock.monotonic() >= self._balance_due_at:
                state = await self._account(self._address)
                self._available = 0 if state is None else state.available
                self._balance_due_at = self._clock.monotonic() + _BALANCE_S
        except (DatabaseUnavailable, RpcUnavailable) as outage:
            log.info("paymaster.not_read", network=self._network.value, part=outage.part)
