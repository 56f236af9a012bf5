"""The composition root of the channels command: what changes the channels of one network."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from farebox.app.settings import NetworkSettings, Settings
from farebox.facilitator.channels.keeper import ChannelKeeper
from farebox.facilitator.channels.ledger_room import TYPICAL, LedgerRoom, room_for
from farebox.facilitator.channels.operator_ledger import OperatorLedger, Terms
from farebox.facilitator.channels.plan import ChannelsRefused
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.network_settings import read_network_settings, setting_keys
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.signers import read_signers
from farebox.storage.pool import Database
from farebox.submission.submit import Submitter
from farebox.submission.watch import LedgerWatcher

_POLL_S: Final = 0.5
_DELIVER_S: Final = 20.0  # the relayer may have another transaction on its way meanwhile
_LOOK_S: Final = 0.5
_BID: Final = 10_000  # stroops an operation; the network takes what a place costs


@dataclass(frozen=True, slots=True)
class ChannelTools:
    """The keeper of the channels, the ledger it works on, and the node behind it."""

    keeper: ChannelKeeper
    ledger: OperatorLedger
    rpc: HttpSorobanRpc

    async def room(self) -> LedgerRoom | None:
        """How many settlements a ledger takes by the network's limits; None: nobody can say."""
        try:
            found = await self.rpc.ledger_entries(setting_keys())
        except RpcUnavailable:
            return None
        settings = read_network_settings({entry.key: entry.data for entry in found.entries})
        return None if settings is None else room_for(settings.ledger, TYPICAL)


@asynccontextmanager
async def channel_tools(
    settings: Settings, own: NetworkSettings, url: Secret[str], tell: Callable[[str], None]
) -> AsyncIterator[ChannelTools]:
    """Everything that changes channels, open inside this context.

    Raises:
        BadSigner: the relayer's seed cannot be used.
        ChannelsRefused: the node's authority cannot be read.
    """
    clock = SystemClock()
    relayer = read_signers(own.relayer_secret, own.paymaster_secret).relayer
    bid = min(_BID, own.max_inclusion_fee)
    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(Database(url, connections=4))
        rpc = await opened.enter_async_context(operator_node(settings, own))
        ledgers = LedgerClock(own.network, rpc, clock)
        watcher = LedgerWatcher(rpc, ledgers, clock, idle_s=_LOOK_S)
        await opened.enter_async_context(running_watcher(watcher))
        submitter = Submitter(rpc, watcher, clock, poll_s=_POLL_S, deliver_s=_DELIVER_S)
        terms = Terms(bid=bid, life_s=settings.transaction_life_s)
        ledger = OperatorLedger(own.network, rpc, submitter, clock, terms)
        keeper = ChannelKeeper(own.network, relayer, ledger, database, clock, bid=bid, tell=tell)
        yield ChannelTools(keeper, ledger, rpc)


def operator_node(settings: Settings, own: NetworkSettings) -> HttpSorobanRpc:
    """The node that a command of the operator's asks.

    Raises:
        ChannelsRefused: its authority cannot be read.
    """
    timeout_s, authority = settings.rpc_timeout_s, own.rpc_authority
    try:
        return HttpSorobanRpc(own.network, own.rpc_url, timeout_s=timeout_s, authority=authority)
    except OSError as error:  # ssl.SSLError is one
        raise ChannelsRefused(f"{authority} is no PEM file of an authority.") from error


@asynccontextmanager
async def running_watcher(watcher: LedgerWatcher) -> AsyncIterator[None]:
    """The watcher looks at ledgers inside this context."""
    looking = asyncio.create_task(watcher.run())
    try:
        yield
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
