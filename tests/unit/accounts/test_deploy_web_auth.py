"""The web-auth contract is deployed once; no transaction is sent that the network would refuse."""

import hashlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Final

import pytest
from stellar_sdk import Keypair

from farebox.accounts.deploy_web_auth import WebAuthDeployment, deployed_address
from farebox.kernel.addresses import Address
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from farebox.stellar.contract_deployment import (
    ContractDeployment,
    DeployRefused,
    TransactionParameters,
)
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.contract_operations import code_key
from farebox.stellar.rpc import LedgerEntries, LedgerEntry, RawSimulation, RpcUnavailable
from farebox.stellar.transactions import SignedTransaction
from support.fake_rpc import FakeRpc
from support.manual_clock import ManualClock
from support.web_auth import relayer_of

NETWORK: Final = Network.TESTNET
PAYER: Final = relayer_of(Keypair.random())
SIGNER: Final = relayer_of(Keypair.random())
CODE: Final = code_key(
    hashlib.sha256((files("farebox.accounts") / "web_auth.wasm").read_bytes()).digest()
)
PLACE: Final = instance_key(deployed_address(NETWORK, PAYER.address))
ALL: Final = (CODE, PLACE, account_key(SIGNER.address))


class Ledger(FakeRpc):
    """A network that holds the entries named, and refuses every simulation or is unavailable."""

    def __init__(self, *keys: bytes, is_away: bool = False) -> None:
        self._keys, self._is_away = keys, is_away
        self.landed: list[str] = []

    async def simulate(self, envelope: str) -> RawSimulation:
        """Refuse the simulation."""
        assert envelope
        return RawSimulation({"latestLedger": 5, "error": "HostError: no"})

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """Return the entries that exist."""
        if self._is_away:
            raise RpcUnavailable(NETWORK, "away", certainly_not_sent=True)
        return LedgerEntries(
            tuple(LedgerEntry(key, b"", 77) for key in keys if key in self._keys), 5
        )

    async def land(
        self,
        source: Address,
        make: Callable[[TransactionParameters], SignedTransaction],
        *,
        action: str,
    ) -> None:
        """Record the action and change nothing."""
        assert make(TransactionParameters(1, 2, 3)).hash
        assert source == PAYER.address
        self.landed.append(action)


def _deployment(ledger: Ledger) -> WebAuthDeployment:
    contracts = ContractDeployment(NETWORK, PAYER, ledger, ledger, ManualClock(), lambda line: None)
    return WebAuthDeployment(contracts)


@pytest.mark.parametrize("there", [ALL, ALL[1:]], ids=["all", "code of another deployment"])
async def test_deploy_sends_nothing_when_everything_exists(there: tuple[bytes, ...]) -> None:
    ledger = Ledger(*there)
    deployed = await _deployment(ledger).deploy(SIGNER)
    assert (deployed.existed, deployed.live_until_ledger) == (True, 77)
    assert deployed.contract == deployed_address(NETWORK, PAYER.address)
    assert ledger.landed == []


async def test_deploy_sends_nothing_when_the_simulation_is_refused() -> None:
    ledger = Ledger()
    with pytest.raises(DeployRefused, match="nothing was sent"):
        await _deployment(ledger).deploy(SIGNER)
    assert ledger.landed == []


async def test_deploy_sends_nothing_while_the_node_is_unavailable() -> None:
    ledger = Ledger(is_away=True)
    with pytest.raises(RpcUnavailable):
        await _deployment(ledger).deploy(None)
    assert ledger.landed == []


async def test_deploy_reports_unknown_when_a_landed_account_is_not_visible() -> None:
    ledger = Ledger(CODE, PLACE)
    with pytest.raises(Outage, match="repeat the command"):
        await _deployment(ledger).deploy(SIGNER)
    assert ledger.landed == ["create the account that signs challenges"]


def test_deployed_address_differs_per_payer_and_network() -> None:
    made = {
        deployed_address(network, each.address) for network in Network for each in (PAYER, SIGNER)
    }
    assert len(made) == 4
