"""The public SDK as a second opinion on our contract values and addresses."""

from typing import Final

from stellar_sdk import Address as SdkAddress
from stellar_sdk import StrKey, xdr

from farebox.stellar.scval import (
    ScAddress,
    ScBytes,
    ScKind,
    ScMap,
    ScNumber,
    ScOther,
    ScValue,
    ScVec,
)

_AddressType = xdr.SCAddressType
_PLAIN: Final = (_AddressType.SC_ADDRESS_TYPE_ACCOUNT, _AddressType.SC_ADDRESS_TYPE_CONTRACT)


def assert_address_agrees(address: ScAddress, sdk: xdr.SCAddress) -> None:
    """Hold an address of ours against the SDK's by its text form, which has every field."""
    text = SdkAddress.from_xdr_sc_address(sdk).address
    assert address.kind == sdk.type.value
    assert address.plain == (text if sdk.type in _PLAIN else None)
    forms = {
        _AddressType.SC_ADDRESS_TYPE_ACCOUNT: StrKey.decode_ed25519_public_key,
        _AddressType.SC_ADDRESS_TYPE_CONTRACT: StrKey.decode_contract,
        _AddressType.SC_ADDRESS_TYPE_MUXED_ACCOUNT: StrKey.decode_med25519_public_key,
        _AddressType.SC_ADDRESS_TYPE_CLAIMABLE_BALANCE: StrKey.decode_claimable_balance,
        _AddressType.SC_ADDRESS_TYPE_LIQUIDITY_POOL: StrKey.decode_liquidity_pool,
    }
    mux = b"" if address.mux_id is None else address.mux_id.to_bytes(8, "big")
    version = b"\0" if sdk.type == _AddressType.SC_ADDRESS_TYPE_CLAIMABLE_BALANCE else b""
    assert forms[sdk.type](text) == version + address.key + mux


def assert_value_agrees(value: ScValue, sdk: xdr.SCVal) -> None:
    """Hold a value of ours, and all values in it, against the SDK's."""
    match value:
        case ScAddress():
            assert sdk.address is not None
            assert_address_agrees(value, sdk.address)
        case ScVec():
            _assert_vector_agrees(value, sdk)
        case ScMap():
            _assert_map_agrees(value, sdk)
        case ScNumber() | ScBytes() | ScOther():
            assert sdk.to_xdr_bytes() == value.kind.to_bytes(4, "big") + _encoded(value)


def _encoded(value: ScNumber | ScBytes | ScOther) -> bytes:
    if isinstance(value, ScOther):
        return value.raw
    if isinstance(value, ScBytes):
        return len(value.raw).to_bytes(4, "big") + value.raw + bytes(-len(value.raw) % 4)
    length, signed = _WIDTHS[value.kind]
    return value.value.to_bytes(length, "big", signed=signed)


def _assert_vector_agrees(value: ScVec, sdk: xdr.SCVal) -> None:
    assert sdk.type == xdr.SCValType.SCV_VEC
    if value.items is None or sdk.vec is None:
        assert (value.items is None) == (sdk.vec is None)
        return
    for ours, theirs in zip(value.items, sdk.vec.sc_vec, strict=True):
        assert_value_agrees(ours, theirs)


def _assert_map_agrees(value: ScMap, sdk: xdr.SCVal) -> None:
    assert sdk.type == xdr.SCValType.SCV_MAP
    if value.entries is None or sdk.map is None:
        assert (value.entries is None) == (sdk.map is None)
        return
    for (key, held), theirs in zip(value.entries, sdk.map.sc_map, strict=True):
        assert_value_agrees(key, theirs.key)
        assert_value_agrees(held, theirs.val)


_WIDTHS: Final = {
    ScKind.U32: (4, False),
    ScKind.I32: (4, True),
    ScKind.U64: (8, False),
    ScKind.I64: (8, True),
    ScKind.TIMEPOINT: (8, False),
    ScKind.DURATION: (8, False),
    ScKind.U128: (16, False),
    ScKind.I128: (16, True),
    ScKind.U256: (32, False),
    ScKind.I256: (32, True),
}
