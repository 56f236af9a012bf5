"""The composition root of the commands that deploy contracts."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from farebox.accounts.deploy_web_auth import WebAuthDeployment, deployed_address
from farebox.app.channel_tools import operator_ledger
from farebox.app.settings import NetworkSettings, Settings
from farebox.facilitator.channels.operator_ledger import OperatorLedger, OutcomeUnknown
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.contract_deployment import (
    ContractDeployment,
    DeployRefused,
    TransactionParameters,
)
from farebox.stellar.signers import SigningAccount, read_signers
from farebox.stellar.transactions import SignedTransaction

_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class AuthTools:
    """The deployment and the ledger that it uses."""

    deployment: WebAuthDeployment
    ledger: OperatorLedger


class OperatorSender:
    """Sends the transactions of an account one after the other."""

    def __init__(self, ledger: OperatorLedger) -> None:
        self._ledger = ledger

    async def land(
        self,
        source: Address,
        make: Callable[[TransactionParameters], SignedTransaction],
        *,
        action: str,
    ) -> None:
        """Send the transaction and wait until it is on the ledger.

        Raises:
            ChannelsRefused: the network refuses it.
            DeployRefused: the account does not exist.
            OutcomeUnknown: it may still land.
            Outage: nothing was sent.
        """

        def signed(*, sequence: int, inclusion_fee: int, max_time: int) -> SignedTransaction:
            return make(TransactionParameters(sequence, max_time, inclusion_fee))

        for remaining in reversed(range(_ATTEMPTS)):
            landed = await self._ledger.attempt(
                source, signed, purpose=action, is_last=remaining == 0
            )
            if landed is None:
                raise DeployRefused(f"The account that pays, {source}, does not exist.")
            if landed:
                return


def contract_of_payer(network: Network, payer: Secret[str]) -> Address:
    """The address of the web-auth contract that the account of this seed deploys."""
    return deployed_address(network, read_signers(payer, None).relayer.address)


async def deploy_at_start(settings: Settings, network: Network) -> Address:
    """Deploy the contract and create the signing account, paid by the relayer.

    Raises:
        Refusal: the network refuses a transaction.
        Outage: the node is unavailable, or the outcome of a transaction is unknown.
    """
    own, secret = settings.networks[network], settings.sign_in.signing_secret
    payer = read_signers(own.relayer_secret, None).relayer
    signer = None if secret is None else read_signers(secret, None).relayer
    async with auth_tools(settings, own, payer, lambda line: None) as tools:
        try:
            return (await tools.deployment.deploy(signer)).contract
        except OutcomeUnknown as unknown:
            raise Outage(network.value, "a transaction may still land") from unknown


@asynccontextmanager
async def auth_tools(
    settings: Settings, own: NetworkSettings, payer: SigningAccount, report: Callable[[str], None]
) -> AsyncIterator[AuthTools]:
    """The tools, open inside this context; `payer` pays and deploys.

    Raises:
        ChannelsRefused: the node's authority cannot be read.
    """
    async with contract_tools(settings, own, payer, report) as (contracts, ledger):
        yield AuthTools(WebAuthDeployment(contracts), ledger)


@asynccontextmanager
async def contract_tools(
    settings: Settings, own: NetworkSettings, payer: SigningAccount, report: Callable[[str], None]
) -> AsyncIterator[tuple[ContractDeployment, OperatorLedger]]:
    """A deployment of contracts and its ledger; as `auth_tools`."""
    clock = SystemClock()
    async with operator_ledger(settings, own, clock) as (rpc, ledger):
        sender = OperatorSender(ledger)
        yield ContractDeployment(own.network, payer, rpc, sender, clock, report), ledger
