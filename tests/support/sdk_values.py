"""Hypothesis strategies for contract values and ledger keys, made with the public SDK."""

from typing import Final

from hypothesis import strategies as st
from stellar_sdk import Keypair, xdr
from stellar_sdk.xdr import SCAddressType as AddressType
from stellar_sdk.xdr import SCValType as ValueType

KEYPAIRS: Final = tuple(Keypair.from_raw_ed25519_seed(bytes([n]) * 32) for n in (1, 2, 3))

uint32 = st.integers(0, 2**32 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
uint64 = st.integers(0, 2**64 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
int128 = st.integers(-(2**127), 2**127 - 1)
keys32 = st.one_of(st.binary(min_size=32, max_size=32), st.sampled_from([bytes(32), b"\xff" * 32]))
public_keys = st.one_of(st.sampled_from([pair.raw_public_key() for pair in KEYPAIRS]), keys32)


def account_id(key: bytes) -> xdr.AccountID:
    return xdr.AccountID(xdr.PublicKey(xdr.PublicKeyType.PUBLIC_KEY_TYPE_ED25519, xdr.Uint256(key)))


def account(key: bytes) -> xdr.SCAddress:
    return xdr.SCAddress(AddressType.SC_ADDRESS_TYPE_ACCOUNT, account_id=account_id(key))


def contract(key: bytes) -> xdr.SCAddress:
    return xdr.SCAddress(
        AddressType.SC_ADDRESS_TYPE_CONTRACT, contract_id=xdr.ContractID(xdr.Hash(key))
    )


def muxed(mux_id: int, key: bytes) -> xdr.SCAddress:
    inner = xdr.MuxedEd25519Account(xdr.Uint64(mux_id), xdr.Uint256(key))
    return xdr.SCAddress(AddressType.SC_ADDRESS_TYPE_MUXED_ACCOUNT, muxed_account=inner)


def balance_id(key: bytes) -> xdr.ClaimableBalanceID:
    arm = xdr.ClaimableBalanceIDType.CLAIMABLE_BALANCE_ID_TYPE_V0
    return xdr.ClaimableBalanceID(arm, xdr.Hash(key))


def claimable_balance(key: bytes) -> xdr.SCAddress:
    arm = AddressType.SC_ADDRESS_TYPE_CLAIMABLE_BALANCE
    return xdr.SCAddress(arm, claimable_balance_id=balance_id(key))


def pool(key: bytes) -> xdr.SCAddress:
    arm = AddressType.SC_ADDRESS_TYPE_LIQUIDITY_POOL
    return xdr.SCAddress(arm, liquidity_pool_id=xdr.PoolID(xdr.Hash(key)))


accounts = public_keys.map(account)
contracts = keys32.map(contract)
muxed_accounts = st.builds(muxed, uint64, public_keys)
parties = st.one_of(accounts, contracts)
addresses = st.one_of(
    accounts, contracts, muxed_accounts, keys32.map(claimable_balance), keys32.map(pool)
)


def value(arm: ValueType, **content: object) -> xdr.SCVal:
    return xdr.SCVal(arm, **content)  # type: ignore[arg-type]  # one keyword for each arm


def address_value(address: xdr.SCAddress) -> xdr.SCVal:
    return value(ValueType.SCV_ADDRESS, address=address)


def void() -> xdr.SCVal:
    return value(ValueType.SCV_VOID)


def i128(amount: int) -> xdr.SCVal:
    parts = xdr.Int128Parts(xdr.Int64(amount >> 64), xdr.Uint64(amount & (2**64 - 1)))
    return value(ValueType.SCV_I128, i128=parts)


def u64(number: int) -> xdr.SCVal:
    return value(ValueType.SCV_U64, u64=xdr.Uint64(number))


def symbol(raw: bytes) -> xdr.SCVal:
    return value(ValueType.SCV_SYMBOL, sym=xdr.SCSymbol(raw))


def string(raw: bytes) -> xdr.SCVal:
    return value(ValueType.SCV_STRING, str=xdr.SCString(raw))


def blob(raw: bytes) -> xdr.SCVal:
    return value(ValueType.SCV_BYTES, bytes=xdr.SCBytes(raw))


def vector(*items: xdr.SCVal) -> xdr.SCVal:
    return value(ValueType.SCV_VEC, vec=xdr.SCVec(list(items)))


def mapping(*entries: tuple[xdr.SCVal, xdr.SCVal]) -> xdr.SCVal:
    return value(ValueType.SCV_MAP, map=_map(entries))


def nonce_key(nonce: int) -> xdr.SCVal:
    return value(ValueType.SCV_LEDGER_KEY_NONCE, nonce_key=xdr.SCNonceKey(xdr.Int64(nonce)))


def nested(depth: int) -> xdr.SCVal:
    """A void inside `depth` vectors."""
    inner = void()
    for _ in range(depth):
        inner = vector(inner)
    return inner


def _map(entries: tuple[tuple[xdr.SCVal, xdr.SCVal], ...]) -> xdr.SCMap:
    return xdr.SCMap([xdr.SCMapEntry(key, held) for key, held in entries])


def _u128(number: int) -> xdr.SCVal:
    low = xdr.Uint64(number & (2**64 - 1))
    return value(ValueType.SCV_U128, u128=xdr.UInt128Parts(xdr.Uint64(number >> 64), low))


def _u256(a: int, b: int, c: int, d: int) -> xdr.SCVal:
    words = xdr.Uint64(a), xdr.Uint64(b), xdr.Uint64(c), xdr.Uint64(d)
    return value(ValueType.SCV_U256, u256=xdr.UInt256Parts(*words))


def _i256(a: int, b: int, c: int, d: int) -> xdr.SCVal:
    words = xdr.Int64(a), xdr.Uint64(b), xdr.Uint64(c), xdr.Uint64(d)
    return value(ValueType.SCV_I256, i256=xdr.Int256Parts(*words))


def _time_point(seconds: int) -> xdr.SCVal:
    return value(ValueType.SCV_TIMEPOINT, timepoint=xdr.TimePoint(xdr.Uint64(seconds)))


def _duration(seconds: int) -> xdr.SCVal:
    return value(ValueType.SCV_DURATION, duration=xdr.Duration(xdr.Uint64(seconds)))


def _contract_error(code: int) -> xdr.SCVal:
    error = xdr.SCError(xdr.SCErrorType.SCE_CONTRACT, contract_code=xdr.Uint32(code))
    return value(ValueType.SCV_ERROR, error=error)


def _host_error(arm: xdr.SCErrorType, code: xdr.SCErrorCode) -> xdr.SCVal:
    return value(ValueType.SCV_ERROR, error=xdr.SCError(arm, code=code))


def _external(owner: xdr.SCAddress, tag: bytes) -> xdr.ContractExecutable:
    arm = xdr.ContractExecutableType.CONTRACT_EXECUTABLE_EXTERNAL_REF
    reference = xdr.ContractExecutableExternalRef(owner, xdr.SCString(tag))
    return xdr.ContractExecutable(arm, external_ref=reference)


def _wasm(code_hash: bytes) -> xdr.ContractExecutable:
    arm = xdr.ContractExecutableType.CONTRACT_EXECUTABLE_WASM
    return xdr.ContractExecutable(arm, wasm_hash=xdr.Hash(code_hash))


executables = st.one_of(
    st.builds(_wasm, keys32),
    st.just(xdr.ContractExecutable(xdr.ContractExecutableType.CONTRACT_EXECUTABLE_STELLAR_ASSET)),
    st.builds(_external, addresses, st.binary(max_size=40)),
)
_leaves = st.one_of(
    st.booleans().map(lambda b: value(ValueType.SCV_BOOL, b=b)),
    st.just(void()),
    st.just(value(ValueType.SCV_LEDGER_KEY_CONTRACT_INSTANCE)),
    uint32.map(_contract_error),
    st.builds(
        _host_error,
        st.sampled_from([arm for arm in xdr.SCErrorType if arm.value]),
        st.sampled_from(list(xdr.SCErrorCode)),
    ),
    uint32.map(lambda n: value(ValueType.SCV_U32, u32=xdr.Uint32(n))),
    int32.map(lambda n: value(ValueType.SCV_I32, i32=xdr.Int32(n))),
    uint64.map(u64),
    int64.map(lambda n: value(ValueType.SCV_I64, i64=xdr.Int64(n))),
    uint64.map(_time_point),
    uint64.map(_duration),
    st.integers(0, 2**128 - 1).map(_u128),
    int128.map(i128),
    st.builds(_u256, uint64, uint64, uint64, uint64),
    st.builds(_i256, int64, uint64, uint64, uint64),
    st.binary(max_size=70).map(blob),
    st.binary(max_size=20).map(string),
    st.binary(max_size=32).map(symbol),
    st.binary(max_size=20).map(
        lambda raw: value(ValueType.SCV_EXECUTABLE_TAG, executable_tag=xdr.SCString(raw))
    ),
    addresses.map(address_value),
    int64.map(nonce_key),
    st.just(value(ValueType.SCV_VEC, vec=None)),
    st.just(value(ValueType.SCV_MAP, map=None)),
)


def _collections(inner: st.SearchStrategy[xdr.SCVal]) -> st.SearchStrategy[xdr.SCVal]:
    entries = st.lists(st.tuples(inner, inner), max_size=3).map(tuple)
    instances = st.builds(
        lambda code, kept: value(
            ValueType.SCV_CONTRACT_INSTANCE,
            instance=xdr.SCContractInstance(code, None if kept is None else _map(kept)),
        ),
        executables,
        st.none() | entries,
    )
    vectors = st.lists(inner, max_size=4).map(lambda items: vector(*items))
    return st.one_of(vectors, entries.map(lambda held: mapping(*held)), instances)


values = st.deferred(lambda: st.recursive(_leaves, _collections, max_leaves=10))
