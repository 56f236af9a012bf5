"""The start check: whether a node and the operator's accounts are fit for payments."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import native_contract
from farebox.stellar.contract_operations import HostCall, dry_run
from farebox.stellar.rpc import (
    NodeHealth,
    NodeVersion,
    RpcUnavailable,
    TransferWindow,
)
from farebox.stellar.simulation import Simulated, UnreadableSimulation, read_simulation
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.transfer_envelope import TRANSFER
from farebox.stellar.xdr_writer import address_value, contract_call, i128_value

OLDEST_PROTOCOL: Final = 29
NEWEST_TRIED_PROTOCOL: Final = 30
DEFAULT_BALANCE_FLOOR: Final = Stroops(5_0000000)  # 5 XLM: some hundreds of settlements
_FIRST_VERSION_WITH_EVENTS: Final = 23
_LEDGERS_TO_LOOK_AT: Final = 50
LEAST_RETENTION_LEDGERS: Final = 120  # ten minutes: an envelope is looked up that late
PAGE_TRANSACTIONS: Final = 200  # of `getTransactions`, as the watch of a full ledger requests
_LEDGER_SHIFT: Final = 32  # of a ledger's sequence in a cursor (TOID, SEP-35)
_INVALID_REQUEST: Final = -32600
_NO_SUCH_METHOD: Final = -32601
_MAJOR_VERSION: Final = re.compile(r"v?([0-9]{1,4})\.", re.ASCII)


log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class FaultCode(StrEnum):
    """The reasons against using a network, as readiness names them."""

    WRONG_NETWORK = "wrong_network"
    UNKNOWN_PROTOCOL = "unknown_protocol"
    NO_EVENTS = "node_without_events"
    NO_SIMULATION_EVENTS = "node_without_simulation_events"
    NO_EVENT_SEARCH = "node_without_event_search"
    SHORT_HISTORY = "node_history_too_short"
    SMALL_PAGES = "node_pages_too_small"
    ACCOUNT_MISSING = "account_missing"
    ACCOUNT_UNFUNDED = "account_unfunded"
    ACCOUNT_LOW = "account_low"  # a warning: it still pays


@dataclass(frozen=True, slots=True)
class StartFault:
    """One reason not to settle on a network, with a sentence for the operator."""

    code: FaultCode
    sentence: str
    account: Address | None = None

    @property
    def is_warning(self) -> bool:
        """Whether the network can be used nevertheless."""
        return self.code is FaultCode.ACCOUNT_LOW


async def check_node(network: Network, rpc: SorobanRpc, relayer: Address) -> tuple[StartFault, ...]:
    """Find the faults that make this node unfit for `network`; empty when there are none.

    A transfer by `relayer` is simulated to check that the node gives its events. Where the ledger
    refuses it, because the account does not exist yet, nothing is concluded from it.

    Raises:
        RpcUnavailable: the node did not respond, or it reports that it is behind its network.
    """
    health = await rpc.health()
    followed = await rpc.network()
    if followed.passphrase != network.passphrase:
        sentence = f"the node configured for {network} follows another network"
        return (StartFault(FaultCode.WRONG_NETWORK, sentence),)
    faults: list[StartFault] = []
    if followed.protocol_version < OLDEST_PROTOCOL:
        sentence = f"{network} runs protocol {followed.protocol_version}, older than any known here"
        faults.append(StartFault(FaultCode.UNKNOWN_PROTOCOL, sentence))
    elif followed.protocol_version > NEWEST_TRIED_PROTOCOL:  # unreadable values are refused then
        log.warning("start_check.untried_protocol", protocol=followed.protocol_version)
    checks = (
        (await _shows_events(rpc, health), FaultCode.NO_EVENTS),
        (await _simulates_events(network, rpc, relayer), FaultCode.NO_SIMULATION_EVENTS),
        (await _finds_events(rpc, relayer, network, health), FaultCode.NO_EVENT_SEARCH),
        (_remembers_enough(health), FaultCode.SHORT_HISTORY),
        (await _gives_full_pages(rpc, health), FaultCode.SMALL_PAGES),
    )
    faults += [
        StartFault(code, f"the node of {network} {_LACKS[code]}")
        for is_fit, code in checks
        if not is_fit
    ]
    return tuple(faults)


_LACKS: Final = {
    FaultCode.NO_EVENTS: "does not list the events of a transaction: it must run stellar-rpc 23 "
    "or newer",
    FaultCode.NO_SIMULATION_EVENTS: "leaves the events out of a simulation: stellar-rpc shows them "
    "with PREFLIGHT_ENABLE_DEBUG=true",
    FaultCode.NO_EVENT_SEARCH: "does not offer getEvents, by which a payment that another "
    "transaction made is found",
    FaultCode.SHORT_HISTORY: f"keeps fewer than {LEAST_RETENTION_LEDGERS} ledgers: raise "
    "HISTORY_RETENTION_WINDOW of stellar-rpc",
    FaultCode.SMALL_PAGES: f"refuses pages of {PAGE_TRANSACTIONS} transactions: raise "
    "MAX_TRANSACTIONS_LIMIT of stellar-rpc",
}


async def _shows_events(rpc: SorobanRpc, health: NodeHealth) -> bool:
    """Whether a recent transaction has its events; where there is none, by the node's version."""
    oldest_to_look_at = max(health.oldest_ledger, health.latest_ledger - _LEDGERS_TO_LOOK_AT)
    seen = await rpc.gives_events(from_ledger=oldest_to_look_at)
    return _has_events(await rpc.version()) if seen is None else seen


def _has_events(version: NodeVersion) -> bool:
    major = _MAJOR_VERSION.match(version.version)
    return major is not None and int(major[1]) >= _FIRST_VERSION_WITH_EVENTS


async def _simulates_events(network: Network, rpc: SorobanRpc, relayer: Address) -> bool:
    answer = await rpc.simulate(trial_transfer(network, relayer))
    match read_simulation(answer.result):
        case Simulated(events=events):
            return bool(events)
        case UnreadableSimulation(part="events"):
            return False
        case _:
            log.info("start_check.transfer_refused", network=network.value)
            return True


async def _finds_events(
    rpc: SorobanRpc, relayer: Address, network: Network, health: NodeHealth
) -> bool:
    ledger = health.latest_ledger
    window = TransferWindow(native_contract(network), relayer, relayer, ledger, ledger)
    try:
        await rpc.transfers(window, limit=1)
    except RpcUnavailable as refusal:
        return refusal.code != _NO_SUCH_METHOD
    return True


def _remembers_enough(health: NodeHealth) -> bool:
    return health.retention_ledgers is None or health.retention_ledgers >= LEAST_RETENTION_LEDGERS


async def _gives_full_pages(rpc: SorobanRpc, health: NodeHealth) -> bool:
    return not await _refuses_pages_of(PAGE_TRANSACTIONS, rpc, health) or await _refuses_pages_of(
        1, rpc, health
    )  # for another reason than their size


async def _refuses_pages_of(limit: int, rpc: SorobanRpc, health: NodeHealth) -> bool:
    """Request ledgers that have not closed, so that the page would be empty."""
    cursor = str((health.latest_ledger + 1000) << _LEDGER_SHIFT)
    try:
        await rpc.transactions(frozenset(), from_ledger=0, cursor=cursor, limit=limit)
    except RpcUnavailable as refusal:
        return refusal.code == _INVALID_REQUEST
    return False


async def check_accounts(
    network: Network,
    rpc: SorobanRpc,
    accounts: Iterable[Address],
    *,
    floor: Stroops = DEFAULT_BALANCE_FLOOR,
) -> tuple[StartFault, ...]:
    """Find the `accounts` that do not exist, or can pay fees of less than `floor`.

    Below twice the floor is a warning.

    Raises:
        RpcUnavailable: the node did not respond.
    """
    faults: list[StartFault] = []
    for account in accounts:
        state = await rpc.account(account)
        if state is None:
            sentence = f"the account {account} does not exist on {network}"
            faults.append(StartFault(FaultCode.ACCOUNT_MISSING, sentence, account))
        elif state.available < 2 * floor:
            is_short = state.available < floor
            code = FaultCode.ACCOUNT_UNFUNDED if is_short else FaultCode.ACCOUNT_LOW
            sentence = (
                f"the account {account} has {state.available} stroops left above its reserves, "
                f"less than {floor if is_short else 2 * floor}"
            )
            faults.append(StartFault(code, sentence, account))
    return tuple(faults)


_INVOKE_CONTRACT: Final = bytes(4)  # HostFunctionType
_ONE: Final = (1).to_bytes(4, "big")
_SOURCE_ACCOUNT: Final = bytes(4)  # SorobanCredentialsType
_CONTRACT_FUNCTION: Final = bytes(4)  # SorobanAuthorizedFunctionType
_NO_CALLS: Final = bytes(4)


def trial_transfer(network: Network, account: Address) -> str:
    """The envelope (base64) of a native transfer by `account` (G…), authorized as its source."""
    party = address_value(account)
    called = contract_call(native_contract(network), TRANSFER, party, party, i128_value(1))
    authorized = _ONE + _SOURCE_ACCOUNT + _CONTRACT_FUNCTION + called + _NO_CALLS
    return dry_run(HostCall(_INVOKE_CONTRACT + called, authorized), account)
