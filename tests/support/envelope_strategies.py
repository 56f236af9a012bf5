"""Hypothesis strategies for transaction envelopes around one contract call."""

from hypothesis import strategies as st
from stellar_sdk import xdr
from stellar_sdk.xdr import SorobanCredentialsType as Credentials

from support.sdk_envelopes import (
    NO_MEMO,
    NO_PRECONDITIONS,
    call_operation,
    credentials,
    envelope,
    muxed_source,
    signed_entry,
    transfer_call,
)
from support.sdk_ledger_keys import assets, resource_datas
from support.sdk_values import (
    KEYPAIRS,
    account,
    accounts,
    addresses,
    contracts,
    executables,
    int64,
    int128,
    keys32,
    muxed_accounts,
    parties,
    public_keys,
    uint32,
    uint64,
    values,
    void,
)
from testing.entries import key_signatures

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
        lambda pairs: key_signatures(pairs)
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
