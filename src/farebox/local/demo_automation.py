"""Automation on a network of the demo: a paymaster with channels, contracts, a market, a keeper."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.app.automation_at_start import (
    SESSION_PAYERS,
    contract_deployments,
    create_run_channels,
    deploy_sessions,
    session_settings,
)
from farebox.app.configuration import read_settings
from farebox.app.settings import Settings
from farebox.buyer.wallet import Wallet
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.demo_market import deploy_market, market_contract
from farebox.local.demo_network import PAYERS, DemoNetwork, served_network

_CHANNELS: Final = 3


@dataclass(frozen=True, slots=True)
class DemoAutomation:
    """Who pays for what: each account deploys one contract, so that none waits for another."""

    demo: DemoNetwork

    @property
    def network(self) -> Network:
        """The network."""
        return self.demo.network

    @property
    def keeper(self) -> Address:
        """The contract that plans may run, before or after it is deployed."""
        return market_contract(self.network, self._market[2].address, "keeper")

    @property
    def settings(self) -> dict[str, str]:
        """The service's settings, as environment variables."""
        label, router = self.network.label.upper(), self._market[1].address
        sessions = session_settings(self.network, [each.address for each in self._sessions])
        return sessions | {
            f"FAREBOX_PAYMASTER_SECRET_{label}": self.demo.payers[0].seed.reveal(),
            f"FAREBOX_SOROSWAP_ROUTER_{label}": market_contract(self.network, router, "router"),
        }

    async def deploy(self) -> None:
        """Deploy the contracts.

        Raises:
            Refusal: the network refuses a transaction.
            Outage: the network is unavailable.
        """
        seeds = [each.seed for each in (*self._sessions, *self._market)]
        async with contract_deployments(self._tools, self.network, seeds) as opened:
            sessions, (pool, router, keeper) = opened[:SESSION_PAYERS], opened[SESSION_PAYERS:]
            await asyncio.gather(deploy_sessions(sessions), deploy_market(pool, router, keeper))

    async def add_channels(self, database: Secret[str]) -> None:
        """Give the paymaster channels; the service has made the tables of the database.

        Raises:
            Refusal: the network refuses a transaction.
            Outage: the network is unavailable.
        """
        await create_run_channels(self._tools, self.network, database, _CHANNELS)

    @property
    def _tools(self) -> Settings:
        settings = served_network(self.demo).settings(self.network) | self.settings
        return read_settings(settings, is_to_serve=False)

    @property
    def _sessions(self) -> Sequence[Wallet]:
        return self.demo.payers[1 : 1 + SESSION_PAYERS]

    @property
    def _market(self) -> Sequence[Wallet]:
        return self.demo.payers[1 + SESSION_PAYERS : PAYERS]
