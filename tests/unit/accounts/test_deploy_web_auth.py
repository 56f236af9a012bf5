"""What is deployed is deployed once, and nothing is sent that the network would not take."""

import hashlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Final

import pytest
from stellar_sdk import Keypair

from farebox.accounts.deploy_web_auth import (
    DeployRefused,
    Turn,
    WebAuthDeployment,
    contract_from,
)
from farebox.kernel.addresses import Address
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from farebox.stellar.contract_instance import instance_key
from farebox.stellar.contract_operations import code_key
from farebox.stellar.rpc import LedgerEntries, LedgerEntry, RawSimulation, RpcUnavailable
from farebox.stellar.splice import SignedTransaction
from support.manual_clock import ManualClock
from support.web_auth import relayer_of

NETWORK: Final = Network.TESTNET
PAYER: Final = relayer_of(Keypair.random())
SIGNER: Final = relayer_of(Keypair.random())
CODE: Final = code_key(
    hashlib.sha256((files("farebox.accounts") / "web_auth.wasm").read_bytes()).digest()
)
PLACE: Final = instance_key(contract_from(NETWORK, PAYER.address))
ALL: Final = (CODE, PLACE, account_key(SIGNER.address))


class Ledger:
    """A network that refuses to simulate, or is away; what is on it was there before."""

    def __init__(self, *keys: bytes, is_away: bool = False) -> None:
        self._keys, self._is_away = keys, is_away
        self.landed: list[str] = []

    async def simulate(self, envelope: str) -> RawSimulation:
        """Nothing may be done."""
        assert envelope
        return RawSimulation({"latestLedger": 5, "error": "HostError: no"}, 0)

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """Those that are there."""
        if self._is_away:
            raise RpcUnavailable(NETWORK, "away", certainly_not_sent=True)
        return LedgerEntries(
            tuple(LedgerEntry(key, b"", 77) for key in keys if key in self._keys), 5
        )

    async def land(
        self, source: Address, make: Callable[[Turn], SignedTransaction], *, doing: str
    ) -> None:
        """It is noted and does nothing."""
        assert make(Turn(1, 2, 3)).hash
        assert source == PAYER.address
        self.landed.append(doing)


def _deployment(ledger: Ledger) -> WebAuthDeployment:
    return WebAuthDeployment(NETWORK, PAYER, ledger, ledger, ManualClock(), lambda line: None)


@pytest.mark.parametrize("there", [ALL, ALL[1:]], ids=["all", "code of another deployment"])
async def test_where_everything_is_there_nothing_is_sent(there: tuple[bytes, ...]) -> None:
    ledger = Ledger(*there)
    deployed = await _deployment(ledger).deploy(SIGNER)
    assert (deployed.was_there, deployed.live_until_ledger) == (True, 77)
    assert deployed.contract == contract_from(NETWORK, PAYER.address)
    assert ledger.landed == []


async def test_what_the_network_would_not_do_is_not_sent() -> None:
    ledger = Ledger()
    with pytest.raises(DeployRefused, match="nothing was sent"):
        await _deployment(ledger).deploy(SIGNER)
    assert ledger.landed == []


async def test_while_the_node_is_away_nothing_is_sent() -> None:
    ledger = Ledger(is_away=True)
    with pytest.raises(RpcUnavailable):
        await _deployment(ledger).deploy(None)
    assert ledger.landed == []


async def test_what_landed_and_is_not_shown_is_said_to_be_unknown() -> None:
    ledger = Ledger(CODE, PLACE)
    with pytest.raises(Outage, match="repeat this"):
        await _deployment(ledger).deploy(SIGNER)
    assert ledger.landed == ["create the account that signs challenges"]


def test_each_payer_and_network_has_a_contract_of_its_own() -> None:
    made = {contract_from(network, each.address) for network in Network for each in (PAYER, SIGNER)}
    assert len(made) == 4
