"""The accounts that a run signs in with, made on a devnet by the public SDK."""

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
    """What speaks for an account."""

    SINGLE = "single key"
    MULTISIG = "two of three keys"
    ABSENT = "not on the ledger"
    CONTRACT = "contract"


@dataclass(frozen=True, slots=True)
class Login:
    """Somebody who tries to sign in, and whether that must succeed."""

    name: str
    kind: Kind
    account: str
    keys: tuple[Keypair, ...] = field(repr=False)
    is_welcome: bool = True


class Holder:
    """Makes accounts on one network; every call waits for the ledger."""

    def __init__(self, network: Network, devnet: Devnet) -> None:
        self._network = network
        self._server = SorobanServer(devnet.rpc_url)
        self._friendbot = f"{devnet.rpc_url.rstrip('/')}/friendbot"

    def logins(self, funded: Callable[[], Keypair]) -> list[Login]:
        """One of each kind that must get in, and those that must not."""
        single, absent, stranger = funded(), Keypair.random(), Keypair.random()
        return [
            Login("one key", Kind.SINGLE, single.public_key, (single,)),
            Login("no key of it", Kind.SINGLE, single.public_key, (stranger,), is_welcome=False),
            Login("absent", Kind.ABSENT, absent.public_key, (absent,)),
            Login("absent, stranger", Kind.ABSENT, absent.public_key, (stranger,), False),
            *self._shared(funded()),
            *self._abandoned(funded()),
            *self._contract(funded()),
        ]

    def _shared(self, master: Keypair) -> list[Login]:
        """Two of three; then the third is removed."""
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
        gone = Signer.ed25519_public_key(third.public_key, 0)
        self._submit(master, [first, second], lambda b: b.append_set_options_op(signer=gone))
        address = master.public_key
        return [
            Login("two of them", Kind.MULTISIG, address, (second, first)),
            Login("one of them", Kind.MULTISIG, address, (first,), is_welcome=False),
            Login("one and one removed", Kind.MULTISIG, address, (first, third), is_welcome=False),
            Login("one and the master", Kind.MULTISIG, address, (first, master), is_welcome=False),
        ]

    def _abandoned(self, master: Keypair) -> list[Login]:
        """Thresholds of 0 and a master key that weighs nothing: it reaches 0, and is no signer."""
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
            Login("weightless master", Kind.SINGLE, master.public_key, (master,), is_welcome=False),
        ]

    def _contract(self, deployer: Keypair) -> list[Login]:
        key, stranger = Keypair.random(), Keypair.random()
        wasm = SMART_WALLET.read_bytes()
        uploaded = self._submit(
            deployer, [deployer], lambda b: b.append_upload_contract_wasm_op(wasm)
        )
        wasm_hash = _returned(uploaded).bytes
        if wasm_hash is None:
            raise RunFailed("the network told no hash of the code")
        obeyed = [scval.to_bytes(key.raw_public_key())]
        created = self._submit(
            deployer,
            [deployer],
            lambda b: b.append_create_contract_op(wasm_hash.sc_bytes, deployer.public_key, obeyed),
        )
        address = _returned(created).address
        if address is None or address.contract_id is None:
            raise RunFailed("the network told no address of the contract")
        account = StrKey.encode_contract(address.contract_id.contract_id.hash)
        return [
            Login("contract", Kind.CONTRACT, account, (key,)),
            Login("contract, stranger", Kind.CONTRACT, account, (stranger,), is_welcome=False),
        ]

    def latest_ledger(self) -> int:
        """The last closed ledger."""
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


def _returned(found: GetTransactionResponse) -> xdr.SCVal:
    """The value a successful invocation returned."""
    meta = xdr.TransactionMeta.from_xdr(found.result_meta_xdr or "").v4
    if meta is None or meta.soroban_meta is None or meta.soroban_meta.return_value is None:
        raise RunFailed("the network told no result of an invocation")
    return meta.soroban_meta.return_value
