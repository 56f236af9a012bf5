"""The composition root of the auth command: what puts the web-auth contract on a network."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from farebox.accounts.deploy_web_auth import (
    DeployRefused,
    Turn,
    WebAuthDeployment,
    contract_from,
)
from farebox.app.channel_tools import operator_node, running_watcher
from farebox.app.settings import NetworkSettings, Settings
from farebox.facilitator.channels.operator_ledger import (
    OperatorLedger,
    OutcomeUnknown,
    Terms,
    succeeded,
)
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.signers import Relayer, read_signers
from farebox.stellar.splice import SignedTransaction
from farebox.submission.submit import Submitter
from farebox.submission.watch import LedgerWatcher

_POLL_S: Final = 0.5
_DELIVER_S: Final = 20.0  # the relayer may have another transaction on its way meanwhile
_LOOK_S: Final = 0.5
_BID: Final = 10_000  # stroops an operation; the network takes what a place costs
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class AuthTools:
    """The deployment, and the ledger it is made on."""

    deployment: WebAuthDeployment
    ledger: OperatorLedger


class OperatorSender:
    """Brings an account's transactions to the ledger, one after the other."""

    def __init__(self, ledger: OperatorLedger, *, bid: int) -> None:
        self._ledger, self._bid = ledger, bid

    async def land(
        self, source: Address, make: Callable[[Turn], SignedTransaction], *, doing: str
    ) -> None:
        """It took effect.

        Raises:
            ChannelsRefused: the network does not take it.
            DeployRefused: the account does not exist.
            OutcomeUnknown: it may still land.
            Outage: nothing was sent.
        """
        for left in reversed(range(_TRIES)):
            used = await self._ledger.used_sequence(source)
            if used is None:
                raise DeployRefused(f"The account that pays, {source}, does not exist.")
            now = await self._ledger.now()
            signed = make(Turn(used + 1, self._ledger.max_time(now), self._bid))
            fate = await self._ledger.land(signed, source, used + 1, now)
            if succeeded(fate):
                return
            self._ledger.judge(fate, signed.hash, is_last=left == 0, doing=doing)


def contract_of_payer(network: Network, payer: Secret[str]) -> Address:
    """Where the web-auth contract will be that the account of this seed deploys."""
    return contract_from(network, read_signers(payer, None).relayer.address)


async def deploy_at_start(settings: Settings, network: Network) -> Address:
    """The contract and the signing account are on the ledger, paid by the relayer.

    Raises:
        Refusal: the network does not take it.
        Outage: the node is away, or has not shown what became of it.
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
    settings: Settings, own: NetworkSettings, payer: Relayer, tell: Callable[[str], None]
) -> AsyncIterator[AuthTools]:
    """Everything that deploys, open inside this context; `payer` pays and deploys.

    Raises:
        ChannelsRefused: the node's authority cannot be read.
    """
    clock = SystemClock()
    bid = min(_BID, own.max_inclusion_fee)
    async with AsyncExitStack() as opened:
        rpc = await opened.enter_async_context(operator_node(settings, own))
        watcher = LedgerWatcher(rpc, LedgerClock(own.network, rpc, clock), clock, idle_s=_LOOK_S)
        await opened.enter_async_context(running_watcher(watcher))
        submitter = Submitter(rpc, watcher, clock, poll_s=_POLL_S, deliver_s=_DELIVER_S)
        terms = Terms(bid=bid, life_s=settings.transaction_life_s)
        ledger = OperatorLedger(own.network, rpc, submitter, clock, terms)
        sender = OperatorSender(ledger, bid=bid)
        yield AuthTools(WebAuthDeployment(own.network, payer, rpc, sender, clock, tell), ledger)
