"""Hypothesis strategies for transaction envelopes around one contract call, made with the SDK."""

import hashlib
from typing import Final

from hypothesis import strategies as st
from stellar_sdk import Keypair, xdr
from stellar_sdk.xdr import SorobanCredentialsType as Credentials

from farebox.kernel.networks import Network
from support.sdk_ledger_keys import assets, resource_datas
from support.sdk_values import (
    KEYPAIRS,
    account,
    accounts,
    address_value,
    addresses,
    blob,
    contract,
    contracts,
    executables,
    i128,
    int64,
    int128,
    keys32,
    mapping,
    muxed_accounts,
    parties,
    public_keys,
    symbol,
    uint32,
    uint64,
    values,
    vector,
    void,
)

ASSET: Final = contract(b"\x0a" * 32)
PAYER: Final = KEYPAIRS[0]
PAYEE: Final = KEYPAIRS[1]


def transfer_call(
    asset: xdr.SCAddress, payer: xdr.SCAddress, pay_to: xdr.SCAddress, amount: int
) -> xdr.InvokeContractArgs:
    """The call transfer(payer, pay_to, amount)."""
    arguments = [address_value(payer), address_value(pay_to), i128(amount)]
    return xdr.InvokeContractArgs(asset, xdr.SCSymbol(b"transfer"), arguments)


def invocation(
    call: xdr.InvokeContractArgs, *below: xdr.SorobanAuthorizedInvocation
) -> xdr.SorobanAuthorizedInvocation:
    """The call as what an entry authorizes, with further calls below it."""
    arm = xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN
    function = xdr.SorobanAuthorizedFunction(arm, contract_fn=call)
    return xdr.SorobanAuthorizedInvocation(function, list(below))


def key_signatures(*pairs: tuple[bytes, bytes]) -> xdr.SCVal:
    """The signature value of a classic account."""
    return vector(
        *(
            mapping((symbol(b"public_key"), blob(key)), (symbol(b"signature"), blob(signed)))
            for key, signed in pairs
        )
    )


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
    """What the signers of an entry sign, as the SDK's own types encode it."""
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
    return entry(key_signatures(*pairs))


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


_sources = st.builds(muxed_source, public_keys, st.none() | uint64)
_time_bounds = st.builds(
    lambda low, high: xdr.TimeBounds(
        xdr.TimePoint(xdr.Uint64(low)), xdr.TimePoint(xdr.Uint64(high))
    ),
    uint64,
    uint64,
)
_payload_signers = st.builds(
    lambda key, payload: xdr.SignerKey(
        xdr.SignerKeyType.SIGNER_KEY_TYPE_ED25519_SIGNED_PAYLOAD,
        ed25519_signed_payload=xdr.SignerKeyEd25519SignedPayload(xdr.Uint256(key), payload),
    ),
    keys32,
    st.binary(max_size=64),
)
_hash_signers = st.one_of(
    keys32.map(
        lambda key: xdr.SignerKey(
            xdr.SignerKeyType.SIGNER_KEY_TYPE_ED25519, ed25519=xdr.Uint256(key)
        )
    ),
    keys32.map(
        lambda key: xdr.SignerKey(
            xdr.SignerKeyType.SIGNER_KEY_TYPE_PRE_AUTH_TX, pre_auth_tx=xdr.Uint256(key)
        )
    ),
    keys32.map(
        lambda key: xdr.SignerKey(xdr.SignerKeyType.SIGNER_KEY_TYPE_HASH_X, hash_x=xdr.Uint256(key))
    ),
)
_detailed = st.builds(
    lambda *parts: xdr.Preconditions(
        xdr.PreconditionType.PRECOND_V2, v2=xdr.PreconditionsV2(*parts)
    ),
    st.none() | _time_bounds,
    st.none() | st.builds(xdr.LedgerBounds, uint32.map(xdr.Uint32), uint32.map(xdr.Uint32)),
    st.none() | int64.map(lambda n: xdr.SequenceNumber(xdr.Int64(n))),
    uint64.map(lambda n: xdr.Duration(xdr.Uint64(n))),
    uint32.map(xdr.Uint32),
    st.lists(_payload_signers | _hash_signers, max_size=2),
)
preconditions = st.one_of(
    st.just(NO_PRECONDITIONS),
    _time_bounds.map(
        lambda held: xdr.Preconditions(xdr.PreconditionType.PRECOND_TIME, time_bounds=held)
    ),
    _detailed,
)
memos = st.one_of(
    st.just(NO_MEMO),
    st.text(max_size=7).map(lambda text: xdr.Memo(xdr.MemoType.MEMO_TEXT, text=text.encode())),
    uint64.map(lambda n: xdr.Memo(xdr.MemoType.MEMO_ID, id=xdr.Uint64(n))),
    keys32.map(lambda key: xdr.Memo(xdr.MemoType.MEMO_HASH, hash=xdr.Hash(key))),
    keys32.map(lambda key: xdr.Memo(xdr.MemoType.MEMO_RETURN, ret_hash=xdr.Hash(key))),
)
_decorated = st.builds(
    lambda hint, signed: xdr.DecoratedSignature(xdr.SignatureHint(hint), xdr.Signature(signed)),
    st.binary(min_size=4, max_size=4),
    st.binary(max_size=64),
)
_transfers = st.builds(
    transfer_call,
    contracts,
    parties,
    st.one_of(parties, parties, muxed_accounts, addresses),
    int128,
)
_other_calls = st.builds(
    xdr.InvokeContractArgs,
    st.one_of(contracts, accounts),
    st.sampled_from([b"transfer", b"mint", b"transfer ", b"\xff\xfe"]).map(xdr.SCSymbol),
    st.lists(values, max_size=4),
)
calls = st.deferred(lambda: st.one_of(_transfers, _transfers, _transfers, _other_calls))
_preimages = st.one_of(
    st.builds(
        lambda owner, salt: xdr.ContractIDPreimage(
            xdr.ContractIDPreimageType.CONTRACT_ID_PREIMAGE_FROM_ADDRESS,
            from_address=xdr.ContractIDPreimageFromAddress(owner, xdr.Uint256(salt)),
        ),
        addresses,
        keys32,
    ),
    assets.map(
        lambda asset: xdr.ContractIDPreimage(
            xdr.ContractIDPreimageType.CONTRACT_ID_PREIMAGE_FROM_ASSET, from_asset=asset
        )
    ),
)
_Function = xdr.SorobanAuthorizedFunctionType
_functions = st.one_of(
    calls.map(
        lambda call: xdr.SorobanAuthorizedFunction(
            _Function.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN, contract_fn=call
        )
    ),
    st.builds(xdr.CreateContractArgs, _preimages, executables).map(
        lambda held: xdr.SorobanAuthorizedFunction(
            _Function.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CREATE_CONTRACT_HOST_FN,
            create_contract_host_fn=held,
        )
    ),
    st.builds(xdr.CreateContractArgsV2, _preimages, executables, st.lists(values, max_size=2)).map(
        lambda held: xdr.SorobanAuthorizedFunction(
            _Function.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CREATE_CONTRACT_V2_HOST_FN,
            create_contract_v2_host_fn=held,
        )
    ),
)
_trees = st.recursive(
    st.builds(xdr.SorobanAuthorizedInvocation, st.deferred(lambda: _functions), st.just([])),
    lambda below: st.builds(
        xdr.SorobanAuthorizedInvocation,
        st.deferred(lambda: _functions),
        st.lists(below, max_size=2),
    ),
    max_leaves=3,
)
_signatures = st.one_of(
    st.just(void()),
    st.lists(st.tuples(public_keys, st.binary(min_size=64, max_size=64)), max_size=3).map(
        lambda pairs: key_signatures(*pairs)
    ),
    values,
)
_delegates = st.recursive(
    st.builds(xdr.SorobanDelegateSignature, addresses, values, st.just([])),
    lambda below: st.builds(
        xdr.SorobanDelegateSignature, addresses, values, st.lists(below, max_size=2)
    ),
    max_leaves=3,
)
entries = st.builds(
    xdr.SorobanAuthorizationEntry,
    st.builds(
        credentials,
        st.sampled_from(Credentials),
        st.one_of(accounts, accounts, contracts, addresses),
        nonce=int64,
        expires_at_ledger=uint32,
        signature=_signatures,
        delegates=st.lists(_delegates, max_size=2),
    ),
    _trees,
)


@st.composite
def _signed_payments(draw: st.DrawFn) -> xdr.Operation:
    payer = draw(st.sampled_from(KEYPAIRS))
    call = transfer_call(
        draw(contracts), account(payer.raw_public_key()), draw(parties), draw(int128)
    )
    kind = draw(
        st.sampled_from(
            [Credentials.SOROBAN_CREDENTIALS_ADDRESS, Credentials.SOROBAN_CREDENTIALS_ADDRESS_V2]
        )
    )
    signers = draw(st.lists(st.sampled_from(KEYPAIRS), min_size=1, max_size=3, unique_by=id))
    entry = signed_entry(
        call,
        *signers,
        kind=kind,
        nonce=draw(int64),
        expires_at_ledger=draw(uint32),
        payer=payer,
    )
    return call_operation(call, [entry], draw(st.none() | _sources))


_any_calls = st.builds(
    call_operation,
    calls,
    st.lists(st.deferred(lambda: entries), max_size=3),
    st.none() | _sources,
)


def _envelopes(
    operations: st.SearchStrategy[xdr.Operation],
) -> st.SearchStrategy[xdr.TransactionEnvelope]:
    return st.builds(
        envelope,
        operations,
        source=_sources,
        fee=uint32,
        sequence=int64,
        preconditions=preconditions,
        memo=memos,
        resources=st.none() | resource_datas,
        signatures=st.lists(_decorated, max_size=20),
    )


signed_payments = _envelopes(_signed_payments())
envelopes = _envelopes(st.one_of(_signed_payments(), _any_calls))
