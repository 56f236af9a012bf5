"""One network as a component of the service: its checks, its watches and its readiness."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from farebox.app.health import ComponentHealth
from farebox.facilitator.budgets.sponsor_budget import SponsorBudget
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import ClockStale, LedgerClock
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_nodes import RpcNodes
from farebox.stellar.signers import Signers
from farebox.stellar.start_check import FaultCode, StartFault, check_accounts

_RETRY_S: Final = 2.0  # an unavailable or unfit node may be repaired any moment
_ACCOUNTS_EVERY_S: Final = 10.0  # a full ledger costs some 0.5 XLM
_NODES_EVERY_S: Final = 2.0
_PROBES_PER_CHECK: Final = 5  # with a fit node, an unfit one is checked again this seldom
_NOT_CHECKED: Final = "starting"
_NODE_UNAVAILABLE: Final = "rpc_unavailable"
_STALE: Final = "ledger_clock_stale"
_STOPPED: Final = "sponsor_stopped"  # by the operator: no component is unhealthy

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OperatorFunding:
    """The accounts that pay on a network, their balance floor, and the sponsor budget."""

    signers: Signers
    floor: Stroops
    budget: SponsorBudget


class NetworkComponent:
    """Checks the network's nodes, and starts the ledger clock once one is fit.

    Until then the clock is stale, so that every verdict on the network is `network_unavailable`;
    the other network is not affected.
    """

    def __init__(
        self,
        network: Network,
        rpc: RpcNodes,
        ledgers: LedgerClock,
        state: NetworkState,
        funding: OperatorFunding,
        clock: Clock,
    ) -> None:
        self._network, self._rpc, self._ledgers = network, rpc, ledgers
        self.state = state
        self._funding, self._clock = funding, clock
        self._node_reasons: tuple[str, ...] = (_NOT_CHECKED,)
        self._account_faults: tuple[StartFault, ...] = ()
        self._warnings: list[Callable[[], tuple[str, ...]]] = []

    @property
    def name(self) -> str:
        """The network's CAIP-2 id."""
        return self._network.value

    @property
    def outages(self) -> tuple[str, ...]:
        """The codes of why the network cannot be used now; empty while it can."""
        return self._node_reasons or self._clock_reasons()

    async def health(self) -> ComponentHealth:
        """What is known now, without a call to the node; a node that is out is a warning."""
        reasons = self.outages
        faults = self._account_faults
        codes = tuple(dict.fromkeys(fault.code.value for fault in faults))
        is_usable = not reasons and all(fault.is_warning for fault in faults)
        stopped = (_STOPPED,) if self._funding.budget.is_stopped else ()
        warnings = () if self._node_reasons else self._rpc.warnings
        others = tuple(code for each in self._warnings for code in each())
        found = reasons + codes + stopped + warnings + others
        return ComponentHealth(is_usable=is_usable, reasons=found)

    def warn(self, source: Callable[[], tuple[str, ...]]) -> None:
        """Show the codes of another part of the service, which never make it unready."""
        self._warnings.append(source)

    async def run(self) -> None:
        """Check the nodes until one is fit, then run the ledger clock."""
        while self._node_reasons:
            self._node_reasons = await self._check_node()
            if self._node_reasons:
                await self._clock.sleep(_RETRY_S)
        log.info("network.ready", network=self._network.value)
        await self._ledgers.run()

    async def watch_nodes(self) -> None:
        """Probe the nodes until cancelled."""
        while True:
            for _ in range(_PROBES_PER_CHECK):
                await self._clock.sleep(_NODES_EVERY_S)
                await self._rpc.probe()
            if not self._node_reasons:
                await self._rpc.check()

    async def watch_accounts(self) -> None:
        """Check the operator's accounts until cancelled."""
        while True:
            try:
                self._account_faults = await check_accounts(
                    self._network,
                    self._rpc,
                    [self._funding.signers.relayer.address],  # the paymaster only warns
                    floor=self._funding.floor,
                )
            except RpcUnavailable:
                await self._clock.sleep(_RETRY_S)
                continue
            relayer = self._funding.signers.relayer.address
            self._funding.budget.balance_is_low = any(
                fault.code is FaultCode.ACCOUNT_UNFUNDED and fault.account == relayer
                for fault in self._account_faults
            )
            for fault in self._account_faults:
                log.warning("network.account", network=self._network.value, why=fault.sentence)
            is_well = all(fault.is_warning for fault in self._account_faults)
            await self._clock.sleep(_ACCOUNTS_EVERY_S if is_well else _RETRY_S)

    async def _check_node(self) -> tuple[str, ...]:
        await self._rpc.check()
        if self._rpc.faults:
            return self._rpc.faults
        try:
            await self._learn_cadence()
        except RpcUnavailable:
            return (_NODE_UNAVAILABLE,)
        return ()

    async def _learn_cadence(self) -> None:
        await self.state.refresh()
        settings = self.state.settings
        target_s = settings.target_close_ms / 1000 if settings is not None else None
        self._ledgers.learn_cadence(await self._rpc.health(), target_s=target_s)

    def _clock_reasons(self) -> tuple[str, ...]:
        if not self._ledgers.node_answers:
            return (_NODE_UNAVAILABLE,)
        try:
            self._ledgers.now()
        except ClockStale:
            return (_STALE,)
        return ()
