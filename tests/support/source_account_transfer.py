"""A token transfer whose payer is the transaction's own source; it needs no facilitator."""

from stellar_sdk import Account, TransactionBuilder, TransactionEnvelope, scval

from farebox.kernel.networks import Network
from farebox.local.devnet import Scene
from testing.contract_calls import address, invocation
from testing.contract_calls import transfer as contract_transfer
from testing.entries import Credentials, unsigned_entry


def transfer(
    scene: Scene, *, sequence: int, fee: int, data: str | None = None
) -> TransactionEnvelope:
    """A transfer whose payer is the transaction's own source, signed."""
    payer, payee = scene.payers[0], scene.payees[0]
    arguments = [
        scval.to_address(payer.address),
        scval.to_address(payee.address),
        scval.to_int128(1_000),
    ]
    entry = unsigned_entry(
        invocation(contract_transfer(scene.asset, payer.address, payee.address, 1_000)),
        address(payer.address),
        nonce=0,
        expires_at_ledger=0,
        kind=Credentials.SOURCE_ACCOUNT,
    )
    builder = TransactionBuilder(
        Account(payer.address, sequence - 1), Network.TESTNET.passphrase, base_fee=100
    )
    builder.add_time_bounds(0, 0)
    builder.append_invoke_contract_function_op(scene.asset, "transfer", arguments, auth=[entry])
    if data is not None:
        builder.set_soroban_data(data)
    envelope = builder.build()
    envelope.transaction.fee = fee
    envelope.sign(payer.secret.reveal())
    return envelope
