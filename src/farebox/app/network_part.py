"""One network as a part of the service: checked, then watched, and what readiness says of it."""

from dataclasses import dataclass
from typing import Final

import structlog

from farebox.app.health import PartHealth
from farebox.facilitator.budgets.sponsor import Sponsor
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import ClockStale, LedgerClock
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_nodes import RpcNodes
from farebox.stellar.signers import Signers
from farebox.stellar.start_check import FaultCode, StartFault, check_accounts

_ASK_AGAIN_S: Final = 2.0  # a node that is away, or unfit, may be mended any moment
_ACCOUNTS_EVERY_S: Final = 10.0  # a full ledger costs some 0.5 XLM
_NODES_EVERY_S: Final = 2.0
_LOOKS_TO_A_CHECK: Final = 5  # an unfit node beside a fit one is checked again this seldom
_NOT_ASKED_YET: Final = "starting"
_NODE_AWAY: Final = "rpc_unavailable"
_STALE: Final = "ledger_clock_stale"
_STOPPED: Final = "sponsor_stopped"  # the operator's own order: nothing is out of order

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Purse:
    """Who pays on a network, the least they must be able to pay, and who is told."""

    signers: Signers
    floor: Stroops
    sponsor: Sponsor


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
        purse: Purse,
        clock: Clock,
    ) -> None:
        self._network, self._rpc, self._ledgers, self._state = network, rpc, ledgers, state
        self._purse, self._clock = purse, clock
        self._node_reasons: tuple[str, ...] = (_NOT_ASKED_YET,)
        self._account_faults: tuple[StartFault, ...] = ()

    @property
    def name(self) -> str:
        """The network's CAIP-2 id."""
        return self._network.value

    async def health(self) -> PartHealth:
        """What is known now, without a call to the node; a node that is out is a warning."""
        reasons = self._node_reasons or self._clock_reasons()
        faults = self._account_faults
        codes = tuple(dict.fromkeys(fault.code.value for fault in faults))
        is_usable = not reasons and all(fault.is_warning for fault in faults)
        stopped = (_STOPPED,) if self._purse.sponsor.is_stopped else ()
        warnings = () if self._node_reasons else self._rpc.warnings
        return PartHealth(is_usable=is_usable, reasons=reasons + codes + stopped + warnings)

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
                    self._network,
                    self._rpc,
                    sorted(self._purse.signers.addresses),
                    floor=self._purse.floor,
                )
            except RpcUnavailable:
                await self._clock.sleep(_ASK_AGAIN_S)
                continue
            relayer = self._purse.signers.relayer.address
            self._purse.sponsor.balance_is_low = any(
                fault.code is FaultCode.ACCOUNT_UNFUNDED and fault.account == relayer
                for fault in self._account_faults
            )
            for fault in self._account_faults:
                log.warning("network.account", network=self._network.value, why=fault.sentence)
            is_well = all(fault.is_warning for fault in self._account_faults)
            await self._clock.sleep(_ACCOUNTS_EVERY_S if is_well else _ASK_AGAIN_S)

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
