"""A client of a devnet by the public SDK, independent of Farebox."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Final, TypeVar

import aiohttp
import msgspec
from stellar_sdk import (
    Account,
    Asset,
    Keypair,
    SorobanServer,
    TransactionBuilder,
    TransactionEnvelope,
    scval,
    xdr,
)
from stellar_sdk.soroban_rpc import GetTransactionResponse, GetTransactionStatus

from farebox.kernel.networks import Network
from testing.contracts import call, contract_of, return_value
from testing.waiting import until, until_blocking

Json = dict[str, Any]
T = TypeVar("T")
_PAUSE_S: Final = 0.05  # a quarter of a ledger


class Ledger:
    """A client of one network."""

    def __init__(self, network: Network, rpc_url: str) -> None:
        self.network = network
        self.rpc_url = rpc_url
        self._server = SorobanServer(rpc_url)
        self._ids = itertools.count(1)
        self._kept: dict[tuple[bytes, ...], str] = {}

    async def call(self, method: str, params: Json | None = None) -> Json:
        """One JSON-RPC call; its result."""
        request = {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": method,
            "params": params or {},
        }
        async with (
            aiohttp.ClientSession(trust_env=False) as session,
            session.post(self.rpc_url, json=request) as answer,
        ):
            response = msgspec.json.decode(await answer.read(), type=Json)
        assert "result" in response, response
        return msgspec.convert(response["result"], Json)

    async def latest(self) -> int:
        """The last closed ledger."""
        return int((await self.call("getLatestLedger"))["sequence"])

    async def found(self, tx_hash: str) -> Json:
        """Return the result of getTransaction for a hash."""
        return await self.call("getTransaction", {"hash": tx_hash})

    async def fund(self, address: str) -> None:
        """Create an account with native coin, unless an earlier test has created it."""
        url = self.rpc_url.rstrip("/") + "/friendbot"
        async with (
            aiohttp.ClientSession(trust_env=False) as session,
            session.get(url, params={"addr": address}) as answer,
        ):
            text = await answer.text()
            assert answer.status == 200 or "createAccountAlreadyExist" in text, text

    async def account(self) -> Keypair:
        """A new account with native coin."""
        key = Keypair.random()
        await self.fund(key.public_key)
        return key

    async def wait_past(self, sequence: int) -> None:
        """Return once a ledger after `sequence` has closed."""

        async def has_closed() -> bool:
            return await self.latest() > sequence

        await until(has_closed)

    async def submit(
        self, key: Keypair, build: Callable[[TransactionBuilder], object]
    ) -> GetTransactionResponse:
        """Build on the key's account, simulate where the operation needs it, send, wait."""
        return await asyncio.to_thread(self._submit, key, build)

    def _submit(
        self, key: Keypair, build: Callable[[TransactionBuilder], object]
    ) -> GetTransactionResponse:
        builder = TransactionBuilder(self._load(key), self.network.passphrase, base_fee=1_000_000)
        builder.set_timeout(300)
        build(builder)
        envelope = builder.build()
        if envelope.transaction.is_soroban_transaction():
            envelope = self._server.prepare_transaction(envelope)
        envelope.sign(key)
        return self._deliver(envelope)

    def _load(self, key: Keypair) -> Account:
        return self._server.load_account(key.public_key)

    def _deliver(self, envelope: TransactionEnvelope) -> GetTransactionResponse:
        sent = self._server.send_transaction(envelope)
        assert sent.error_result_xdr is None, sent
        until_blocking(lambda: self._is_found(sent.hash), pause_s=_PAUSE_S)
        found = self._server.get_transaction(sent.hash)
        assert found.status == GetTransactionStatus.SUCCESS, found
        return found

    def _is_found(self, tx_hash: str) -> bool:
        return self._server.get_transaction(tx_hash).status != GetTransactionStatus.NOT_FOUND

    async def upload(self, key: Keypair, wasm: bytes) -> bytes:
        """Put a contract's code on the ledger, unless it is there; its hash."""
        wasm_hash = sha256(wasm).digest()
        code = xdr.LedgerKeyContractCode(xdr.Hash(wasm_hash))
        entry = xdr.LedgerKey(xdr.LedgerEntryType.CONTRACT_CODE, contract_code=code)
        if not (await self.call("getLedgerEntries", {"keys": [entry.to_xdr()]}))["entries"]:
            await self.submit(key, lambda b: b.append_upload_contract_wasm_op(wasm))
        return wasm_hash

    async def deploy(self, key: Keypair, wasm: bytes, *args: xdr.SCVal) -> str:
        """Upload a contract and create an instance of it with these arguments; its address."""
        wasm_hash = await self.upload(key, wasm)
        created = await self.submit(
            key, lambda b: b.append_create_contract_op(wasm_hash, key.public_key, list(args))
        )
        return contract_of(return_value(created))

    async def kept(self, wasm: bytes, *args: xdr.SCVal) -> str:
        """The instance of a contract that tests share, deployed the first time; its address."""
        made = (wasm, *(each.to_xdr_bytes() for each in args))
        if made not in self._kept:
            self._kept[made] = await self.deploy(await self.account(), wasm, *args)
        return self._kept[made]

    async def deploy_asset(self, asset: Asset, key: Keypair) -> str:
        """Create the asset contract of a classic asset; its address."""
        await self.submit(
            key, lambda b: b.append_create_stellar_asset_contract_from_asset_op(asset)
        )
        return asset.contract_id(self.network.passphrase)

    async def invoke(self, key: Keypair, contract: str, function: str, *args: xdr.SCVal) -> None:
        """Call a contract as the key's account."""
        await self.submit(
            key, lambda b: b.append_invoke_contract_function_op(contract, function, list(args))
        )

    async def give(self, key: Keypair, token: str, to: str, amount: int) -> None:
        """Transfer an amount of a token from the key's account."""
        parties = scval.to_address(key.public_key), scval.to_address(to)
        await self.invoke(key, token, "transfer", *parties, scval.to_int128(amount))

    async def balance(self, contract: str, holder: str) -> int:
        """Read the balance of a token, in base units."""
        return scval.from_int128(await self.read(contract, "balance", scval.to_address(holder)))

    async def read(self, contract: str, function: str, *args: xdr.SCVal) -> xdr.SCVal:
        """Call a function that changes nothing; what it returns."""
        return await asyncio.to_thread(self._read, contract, function, args)

    def _read(self, contract: str, function: str, args: Sequence[xdr.SCVal]) -> xdr.SCVal:
        builder = TransactionBuilder(Account(Keypair.random().public_key, 1), _ANY, base_fee=100)
        builder.append_operation(call(contract, function, args)).set_timeout(0)
        simulated = self._server.simulate_transaction(builder.build())
        assert simulated.results, simulated.error
        return xdr.SCVal.from_xdr(simulated.results[0].xdr)

    async def native_balance(self, address: str) -> int:
        """Read the native balance of an account, in stroops."""
        return await self.balance(Asset.native().contract_id(self.network.passphrase), address)


_ANY: Final = Network.TESTNET.passphrase  # a simulation looks at no signature
