"""The accounts of sign-ins, created on a devnet by the public SDK."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from stellar_sdk import (
    Account,
    Keypair,
    Signer,
    SorobanServer,
    StrKey,
    TransactionBuilder,
    scval,
    xdr,
)
from stellar_sdk.soroban_rpc import GetTransactionResponse, GetTransactionStatus

from e2e.machine import ROOT, RunFailed
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet

SMART_WALLET: Final = ROOT / "contracts" / "wasm" / "smart_wallet.wasm"
_LOOKS: Final = 400
_LOOK_S: Final = 0.1


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
        self._submit(master, [master], *operations)
        removed = Signer.ed25519_public_key(third.public_key, 0)
        self._submit(master, [first, second], lambda b: b.append_set_options_op(signer=removed))
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
        self._submit(
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
        wasm = SMART_WALLET.read_bytes()
        uploaded = self._submit(
            deployer, [deployer], lambda b: b.append_upload_contract_wasm_op(wasm)
        )
        wasm_hash = _return_value(uploaded).bytes
        if wasm_hash is None:
            raise RunFailed("the network returned no hash of the code")
        arguments = [scval.to_bytes(key.raw_public_key())]
        created = self._submit(
            deployer,
            [deployer],
            lambda b: b.append_create_contract_op(
                wasm_hash.sc_bytes, deployer.public_key, arguments
            ),
        )
        address = _return_value(created).address
        if address is None or address.contract_id is None:
            raise RunFailed("the network returned no address of the contract")
        account = StrKey.encode_contract(address.contract_id.contract_id.hash)
        return [
            Login("contract", Kind.CONTRACT, account, (key,)),
            Login("contract, stranger", Kind.CONTRACT, account, (stranger,), must_succeed=False),
        ]

    def latest_ledger(self) -> int:
        """Read the number of the last closed ledger."""
        return self._server.get_latest_ledger().sequence

    def _submit(
        self,
        source: Keypair,
        signers: list[Keypair],
        *build: Callable[[TransactionBuilder], object],
    ) -> GetTransactionResponse:
        account: Account = self._server.load_account(source.public_key)
        builder = TransactionBuilder(account, self._network.passphrase, base_fee=100_000)
        builder.set_timeout(300)
        for add in build:
            add(builder)
        envelope = builder.build()
        if envelope.transaction.is_soroban_transaction():
            envelope = self._server.prepare_transaction(envelope)
        for key in signers:
            envelope.sign(key)
        sent = self._server.send_transaction(envelope)
        for _ in range(_LOOKS):
            found = self._server.get_transaction(sent.hash)
            if found.status == GetTransactionStatus.SUCCESS:
                return found
            if found.status == GetTransactionStatus.FAILED:
                break
            time.sleep(_LOOK_S)
        raise RunFailed(f"an account could not be set up on {self._network.value}: {sent}")


def _return_value(found: GetTransactionResponse) -> xdr.SCVal:
    """Read the return value of a successful invocation."""
    meta = xdr.TransactionMeta.from_xdr(found.result_meta_xdr or "").v4
    if meta is None or meta.soroban_meta is None or meta.soroban_meta.return_value is None:
        raise RunFailed("the network returned no result of an invocation")
    return meta.soroban_meta.return_value
