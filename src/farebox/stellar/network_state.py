"""What one network asks and allows at the moment, kept fresh in the background."""

from collections.abc import Sequence
from typing import Final, Protocol

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.network_settings import (
    NetworkSettings,
    read_network_settings,
    setting_keys,
)
from farebox.stellar.rpc import FeeStats, LedgerEntries, RpcUnavailable

_FEES_EVERY_S: Final = 10
_SETTINGS_EVERY_S: Final = 30.0  # validators change them by vote, at most once in weeks

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Node(Protocol):
    """What is asked of a node."""

    async def fee_stats(self) -> FeeStats:
        """What contract calls paid lately to be included."""
        ...

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """The entries under `keys` (XDR of ledger keys)."""
        ...


class NetworkState:
    """Fees and settings of one network; what cannot be had leaves the last good value standing.

    `settings_are_understood` turns False when the network's settings have a form this version
    does not know, which is for the operator to see: payments go on with the last good ones. A
    change is noticed within half a minute, at once where a refusal gives it away (`suspect`).
    """

    def __init__(self, network: Network, node: Node, clock: Clock) -> None:
        self._network, self._node, self._clock = network, node, clock
        self._fees: FeeStats | None = None
        self._settings: NetworkSettings | None = None
        self._settings_due_at = clock.monotonic()
        self._is_suspect = False
        self.settings_are_understood = True

    @property
    def fees(self) -> FeeStats | None:
        """What contract calls paid lately to be included; None until it was once known."""
        return self._fees

    @property
    def settings(self) -> NetworkSettings | None:
        """Limits, prices and target close time; None until they were once known."""
        return self._settings

    async def run(self) -> None:
        """Refresh until cancelled; an outage of the node is passed over."""
        while True:
            await self.refresh()
            await self._until_due()

    def suspect(self) -> None:
        """A refusal hints at other settings than those known: read them again within a second."""
        self._is_suspect = True

    async def refresh(self) -> None:
        """Ask for the fees, and for the settings when it is time."""
        try:
            self._fees = await self._node.fee_stats()
            if self._is_suspect or self._clock.monotonic() >= self._settings_due_at:
                await self._refresh_settings()
        except RpcUnavailable as outage:
            log.info("network_state.not_refreshed", network=self._network.value, why=str(outage))

    async def _until_due(self) -> None:
        for _ in range(_FEES_EVERY_S):
            await self._clock.sleep(1)
            if self._is_suspect:
                return

    async def _refresh_settings(self) -> None:
        was_suspect, self._is_suspect = self._is_suspect, False
        try:
            found = await self._node.ledger_entries(setting_keys())
        except RpcUnavailable:
            self._is_suspect = self._is_suspect or was_suspect  # the doubt is not answered
            raise
        settings = read_network_settings({entry.key: entry.data for entry in found.entries})
        self._settings_due_at = self._clock.monotonic() + _SETTINGS_EVERY_S
        if settings is None and self.settings_are_understood:
            log.warning("network_state.settings_not_understood", network=self._network.value)
        elif settings is not None and settings != self._settings:
            log.info("network_state.settings", network=self._network.value)
        self.settings_are_understood = settings is not None
        self._settings = settings or self._settings
