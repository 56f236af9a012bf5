"""The composition root of automation on a local network: its contracts, and the run channels."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from farebox.app.auth_tools import OperatorSender
from farebox.app.channel_tools import ChannelPurpose, channel_tools, operator_ledger
from farebox.app.settings import Settings
from farebox.automation.sessions.deploy_contracts import (
    DEPLOYED,
    contract_at,
    deploy_contract,
    upload_mandate,
)
from farebox.facilitator.channels.operator_ledger import OutcomeUnknown
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.contract_deployment import ContractDeployment
from farebox.stellar.signers import read_signers

SESSION_PAYERS = len(DEPLOYED)


def session_settings(network: Network, payers: Sequence[Address]) -> dict[str, str]:
    """The settings that name the contracts of sessions, each deployed by another account."""
    return {
        f"FAREBOX_{contract.setting}_{network.label.upper()}": contract_at(network, payer, contract)
        for contract, payer in zip(DEPLOYED, payers, strict=True)
    }


async def deploy_sessions(deployments: Sequence[ContractDeployment]) -> None:
    """Deploy the contracts of sessions at once, from the accounts of `session_settings`.

    Raises:
        Refusal: the network refuses a transaction.
        Outage: the node is unavailable.
    """
    pairs = zip(deployments, DEPLOYED, strict=True)
    await asyncio.gather(*(deploy_contract(by, contract) for by, contract in pairs))
    await upload_mandate(deployments[0])


@asynccontextmanager
async def contract_deployments(
    settings: Settings, network: Network, payers: Sequence[Secret[str]]
) -> AsyncIterator[list[ContractDeployment]]:
    """A deployment for each account (its seed) that pays, open inside this context.

    Raises:
        Outage: the outcome of a transaction is unknown.
    """
    own, clock = settings.networks[network], SystemClock()
    signers = [read_signers(payer, None).relayer for payer in payers]
    async with operator_ledger(settings, own, clock) as (rpc, ledger):
        sender = OperatorSender(ledger)
        try:
            yield [
                ContractDeployment(network, signer, rpc, sender, clock, lambda line: None)
                for signer in signers
            ]
        except OutcomeUnknown as unknown:
            raise Outage(network.value, "a transaction may still land") from unknown


async def create_run_channels(
    settings: Settings, network: Network, database: Secret[str], count: int
) -> None:
    """Give the paymaster so many channels; the database has the tables.

    Raises:
        Refusal: the network refuses a transaction.
        Outage: the node or the database is unavailable, or an outcome is unknown.
    """
    own, purpose = settings.networks[network], ChannelPurpose.AUTOMATION
    async with channel_tools(settings, own, database, lambda line: None, purpose=purpose) as tools:
        try:
            await tools.maintenance.create(count)
        except OutcomeUnknown as unknown:
            raise Outage(network.value, "a transaction may still land") from unknown
