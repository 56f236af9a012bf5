"""Hypothesis strategies for ledger keys and resource data, made with the public SDK."""

from collections.abc import Sequence

from hypothesis import strategies as st
from stellar_sdk import xdr
from stellar_sdk.xdr import LedgerEntryType as EntryType

from support.sdk_values import (
    account_id,
    addresses,
    balance_id,
    int64,
    keys32,
    public_keys,
    uint32,
    values,
)


def _four(code: bytes, issuer: bytes) -> xdr.AlphaNum4:
    return xdr.AlphaNum4(xdr.AssetCode4(code), account_id(issuer))


def _twelve(code: bytes, issuer: bytes) -> xdr.AlphaNum12:
    return xdr.AlphaNum12(xdr.AssetCode12(code), account_id(issuer))


_fours = st.builds(_four, st.binary(min_size=4, max_size=4), public_keys)
_twelves = st.builds(_twelve, st.binary(min_size=12, max_size=12), public_keys)
_Kind = xdr.AssetType
assets = st.one_of(
    st.just(xdr.Asset(_Kind.ASSET_TYPE_NATIVE)),
    _fours.map(lambda held: xdr.Asset(_Kind.ASSET_TYPE_CREDIT_ALPHANUM4, alpha_num4=held)),
    _twelves.map(lambda held: xdr.Asset(_Kind.ASSET_TYPE_CREDIT_ALPHANUM12, alpha_num12=held)),
)
_trust_line_assets = st.one_of(
    st.just(xdr.TrustLineAsset(_Kind.ASSET_TYPE_NATIVE)),
    _fours.map(lambda held: xdr.TrustLineAsset(_Kind.ASSET_TYPE_CREDIT_ALPHANUM4, held)),
    _twelves.map(
        lambda held: xdr.TrustLineAsset(_Kind.ASSET_TYPE_CREDIT_ALPHANUM12, alpha_num12=held)
    ),
    keys32.map(
        lambda key: xdr.TrustLineAsset(
            _Kind.ASSET_TYPE_POOL_SHARE, liquidity_pool_id=xdr.PoolID(xdr.Hash(key))
        )
    ),
)
_account_ids = public_keys.map(account_id)


def _offer(seller: xdr.AccountID, offer: int) -> xdr.LedgerKey:
    return xdr.LedgerKey(EntryType.OFFER, offer=xdr.LedgerKeyOffer(seller, xdr.Int64(offer)))


def _data(owner: xdr.AccountID, name: bytes) -> xdr.LedgerKey:
    return xdr.LedgerKey(EntryType.DATA, data=xdr.LedgerKeyData(owner, xdr.String64(name)))


def _trust_line(owner: xdr.AccountID, asset: xdr.TrustLineAsset) -> xdr.LedgerKey:
    return xdr.LedgerKey(EntryType.TRUSTLINE, trust_line=xdr.LedgerKeyTrustLine(owner, asset))


def _contract_data(
    owner: xdr.SCAddress, key: xdr.SCVal, durability: xdr.ContractDataDurability
) -> xdr.LedgerKey:
    held = xdr.LedgerKeyContractData(owner, key, durability)
    return xdr.LedgerKey(EntryType.CONTRACT_DATA, contract_data=held)


def _pool(key: bytes) -> xdr.LedgerKey:
    held = xdr.LedgerKeyLiquidityPool(xdr.PoolID(xdr.Hash(key)))
    return xdr.LedgerKey(EntryType.LIQUIDITY_POOL, liquidity_pool=held)


def _balance(key: bytes) -> xdr.LedgerKey:
    held = xdr.LedgerKeyClaimableBalance(balance_id(key))
    return xdr.LedgerKey(EntryType.CLAIMABLE_BALANCE, claimable_balance=held)


def _code(key: bytes) -> xdr.LedgerKey:
    held = xdr.LedgerKeyContractCode(xdr.Hash(key))
    return xdr.LedgerKey(EntryType.CONTRACT_CODE, contract_code=held)


def _ttl(key: bytes) -> xdr.LedgerKey:
    return xdr.LedgerKey(EntryType.TTL, ttl=xdr.LedgerKeyTtl(xdr.Hash(key)))


def _setting(setting: xdr.ConfigSettingID) -> xdr.LedgerKey:
    held = xdr.LedgerKeyConfigSetting(setting)
    return xdr.LedgerKey(EntryType.CONFIG_SETTING, config_setting=held)


def _account(owner: xdr.AccountID) -> xdr.LedgerKey:
    return xdr.LedgerKey(EntryType.ACCOUNT, account=xdr.LedgerKeyAccount(owner))


ledger_keys = st.one_of(
    _account_ids.map(_account),
    st.builds(_trust_line, _account_ids, _trust_line_assets),
    st.builds(_offer, _account_ids, int64),
    st.builds(_data, _account_ids, st.binary(max_size=64)),
    keys32.map(_balance),
    keys32.map(_pool),
    st.builds(_contract_data, addresses, values, st.sampled_from(xdr.ContractDataDurability)),
    keys32.map(_code),
    st.sampled_from(xdr.ConfigSettingID).map(_setting),
    keys32.map(_ttl),
)


def resource_data(
    *,
    read_only: Sequence[xdr.LedgerKey] = (),
    read_write: Sequence[xdr.LedgerKey] = (),
    sizes: tuple[int, int, int] = (400_000, 0, 600),
    fee: int = 23_000,
    archived: list[int] | None = None,
) -> xdr.SorobanTransactionData:
    """Resource data; `sizes` are instructions, disk read bytes and write bytes."""
    extension = xdr.SorobanTransactionDataExt(0)
    if archived is not None:
        listed = xdr.SorobanResourcesExtV0([xdr.Uint32(index) for index in archived])
        extension = xdr.SorobanTransactionDataExt(1, listed)
    footprint = xdr.LedgerFootprint(list(read_only), list(read_write))
    resources = xdr.SorobanResources(footprint, *(xdr.Uint32(size) for size in sizes))
    return xdr.SorobanTransactionData(extension, resources, xdr.Int64(fee))


resource_datas = st.builds(
    resource_data,
    read_only=st.lists(st.deferred(lambda: ledger_keys), max_size=3),
    read_write=st.lists(st.deferred(lambda: ledger_keys), max_size=3),
    sizes=st.tuples(uint32, uint32, uint32),
    fee=st.integers(0, 2**63 - 1),
    archived=st.none() | st.lists(uint32, max_size=3),
)
