"""Transaction envelopes around one contract call, and their parts, made with the SDK."""

import hashlib
from typing import Final

from stellar_sdk import Keypair, xdr
from stellar_sdk.xdr import SorobanCredentialsType as Credentials

from farebox.kernel.networks import Network
from support.sdk_values import (
    KEYPAIRS,
    account,
    address_value,
    contract,
    i128,
    void,
)
from testing.contract_calls import invocation
from testing.entries import key_signatures

ASSET: Final = contract(b"\x0a" * 32)
PAYER: Final = KEYPAIRS[0]
PAYEE: Final = KEYPAIRS[1]


def transfer_call(
    asset: xdr.SCAddress, payer: xdr.SCAddress, pay_to: xdr.SCAddress, amount: int
) -> xdr.InvokeContractArgs:
    """The call transfer(payer, pay_to, amount)."""
    arguments = [address_value(payer), address_value(pay_to), i128(amount)]
    return xdr.InvokeContractArgs(asset, xdr.SCSymbol(b"transfer"), arguments)


def credentials(
    kind: Credentials,
    address: xdr.SCAddress,
    *,
    nonce: int,
    expires_at_ledger: int,
    signature: xdr.SCVal,
    delegates: list[xdr.SorobanDelegateSignature] | None = None,
) -> xdr.SorobanCredentials:
    """Credentials of any kind."""
    if kind == Credentials.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT:
        return xdr.SorobanCredentials(kind)
    owned = xdr.SorobanAddressCredentials(
        address, xdr.Int64(nonce), xdr.Uint32(expires_at_ledger), signature
    )
    if kind == Credentials.SOROBAN_CREDENTIALS_ADDRESS:
        return xdr.SorobanCredentials(kind, address=owned)
    if kind == Credentials.SOROBAN_CREDENTIALS_ADDRESS_V2:
        return xdr.SorobanCredentials(kind, address_v2=owned)
    shared = xdr.SorobanAddressCredentialsWithDelegates(owned, delegates or [])
    return xdr.SorobanCredentials(kind, address_with_delegates=shared)


def sdk_digest(entry: xdr.SorobanAuthorizationEntry, network: Network) -> bytes | None:
    """Compute the digest that the signers of an entry sign, encoded by the SDK's types."""
    held = entry.credentials
    network_id = xdr.Hash(network.id)
    if held.address is not None:
        plain = xdr.HashIDPreimageSorobanAuthorization(
            network_id,
            held.address.nonce,
            held.address.signature_expiration_ledger,
            entry.root_invocation,
        )
        arm = xdr.EnvelopeType.ENVELOPE_TYPE_SOROBAN_AUTHORIZATION
        image = xdr.HashIDPreimage(arm, soroban_authorization=plain)
        return hashlib.sha256(image.to_xdr_bytes()).digest()
    delegated = held.address_with_delegates
    owned = held.address_v2 or (delegated.address_credentials if delegated else None)
    if owned is None:
        return None
    bound = xdr.HashIDPreimageSorobanAuthorizationWithAddress(
        network_id,
        owned.nonce,
        owned.signature_expiration_ledger,
        owned.address,
        entry.root_invocation,
    )
    arm = xdr.EnvelopeType.ENVELOPE_TYPE_SOROBAN_AUTHORIZATION_WITH_ADDRESS
    image = xdr.HashIDPreimage(arm, soroban_authorization_with_address=bound)
    return hashlib.sha256(image.to_xdr_bytes()).digest()


def signed_entry(
    call: xdr.InvokeContractArgs,
    *signers: Keypair,
    kind: Credentials = Credentials.SOROBAN_CREDENTIALS_ADDRESS,
    nonce: int = -7,
    expires_at_ledger: int = 1_000,
    network: Network = Network.TESTNET,
    payer: Keypair = PAYER,
) -> xdr.SorobanAuthorizationEntry:
    """An entry of `payer` for `call`, signed by `signers` in the order of their keys."""

    def entry(signature: xdr.SCVal) -> xdr.SorobanAuthorizationEntry:
        held = credentials(
            kind,
            account(payer.raw_public_key()),
            nonce=nonce,
            expires_at_ledger=expires_at_ledger,
            signature=signature,
        )
        return xdr.SorobanAuthorizationEntry(held, invocation(call))

    digest = sdk_digest(entry(void()), network) or b""
    ordered = sorted(signers, key=lambda pair: pair.raw_public_key())
    pairs = [(pair.raw_public_key(), pair.sign(digest)) for pair in ordered]
    return entry(key_signatures(pairs))


def muxed_source(key: bytes, mux_id: int | None = None) -> xdr.MuxedAccount:
    """A transaction or operation source."""
    if mux_id is None:
        return xdr.MuxedAccount(xdr.CryptoKeyType.KEY_TYPE_ED25519, xdr.Uint256(key))
    inner = xdr.MuxedAccountMed25519(xdr.Uint64(mux_id), xdr.Uint256(key))
    return xdr.MuxedAccount(xdr.CryptoKeyType.KEY_TYPE_MUXED_ED25519, med25519=inner)


def call_operation(
    call: xdr.InvokeContractArgs,
    entries: list[xdr.SorobanAuthorizationEntry],
    source: xdr.MuxedAccount | None = None,
) -> xdr.Operation:
    """The operation that makes `call` with these authorizations."""
    function = xdr.HostFunction(
        xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT, invoke_contract=call
    )
    held = xdr.InvokeHostFunctionOp(function, entries)
    body = xdr.OperationBody(xdr.OperationType.INVOKE_HOST_FUNCTION, invoke_host_function_op=held)
    return xdr.Operation(source, body)


NO_PRECONDITIONS: Final = xdr.Preconditions(xdr.PreconditionType.PRECOND_NONE)
NO_MEMO: Final = xdr.Memo(xdr.MemoType.MEMO_NONE)


def envelope(
    *operations: xdr.Operation,
    source: xdr.MuxedAccount | None = None,
    fee: int = 100,
    sequence: int = 6,
    preconditions: xdr.Preconditions = NO_PRECONDITIONS,
    memo: xdr.Memo = NO_MEMO,
    resources: xdr.SorobanTransactionData | None = None,
    signatures: list[xdr.DecoratedSignature] | None = None,
) -> xdr.TransactionEnvelope:
    """A version 1 envelope."""
    tx = xdr.Transaction(
        source or muxed_source(PAYER.raw_public_key()),
        xdr.Uint32(fee),
        xdr.SequenceNumber(xdr.Int64(sequence)),
        preconditions,
        memo,
        list(operations),
        xdr.TransactionExt(0) if resources is None else xdr.TransactionExt(1, resources),
    )
    held = xdr.TransactionV1Envelope(tx, signatures or [])
    return xdr.TransactionEnvelope(xdr.EnvelopeType.ENVELOPE_TYPE_TX, v1=held)


def payment(amount: int = 10_000, **fields: object) -> bytes:
    """The bytes of an ordinary signed payment."""
    payer, payee = account(PAYER.raw_public_key()), account(PAYEE.raw_public_key())
    call = transfer_call(ASSET, payer, payee, amount)
    operation = call_operation(call, [signed_entry(call, PAYER)])
    return envelope(operation, **fields).to_xdr_bytes()  # type: ignore[arg-type]  # passed on
