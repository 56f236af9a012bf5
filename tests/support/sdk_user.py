"""A user of the public Python SDK on a network."""

from dataclasses import dataclass
from typing import Final

from stellar_sdk import (
    Asset,
    FeeBumpTransactionEnvelope,
    Keypair,
    SorobanServer,
    TransactionBuilder,
    TransactionEnvelope,
    scval,
)
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.operation import ExtendFootprintTTL, Operation
from stellar_sdk.soroban_rpc import (
    GetTransactionResponse,
    GetTransactionStatus,
    SendTransactionStatus,
    SimulateTransactionResponse,
)

from support.sdk_ledger_keys import resource_data
from testing.contracts import call
from testing.waiting import until_blocking

_PATIENCE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class SdkUser:
    """Builds, signs, sends and waits with the SDK's own functions."""

    server: SorobanServer
    passphrase: str

    def build(
        self, source: Keypair, operation: Operation, *, fee: int = 1_000
    ) -> TransactionEnvelope:
        """An unsigned transaction of one operation, next in the source's sequence."""
        account = self.server.load_account(source.public_key)
        builder = TransactionBuilder(account, self.passphrase, base_fee=fee)
        return builder.append_operation(operation).set_timeout(900).build()

    def classic(self, source: Keypair, operation: Operation) -> GetTransactionResponse:
        """Settle a classic operation."""
        envelope = self.build(source, operation)
        envelope.sign(source)
        return self.settle(envelope)

    def soroban(self, source: Keypair, operation: Operation) -> GetTransactionResponse:
        """Settle a Soroban operation as the SDK prepares it."""
        envelope = self.server.prepare_transaction(self.build(source, operation))
        envelope.sign(source)
        return self.settle(envelope)

    def extend(self, source: Keypair, key: stellar_xdr.LedgerKey) -> GetTransactionResponse:
        """Settle an extension of one entry's life by 100,000 ledgers from now."""
        envelope = self.build(source, ExtendFootprintTTL(extend_to=100_000))
        envelope.transaction.soroban_data = resource_data(read_only=[key], sizes=(0, 0, 0), fee=0)
        prepared = self.server.prepare_transaction(envelope)
        prepared.sign(source)
        return self.settle(prepared)

    def settle(
        self, envelope: TransactionEnvelope | FeeBumpTransactionEnvelope
    ) -> GetTransactionResponse:
        """Send and wait until a ledger holds it."""
        sent = self.server.send_transaction(envelope)
        assert sent.status == SendTransactionStatus.PENDING, sent
        return self.wait(sent.hash)

    def wait(self, transaction_hash: str) -> GetTransactionResponse:
        """Wait for the result of a sent transaction."""

        def found() -> GetTransactionResponse | None:
            answer = self.server.get_transaction(transaction_hash)
            return None if answer.status == GetTransactionStatus.NOT_FOUND else answer

        return until_blocking(found, _PATIENCE_S)

    def simulate(self, source: Keypair, operation: Operation) -> SimulateTransactionResponse:
        """Simulate by the SDK."""
        return self.server.simulate_transaction(self.build(source, operation))

    def balance(self, asking: Keypair, asset: Asset, holder: str) -> int:
        """Read the holder's balance from the asset's contract, base units."""
        simulated = self.simulate(
            asking, call(asset.contract_id(self.passphrase), "balance", [scval.to_address(holder)])
        )
        assert simulated.results is not None, simulated.error
        return int(scval.from_int128(simulated.results[0].xdr))
