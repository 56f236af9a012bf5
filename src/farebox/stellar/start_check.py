"""Whether a node and the operator's accounts are fit for payments, asked once at the start."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.rpc import NodeVersion, SorobanRpc

OLDEST_PROTOCOL: Final = 29
NEWEST_TRIED_PROTOCOL: Final = 30
DEFAULT_BALANCE_FLOOR: Final = Stroops(5_0000000)  # 5 XLM: some hundreds of settlements
_FIRST_VERSION_WITH_EVENTS: Final = 23
_LEDGERS_TO_LOOK_AT: Final = 50
_MAJOR_VERSION: Final = re.compile(r"v?([0-9]{1,4})\.", re.ASCII)


log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class FaultCode(StrEnum):
    """What is wrong, as readiness names it."""

    WRONG_NETWORK = "wrong_network"
    UNKNOWN_PROTOCOL = "unknown_protocol"
    NO_EVENTS = "node_without_events"
    ACCOUNT_MISSING = "account_missing"
    ACCOUNT_UNFUNDED = "account_unfunded"
    ACCOUNT_LOW = "account_low"  # a warning: it still pays


@dataclass(frozen=True, slots=True)
class StartFault:
    """One reason not to settle on a network, in words for the operator."""

    code: FaultCode
    sentence: str
    account: Address | None = None

    @property
    def is_warning(self) -> bool:
        """Whether the network can be used all the same."""
        return self.code is FaultCode.ACCOUNT_LOW


async def check_node(network: Network, rpc: SorobanRpc) -> tuple[StartFault, ...]:
    """What makes this node unfit for `network`; empty when nothing does.

    Raises:
        RpcUnavailable: the node did not answer, or it says that it lags behind its network.
    """
    health = await rpc.health()
    told = await rpc.network()
    faults: list[StartFault] = []
    if told.passphrase != network.passphrase:
        sentence = f"the node configured for {network} follows another network"
        return (StartFault(FaultCode.WRONG_NETWORK, sentence),)
    latest = await rpc.latest_ledger()
    if latest.protocol_version < OLDEST_PROTOCOL:
        sentence = f"{network} runs protocol {latest.protocol_version}, older than any known here"
        faults.append(StartFault(FaultCode.UNKNOWN_PROTOCOL, sentence))
    elif latest.protocol_version > NEWEST_TRIED_PROTOCOL:  # what cannot be read is refused then
        log.warning("start_check.untried_protocol", protocol=latest.protocol_version)
    oldest_to_look_at = max(health.oldest_ledger, health.latest_ledger - _LEDGERS_TO_LOOK_AT)
    seen = await rpc.gives_events(from_ledger=oldest_to_look_at)
    if not _gives_events(await rpc.version(), seen):
        sentence = f"the node of {network} does not list the events of a transaction"
        faults.append(StartFault(FaultCode.NO_EVENTS, sentence))
    return tuple(faults)


async def check_accounts(
    network: Network,
    rpc: SorobanRpc,
    accounts: Iterable[Address],
    *,
    floor: Stroops = DEFAULT_BALANCE_FLOOR,
) -> tuple[StartFault, ...]:
    """Which of the operator's `accounts` do not exist, or can pay fees of less than `floor`.

    Below twice the floor is a warning.

    Raises:
        RpcUnavailable: the node did not answer.
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


def _gives_events(version: NodeVersion, seen: bool | None) -> bool:  # noqa: FBT001 - an observation, not a choice
    """What was seen counts; where there was nothing to see, the node's version does."""
    if seen is not None:
        return seen
    major = _MAJOR_VERSION.match(version.version)
    return major is not None and int(major[1]) >= _FIRST_VERSION_WITH_EVENTS
