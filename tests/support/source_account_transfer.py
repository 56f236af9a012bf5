"""A token transfer whose payer is the transaction's own source; it needs no facilitator."""

from stellar_sdk import Account, TransactionBuilder, TransactionEnvelope, scval, xdr

from farebox.kernel.networks import Network
from farebox.local.devnet import Scene


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
    call = xdr.InvokeContractArgs(
        scval.to_address(scene.asset).address,  # type: ignore[arg-type] # of this arm it is one
        xdr.SCSymbol(b"transfer"),
        arguments,
    )
    entry = xdr.SorobanAuthorizationEntry(
        xdr.SorobanCredentials(xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT),
        xdr.SorobanAuthorizedInvocation(
            xdr.SorobanAuthorizedFunction(
                xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN,
                contract_fn=call,
            ),
            [],
        ),
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
