"""A devnet on which the contracts of automation run, its ledgers closed by hand.

Everything here is the public SDK's: nothing is Farebox's own code.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from stellar_sdk import (
    Keypair,
    SorobanServer,
    TransactionBuilder,
    TransactionEnvelope,
    scval,
    xdr,
)
from stellar_sdk.operation import InvokeHostFunction, Operation
from stellar_sdk.soroban_rpc import GetTransactionStatus, SimulateTransactionResponse

from support.contracts import wasm_of
from support.running_devnet import TESTNET, RunningDevnet
from testing.contracts import call, contract_of, operation_of, return_value

_FEE: Final = 1_000_000
Entry = xdr.SorobanAuthorizationEntry
Sign = Callable[[Entry], Entry]


@dataclass(slots=True)
class AutomationLedger:
    """A network, an account that pays for everything, and the asset of its scene."""

    devnet: RunningDevnet
    server: SorobanServer
    payer: Keypair
    asset: str
    native: str
    _codes: dict[str, bytes] = field(default_factory=dict)

    @property
    def now(self) -> int:
        """The close time of the latest ledger."""
        return int(self.devnet.result("getLatestLedger")["closeTime"])

    @property
    def sequence(self) -> int:
        """The latest ledger."""
        return int(self.devnet.result("getLatestLedger")["sequence"])

    def pass_time(self, seconds: int) -> None:
        """Move the network's clock."""
        status, answered = self.devnet.admin("/jump", {"seconds": seconds, "ledgers": 1})
        assert status == 200, answered

    def account(self) -> Keypair:
        """A new account with native coin."""
        key = Keypair.random()
        status, answered = self.devnet.friendbot(key.public_key)
        assert status == 200, answered
        return key

    def upload(self, name: str) -> bytes:
        """Put a committed contract's code on the ledger, once; its hash."""
        if name not in self._codes:
            operation = operation_of(lambda b: b.append_upload_contract_wasm_op(wasm_of(name)))
            self._codes[name] = scval.from_bytes(self.land(operation))
        return self._codes[name]

    def deploy(self, name: str, *args: xdr.SCVal) -> str:
        """Create an instance of a committed contract; its address."""
        code, deployer = self.upload(name), self.payer.public_key
        operation = operation_of(
            lambda b: b.append_create_contract_op(code, deployer, list(args), salt=_salt(self))
        )
        return contract_of(self.land(operation))

    def call(self, contract: str, function: str, *args: xdr.SCVal) -> xdr.SCVal:
        """Call a contract with the payer's authority; what it returns."""
        return self.land(call(contract, function, list(args)))

    def read(self, contract: str, function: str, *args: xdr.SCVal) -> xdr.SCVal:
        """Call a function that changes nothing; what it returns."""
        simulated = self.simulate(call(contract, function, list(args)))
        assert simulated.results is not None, simulated.error
        return xdr.SCVal.from_xdr(simulated.results[0].xdr)

    def balance(self, token: str, holder: str) -> int:
        """Read a balance."""
        return scval.from_int128(self.read(token, "balance", scval.to_address(holder)))

    def give(self, token: str, to: str, amount: int) -> None:
        """Transfer from the payer."""
        parties = [scval.to_address(self.payer.public_key), scval.to_address(to)]
        self.call(token, "transfer", *parties, scval.to_int128(amount))

    def signed(
        self, contract: str, function: str, args: Sequence[xdr.SCVal], sign: Sign
    ) -> Operation:
        """A call with the authorizations that a recording asks for, each signed by `sign`.

        A call that fails while it is recorded has none.
        """
        recorded = self.simulate(call(contract, function, list(args))).results or []
        asked = [each for result in recorded for each in result.auth or []]
        entries = [Entry.from_xdr(each) for each in asked]
        return call(contract, function, list(args), [sign(entry) for entry in entries])

    def simulate(self, operation: Operation) -> SimulateTransactionResponse:
        """Simulate; authorizations that the operation has are enforced."""
        return self.server.simulate_transaction(self._build(operation))

    def refusal(self, operation: Operation) -> str:
        """Why the network refuses the operation; empty if it does not."""
        return self.simulate(operation).error or ""

    def land(self, operation: Operation) -> xdr.SCVal:
        """Settle the operation in a ledger; what it returns."""
        envelope = self.server.prepare_transaction(self._build(operation))
        envelope.sign(self.payer)
        status, value = self._deliver(envelope)
        assert status is GetTransactionStatus.SUCCESS, value
        assert value is not None
        return value

    def land_prepared(self, operation: Operation, like: Operation) -> GetTransactionStatus:
        """Settle an operation with the resources of another one; how it ended."""
        envelope = self.server.prepare_transaction(self._build(like))
        data = envelope.transaction.soroban_data
        built = self._build(operation, fee=envelope.transaction.fee)
        built.transaction.soroban_data = data
        built.sign(self.payer)
        return self._deliver(built)[0]

    def _build(self, operation: Operation, fee: int = _FEE) -> TransactionEnvelope:
        source = self.server.load_account(self.payer.public_key)
        builder = TransactionBuilder(source, TESTNET, base_fee=fee)
        return builder.append_operation(operation).add_time_bounds(0, 0).build()

    def _deliver(
        self, envelope: TransactionEnvelope
    ) -> tuple[GetTransactionStatus, xdr.SCVal | None]:
        sent = self.server.send_transaction(envelope)
        assert sent.error_result_xdr is None, sent
        self.devnet.close()
        found = self.server.get_transaction(sent.hash)
        landed = found.status is GetTransactionStatus.SUCCESS
        return found.status, return_value(found) if landed else None


@contextmanager
def automation_ledger() -> Iterator[AutomationLedger]:
    """A new network with mainnet's limits."""
    options = ("--passphrase", TESTNET, "--limits", "mainnet", "--close-ms", "manual")
    devnet = RunningDevnet.start(*options)
    try:
        status, scene = devnet.admin("/scene", {"payers": 1, "payees": 3})
        assert status == 200, scene
        payer = Keypair.from_secret(scene["payers"][0]["secret"])
        with SorobanServer(devnet.rpc_url) as server:
            asset = scene["asset"]["contract"]
            yield AutomationLedger(devnet, server, payer, asset, scene["native"])
    finally:
        devnet.stop()


def authorizations(operation: Operation) -> list[Entry]:
    """The authorizations of a contract call, which a test may change."""
    assert isinstance(operation, InvokeHostFunction)
    return operation.auth


def _salt(ledger: AutomationLedger) -> bytes:
    """The number of the ledger: one instance of a kind is made in each."""
    return ledger.sequence.to_bytes(32)
