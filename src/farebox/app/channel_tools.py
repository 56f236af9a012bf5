"""The composition root of the channels command, for one network."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.app.network_services import latest_close
from farebox.app.settings import NetworkSettings, Settings
from farebox.automation.paymaster import channel_store
from farebox.facilitator.channels import store
from farebox.facilitator.channels.channel import ChannelsRefused
from farebox.facilitator.channels.channel_table import ChannelTable
from farebox.facilitator.channels.ledger_capacity import TYPICAL, LedgerCapacity, compute_capacity
from farebox.facilitator.channels.maintain_channels import ChannelMaintenance
from farebox.facilitator.channels.operator_ledger import OperatorLedger
from farebox.kernel.clock import Clock, SystemClock
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.network_settings import read_network_settings, setting_keys
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.signers import SigningAccount, read_signers
from farebox.storage.pool import Database
from farebox.submission.submit import Submitter
from farebox.submission.watch import LedgerWatcher

_POLL_S: Final = 0.5
_DELIVER_S: Final = 20.0  # the relayer may have another pending transaction
_IDLE_S: Final = 0.5
_INCLUSION_FEE: Final = 10_000  # stroops an operation, at most


class ChannelPurpose(StrEnum):
    """What channel accounts are for; those of one purpose are never used for another."""

    SETTLEMENT = "settlement"
    AUTOMATION = "automation"


@dataclass(frozen=True, slots=True)
class ChannelTools:
    """The use case of channels with its ledger, node and database."""

    maintenance: ChannelMaintenance
    ledger: OperatorLedger
    rpc: HttpSorobanRpc
    database: Database

    async def room(self) -> LedgerCapacity | None:
        """The number of settlements that fit a ledger by the network's limits; None: unknown."""
        try:
            result = await self.rpc.ledger_entries(setting_keys())
        except RpcUnavailable:
            return None
        settings = read_network_settings({entry.key: entry.data for entry in result.entries})
        return None if settings is None else compute_capacity(settings.ledger, TYPICAL)


@asynccontextmanager
async def channel_tools(
    settings: Settings,
    own: NetworkSettings,
    url: Secret[str],
    report: Callable[[str], None],
    *,
    purpose: ChannelPurpose = ChannelPurpose.SETTLEMENT,
) -> AsyncIterator[ChannelTools]:
    """Everything that changes the channels of one purpose, open inside this context.

    Raises:
        BadSigner: a seed cannot be used.
        ChannelsRefused: there is no paymaster, or the node's authority cannot be read.
    """
    clock = SystemClock()
    payer, table = _payer(own, purpose)
    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(
            Database(url, connections=4, is_pooled=settings.connections.is_pooled)
        )
        rpc, ledger = await opened.enter_async_context(operator_ledger(settings, own, clock))
        maintenance = ChannelMaintenance(
            own.network, payer, ledger, database, clock, report=report, table=table
        )
        yield ChannelTools(maintenance, ledger, rpc, database)


def _payer(own: NetworkSettings, purpose: ChannelPurpose) -> tuple[SigningAccount, ChannelTable]:
    """The account from whose key the channels are derived, and the table they are in."""
    signers = read_signers(own.relayer_secret, own.paymaster_secret)
    if purpose is ChannelPurpose.SETTLEMENT:
        return signers.relayer, store
    if signers.paymaster is None:
        label = own.network.label.upper()
        raise ChannelsRefused(f"There is no paymaster: set FAREBOX_PAYMASTER_SECRET_{label}.")
    return signers.paymaster, channel_store


@asynccontextmanager
async def operator_ledger(
    settings: Settings, own: NetworkSettings, clock: Clock
) -> AsyncIterator[tuple[HttpSorobanRpc, OperatorLedger]]:
    """Open the node and the ledger of an operator command inside this context.

    Raises:
        ChannelsRefused: the node's authority cannot be read.
    """
    inclusion_fee, life_s = min(_INCLUSION_FEE, own.max_inclusion_fee), settings.transaction_life_s
    async with _node(settings, own, clock) as rpc:
        watcher = LedgerWatcher(rpc, LedgerClock(own.network, rpc, clock), clock, idle_s=_IDLE_S)
        async with _running(watcher):
            submitter = Submitter(rpc, watcher, clock, poll_s=_POLL_S, deliver_s=_DELIVER_S)
            yield (
                rpc,
                OperatorLedger(
                    own.network, rpc, submitter, clock, inclusion_fee=inclusion_fee, life_s=life_s
                ),
            )


def _node(settings: Settings, own: NetworkSettings, clock: Clock) -> HttpSorobanRpc:
    authority = own.rpc_authority
    try:
        return HttpSorobanRpc(
            own.network,
            own.rpc_url,
            timeout_s=settings.rpc_timeout_s,
            authority=authority,
            latest_close=latest_close(settings, clock),
        )
    except OSError as error:  # ssl.SSLError is one
        raise ChannelsRefused(f"{authority} is not a PEM file of certificates.") from error


@asynccontextmanager
async def _running(watcher: LedgerWatcher) -> AsyncIterator[None]:
    watching = asyncio.create_task(watcher.run())
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
