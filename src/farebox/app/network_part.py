"""One network as a part of the service: checked, then watched, and what readiness says of it."""

from typing import Final

import structlog

from farebox.app.health import PartHealth
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import ClockStale, LedgerClock
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_nodes import RpcNodes
from farebox.stellar.start_check import StartFault, check_accounts

_ASK_AGAIN_S: Final = 2.0  # a node that is away, or unfit, may be mended any moment
_ACCOUNTS_EVERY_S: Final = 60.0
_NODES_EVERY_S: Final = 2.0
_LOOKS_TO_A_CHECK: Final = 5  # an unfit node beside a fit one is checked again this seldom
_NOT_ASKED_YET: Final = "starting"
_NODE_AWAY: Final = "rpc_unavailable"
_STALE: Final = "ledger_clock_stale"

log = structlog.get_logger(__name__)


class NetworkPart:
    """Starts the ledger clock only once the node has proved fit.

    Until then the clock is stale, and so every verdict on the network is that it is unavailable;
    the other network goes on.
    """

    def __init__(
        self,
        network: Network,
        rpc: RpcNodes,
        ledgers: LedgerClock,
        state: NetworkState,
        accounts: frozenset[Address],
        clock: Clock,
    ) -> None:
        self._network, self._rpc, self._ledgers, self._state = network, rpc, ledgers, state
        self._accounts, self._clock = accounts, clock
        self._node_reasons: tuple[str, ...] = (_NOT_ASKED_YET,)
        self._account_faults: tuple[StartFault, ...] = ()

    @property
    def name(self) -> str:
        """The network's CAIP-2 id."""
        return self._network.value

    async def health(self) -> PartHealth:
        """What is known now, without a call to the node; a node that is out is a warning."""
        reasons = self._node_reasons or self._clock_reasons()
        codes = tuple(dict.fromkeys(fault.code.value for fault in self._account_faults))
        is_usable = not reasons and not codes
        warnings = () if self._node_reasons else self._rpc.warnings
        return PartHealth(is_usable=is_usable, reasons=reasons + codes + warnings)

    async def run(self) -> None:
        """Check the nodes until one is fit, then keep its clock."""
        while self._node_reasons:
            self._node_reasons = await self._check_node()
            if self._node_reasons:
                await self._clock.sleep(_ASK_AGAIN_S)
        log.info("network.ready", network=self._network.value)
        await self._ledgers.run()

    async def watch_nodes(self) -> None:
        """Notice for ever which node is out, and which is back."""
        while True:
            for _ in range(_LOOKS_TO_A_CHECK):
                await self._clock.sleep(_NODES_EVERY_S)
                await self._rpc.look_after()
            if not self._node_reasons:
                await self._rpc.check()

    async def watch_accounts(self) -> None:
        """Look after the operator's accounts for ever."""
        while True:
            try:
                self._account_faults = await check_accounts(
                    self._network, self._rpc, sorted(self._accounts)
                )
            except RpcUnavailable:
                await self._clock.sleep(_ASK_AGAIN_S)
                continue
            for fault in self._account_faults:
                log.warning("network.account", network=self._network.value, why=fault.sentence)
            await self._clock.sleep(_ACCOUNTS_EVERY_S if not self._account_faults else _ASK_AGAIN_S)

    async def _check_node(self) -> tuple[str, ...]:
        await self._rpc.check()
        if self._rpc.faults:
            return self._rpc.faults
        try:
            await self._learn_cadence()
        except RpcUnavailable:
            return (_NODE_AWAY,)
        return ()

    async def _learn_cadence(self) -> None:
        await self._state.refresh()
        settings = self._state.settings
        target_s = settings.target_close_ms / 1000 if settings is not None else None
        self._ledgers.learn_cadence(await self._rpc.health(), target_s=target_s)

    def _clock_reasons(self) -> tuple[str, ...]:
        if not self._ledgers.node_answers:
            return (_NODE_AWAY,)
        try:
            self._ledgers.now()
        except ClockStale:
            return (_STALE,)
        return ()
