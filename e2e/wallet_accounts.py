"""The accounts of sign-ins, created on a devnet by the public SDK."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from stellar_sdk import Keypair, Signer, SorobanServer, TransactionBuilder, scval

from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet
from testing.contracts import deploy_contract, submit
from testing.machine import ROOT

SMART_WALLET: Final = ROOT / "contracts" / "wasm" / "smart_wallet.wasm"


class Kind(StrEnum):
    """The kind of an account."""

    SINGLE = "single key"
    MULTISIG = "two of three keys"
    ABSENT = "not on the ledger"
    CONTRACT = "contract"


@dataclass(frozen=True, slots=True)
class Login:
    """An attempt to sign in, and whether it must succeed."""

    name: str
    kind: Kind
    account: str
    keys: tuple[Keypair, ...] = field(repr=False)
    must_succeed: bool = True


class AccountFactory:
    """Creates accounts on one network; every call waits for the ledger."""

    def __init__(self, network: Network, devnet: Devnet) -> None:
        self._network = network
        self._server = SorobanServer(devnet.rpc_url)
        self._friendbot = f"{devnet.rpc_url.rstrip('/')}/friendbot"

    def logins(self, funded: Callable[[], Keypair]) -> list[Login]:
        """Build attempts of each kind that must succeed, and those that must fail."""
        single, absent, stranger = funded(), Keypair.random(), Keypair.random()
        return [
            Login("one key", Kind.SINGLE, single.public_key, (single,)),
            Login("no key of it", Kind.SINGLE, single.public_key, (stranger,), must_succeed=False),
            Login("absent", Kind.ABSENT, absent.public_key, (absent,)),
            Login("absent, stranger", Kind.ABSENT, absent.public_key, (stranger,), False),
            *self._multisig_logins(funded()),
            *self._weightless_master_logins(funded()),
            *self._contract_logins(funded()),
        ]

    def _multisig_logins(self, master: Keypair) -> list[Login]:
        """Build attempts with a two-of-three account whose third signer was removed."""
        first, second, third = (Keypair.random() for _ in range(3))
        operations: list[Callable[[TransactionBuilder], object]] = [
            lambda b, key=key: b.append_set_options_op(  # type: ignore[misc]  # bound now
                signer=Signer.ed25519_public_key(key.public_key, 1)
            )
            for key in (first, second, third)
        ]
        operations.append(
            lambda b: b.append_set_options_op(
                master_weight=0, low_threshold=2, med_threshold=2, high_threshold=2
            )
        )
        submit(self._server, self._network, master, [master], *operations)
        removed = Signer.ed25519_public_key(third.public_key, 0)
        submit(
            self._server,
            self._network,
            master,
            [first, second],
            lambda b: b.append_set_options_op(signer=removed),
        )
        address = master.public_key
        return [
            Login("two of them", Kind.MULTISIG, address, (second, first)),
            Login("one of them", Kind.MULTISIG, address, (first,), must_succeed=False),
            Login(
                "one and one removed", Kind.MULTISIG, address, (first, third), must_succeed=False
            ),
            Login(
                "one and the master", Kind.MULTISIG, address, (first, master), must_succeed=False
            ),
        ]

    def _weightless_master_logins(self, master: Keypair) -> list[Login]:
        """Build attempts with thresholds of 0 and a master key without weight."""
        other = Keypair.random()
        submit(
            self._server,
            self._network,
            master,
            [master],
            lambda b: b.append_set_options_op(
                signer=Signer.ed25519_public_key(other.public_key, 1)
            ),
            lambda b: b.append_set_options_op(master_weight=0),
        )
        return [
            Login("its other key", Kind.SINGLE, master.public_key, (other,)),
            Login(
                "weightless master", Kind.SINGLE, master.public_key, (master,), must_succeed=False
            ),
        ]

    def _contract_logins(self, deployer: Keypair) -> list[Login]:
        key, stranger = Keypair.random(), Keypair.random()
        account = deploy_contract(
            self._server,
            self._network,
            deployer,
            SMART_WALLET.read_bytes(),
            scval.to_bytes(key.raw_public_key()),
        )
        return [
            Login("contract", Kind.CONTRACT, account, (key,)),
            Login("contract, stranger", Kind.CONTRACT, account, (stranger,), must_succeed=False),
        ]

    def latest_ledger(self) -> int:
        """Read the number of the last closed ledger."""
        return self._server.get_latest_ledger().sequence
