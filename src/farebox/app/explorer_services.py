"""The composition root of the reads of networks, accounts and contracts."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from farebox.app.assembly import Loop
from farebox.app.network_services import NetworkServices
from farebox.explorer.http import explorer_endpoints
from farebox.explorer.ledger_reads import LedgerReads
from farebox.explorer.read_account import AccountReader
from farebox.explorer.read_contract import ContractReader
from farebox.explorer.read_networks import NetworksReader, ServedNetwork
from farebox.facilitator.budgets.mean_fees import MeanFees
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class ExplorerServices:
    """The constructed routes; nothing runs."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop] = ()
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_explorer(
    networks: Mapping[Network, NetworkServices], reads: Database
) -> ExplorerServices:
    """Build the routes that read the ledgers; `reads` is the pool for the mean fee."""
    served = {
        name: ServedNetwork(each.ledgers, each.state, each.part) for name, each in networks.items()
    }
    ledgers = {name: LedgerReads(name, each.rpc) for name, each in networks.items()}
    return ExplorerServices(
        explorer_endpoints(
            NetworksReader(served, MeanFees(reads)),
            {name: AccountReader(name, each) for name, each in ledgers.items()},
            {name: ContractReader(name, each) for name, each in ledgers.items()},
        )
    )
