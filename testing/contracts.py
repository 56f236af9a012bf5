"""Create accounts and contracts on a devnet, and submit operations, by the public SDK."""

import asyncio
import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import aiohttp
import requests
from stellar_sdk import Account, Keypair, SorobanServer, StrKey, TransactionBuilder, scval, xdr
from stellar_sdk.client.requests_client import RequestsClient
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionResponse, GetTransactionStatus

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from testing.machine import ROOT, RunFailed

Entry = xdr.SorobanAuthorizationEntry
WASM: Final = ROOT / "contracts" / "wasm"
_FEE: Final = 100_000
_LOOKS: Final = 400
_LOOK_S: Final = 0.1


async def ask_friendbot(rpc_url: str, address: str, *, authority: Path | None = None) -> None:
    """Create an account on the ledger; `authority` is the node's own one.

    Raises:
        RunFailed: friendbot did not.
    """
    url, trusted = f"{rpc_url.rstrip('/')}/friendbot", trust_in(authority)
    async with (
        aiohttp.ClientSession(trust_env=False) as session,
        session.get(url, params={"addr": address}, ssl=trusted) as answer,
    ):
        if answer.status != 200:
            raise RunFailed(f"friendbot answered {answer.status}")


def trust_in(authority: Path | None) -> ssl.SSLContext | bool:
    """Return what aiohttp trusts: the authority alone, if there is one."""
    return ssl.create_default_context(cafile=authority) if authority else True


def open_server(rpc_url: str, authority: Path | None = None) -> SorobanServer:
    """Open a node by the SDK; it trusts the node's own authority, if there is one."""
    session = requests.Session()
    session.trust_env = False
    if authority is not None:
        session.verify = str(authority)
    return SorobanServer(rpc_url, RequestsClient(session=session))


async def deploy_keeper(
    rpc_url: str, deployer: Keypair, *, authority: Path | None = None
) -> Address:
    """Deploy a keeper that anybody may run at any time; return its address.

    Raises:
        RunFailed: as `submit`.
    """
    wasm = (WASM / "keeper.wasm").read_bytes()
    arguments = (scval.to_bool(False), scval.to_uint64(0))

    def deploy() -> str:
        with open_server(rpc_url, authority) as server:
            return deploy_contract(server, Network.TESTNET, deployer, wasm, *arguments)

    return Address(await asyncio.to_thread(deploy))


def submit(
    server: SorobanServer,
    network: Network,
    source: Keypair,
    signers: Sequence[Keypair],
    *build: Callable[[TransactionBuilder], object],
) -> GetTransactionResponse:
    """Submit these operations in one transaction of `source`, and wait until it has landed.

    Raises:
        RunFailed: it failed, or did not land.
    """
    account = server.load_account(source.public_key)
    builder = TransactionBuilder(account, network.passphrase, base_fee=_FEE)
    builder.set_timeout(300)
    for add in build:
        add(builder)
    envelope = builder.build()
    if envelope.transaction.is_soroban_transaction():
        envelope = server.prepare_transaction(envelope)
    for key in signers:
        envelope.sign(key)
    sent = server.send_transaction(envelope)
    for _ in range(_LOOKS):
        found = server.get_transaction(sent.hash)
        if found.status == GetTransactionStatus.SUCCESS:
            return found
        if found.status == GetTransactionStatus.FAILED:
            break
        time.sleep(_LOOK_S)
    raise RunFailed(f"a transaction did not land on {network.value}: {sent}")


def deploy_contract(
    server: SorobanServer, network: Network, deployer: Keypair, wasm: bytes, *arguments: xdr.SCVal
) -> str:
    """Upload a contract and create an instance of it; return its address.

    Raises:
        RunFailed: as `submit`.
    """

    def upload(builder: TransactionBuilder) -> object:
        return builder.append_upload_contract_wasm_op(wasm)

    wasm_hash = return_value(submit(server, network, deployer, [deployer], upload)).bytes
    if wasm_hash is None:
        raise RunFailed("the network returned no hash of the code")

    def create(builder: TransactionBuilder) -> object:
        code, by = wasm_hash.sc_bytes, deployer.public_key
        return builder.append_create_contract_op(code, by, list(arguments))

    return contract_of(return_value(submit(server, network, deployer, [deployer], create)))


def operation_of(append: Callable[[TransactionBuilder], object]) -> Operation:
    """Return the operation that `append` gives to a builder."""
    builder = TransactionBuilder(Account(Keypair.random().public_key, 0))
    append(builder)
    return builder.operations[0]


def call(
    contract: str, function: str, args: Sequence[xdr.SCVal], auth: Sequence[Entry] = ()
) -> Operation:
    """A call of a contract with authorizations."""
    return operation_of(
        lambda b: b.append_invoke_contract_function_op(contract, function, args, list(auth))
    )


def contract_of(value: xdr.SCVal) -> str:
    """Read the contract that a value names.

    Raises:
        RunFailed: it names none.
    """
    if value.address is None or value.address.contract_id is None:
        raise RunFailed("the network returned no address of the contract")
    return StrKey.encode_contract(value.address.contract_id.contract_id.hash)


def return_value(found: GetTransactionResponse) -> xdr.SCVal:
    """Read the return value of a successful invocation.

    Raises:
        RunFailed: there is none.
    """
    meta = xdr.TransactionMeta.from_xdr(found.result_meta_xdr or "").v4
    if meta is None or meta.soroban_meta is None or meta.soroban_meta.return_value is None:
        raise RunFailed("the network returned no result of an invocation")
    return meta.soroban_meta.return_value
