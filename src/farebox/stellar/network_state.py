"""The current fees, settings and protocol of one network, refreshed in the background."""

from typing import Final, Protocol

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.network_settings import (
    ConfigSettings,
    read_network_settings,
    setting_keys,
)
from farebox.stellar.rpc import FeeStats, RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc

_FEES_EVERY_S: Final = 10
_SETTINGS_EVERY_S: Final = 30.0  # validators change them by vote, at most once in weeks

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class FeeMarket(Protocol):
    """The inclusion fees of one network, read without a call."""

    @property
    def fees(self) -> FeeStats | None:
        """The recent inclusion fees of contract calls; None until they were read once."""
        ...


class NetworkState:
    """Fees, settings and protocol of one network; after an outage the last values are used.

    `settings_are_understood` is False while the network's settings have a form unknown to this
    version, a warning to the operator: payments use the last known ones. A change is noticed within
    half a minute, or within a second after `suspect`.
    """

    def __init__(self, network: Network, node: SorobanRpc, clock: Clock) -> None:
        self._network, self._node, self._clock = network, node, clock
        self._fees: FeeStats | None = None
        self._settings: ConfigSettings | None = None
        self._protocol_version: int | None = None
        self._settings_due_at = clock.monotonic()
        self._is_suspect = False
        self.settings_are_understood = True

    @property
    def fees(self) -> FeeStats | None:
        """The recent inclusion fees of contract calls; None until they were read once."""
        return self._fees

    @property
    def settings(self) -> ConfigSettings | None:
        """Limits, prices and target close time; None until they were read once."""
        return self._settings

    @property
    def protocol_version(self) -> int | None:
        """The protocol that the network runs; None until it was read once."""
        return self._protocol_version

    async def run(self) -> None:
        """Refresh until cancelled; an outage of the node is logged."""
        while True:
            await self.refresh()
            await self._wait_until_due()

    def suspect(self) -> None:
        """Read the settings again within a second: a refusal suggests that they have changed."""
        self._is_suspect = True

    async def refresh(self) -> None:
        """Read the fees, and settings and protocol when they are due."""
        try:
            self._fees = await self._node.fee_stats()
            if self._is_suspect or self._clock.monotonic() >= self._settings_due_at:
                await self._refresh_settings()
                self._protocol_version = (await self._node.network()).protocol_version
        except RpcUnavailable as outage:
            log.info("network_state.not_refreshed", network=self._network.value, why=str(outage))

    async def _wait_until_due(self) -> None:
        for _ in range(_FEES_EVERY_S):
            await self._clock.sleep(1)
            if self._is_suspect:
                return

    async def _refresh_settings(self) -> None:
        was_suspect, self._is_suspect = self._is_suspect, False
        try:
            response = await self._node.ledger_entries(setting_keys())
        except RpcUnavailable:
            self._is_suspect = self._is_suspect or was_suspect  # they were not read
            raise
        settings = read_network_settings({entry.key: entry.data for entry in response.entries})
        self._settings_due_at = self._clock.monotonic() + _SETTINGS_EVERY_S
        if settings is None and self.settings_are_understood:
            log.warning("network_state.settings_not_understood", network=self._network.value)
        elif settings is not None and settings != self._settings:
            log.info("network_state.settings", network=self._network.value)
        self.settings_are_understood = settings is not None
        self._settings = settings or self._settings
