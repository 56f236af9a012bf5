"""The composition root of what wallets need: signing a payment, and reading the ledgers."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from farebox.app.assembly import Loop
from farebox.app.lifespan import restart_on_failure
from farebox.app.network_services import NetworkServices
from farebox.explorer.http import explorer_endpoints
from farebox.explorer.ledger_reads import LedgerReads
from farebox.explorer.read_account import AccountReader
from farebox.explorer.read_contract import ContractReader
from farebox.explorer.read_networks import NetworksReader, ObservedNetwork
from farebox.facilitator.budgets.mean_fees import MeanFees
from farebox.facilitator.verification.verify import Verifier
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.signing.complete import Completion
from farebox.signing.http import signing_endpoints
from farebox.signing.prepare import Preparation, SigningNetwork
from farebox.storage.pool import Database
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class WalletServices:
    """The constructed routes and the loop of the mean fees; nothing runs yet."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_wallets(
    networks: Mapping[Network, NetworkServices], background: Database, clock: Clock
) -> WalletServices:
    """Build the routes of signing and of the ledgers; `background` is the loop's pool."""
    fees = MeanFees(background, clock, tuple(networks))
    return WalletServices(
        [*_signing(networks, clock), *_explorer(networks, fees)],
        [restart_on_failure(Loop("mean fees", fees.run), clock)],
    )


def _signing(networks: Mapping[Network, NetworkServices], clock: Clock) -> list[Endpoint]:
    verified = {name: each.verified for name, each in networks.items()}
    judge = Verifier(verified, clock)
    signing = {name: SigningNetwork(each.rules, each.ledgers) for name, each in verified.items()}
    return signing_endpoints(Preparation(judge, signing), Completion(judge, signing))


def _explorer(networks: Mapping[Network, NetworkServices], fees: MeanFees) -> list[Endpoint]:
    observed = {
        name: ObservedNetwork(each.ledgers, each.part.state, each.part)
        for name, each in networks.items()
    }
    ledgers = {name: LedgerReads(name, each.rpc) for name, each in networks.items()}
    return explorer_endpoints(
        NetworksReader(observed, fees),
        {name: AccountReader(name, each) for name, each in ledgers.items()},
        {name: ContractReader(name, each) for name, each in ledgers.items()},
    )
