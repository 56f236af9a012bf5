"""Contract values (SCVal) and contract addresses (SCAddress), read or skipped within bounds."""

from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.stellar.xdr_reader import Malformed, XdrReader

MAX_DEPTH: Final = 32  # of vectors and maps inside each other
MAX_BLOB_BYTES: Final = 65_536
SYMBOL_MAX_BYTES: Final = 32
_ERROR_TYPES: Final = 10
_ERROR_CODES: Final = 10


class ScKind(IntEnum):
    """The arms of SCVal up to protocol 30."""

    BOOL = 0
    VOID = 1
    ERROR = 2
    U32 = 3
    I32 = 4
    U64 = 5
    I64 = 6
    TIMEPOINT = 7
    DURATION = 8
    U128 = 9
    I128 = 10
    U256 = 11
    I256 = 12
    BYTES = 13
    STRING = 14
    SYMBOL = 15
    VEC = 16
    MAP = 17
    ADDRESS = 18
    CONTRACT_INSTANCE = 19
    LEDGER_KEY_CONTRACT_INSTANCE = 20
    LEDGER_KEY_NONCE = 21
    EXECUTABLE_TAG = 22


class AddressKind(IntEnum):
    """The arms of SCAddress up to protocol 30."""

    ACCOUNT = 0
    CONTRACT = 1
    MUXED_ACCOUNT = 2
    CLAIMABLE_BALANCE = 3
    LIQUIDITY_POOL = 4
    MUXED_CONTRACT = 5


@dataclass(frozen=True, slots=True)
class ScAddress:
    """An address of any kind; `mux_id` is set for the two muxed kinds alone."""

    kind: AddressKind
    key: bytes  # 32: public key, contract id, balance id or pool id
    mux_id: int | None = None

    @property
    def plain(self) -> Address | None:
        """The G… or C… form; None for every kind that is neither."""
        if self.kind is AddressKind.ACCOUNT:
            return account_address(self.key)
        return contract_address(self.key) if self.kind is AddressKind.CONTRACT else None


@dataclass(frozen=True, slots=True)
class ScNumber:
    """An integer of any width, time point and duration included."""

    kind: ScKind
    value: int


@dataclass(frozen=True, slots=True)
class ScBytes:
    """Bytes, string, symbol or executable tag, undecoded."""

    kind: ScKind
    raw: bytes


@dataclass(frozen=True, slots=True)
class ScVec:
    """A vector; None is the absent vector that XDR can express and no contract makes."""

    items: "tuple[ScValue, ...] | None"


@dataclass(frozen=True, slots=True)
class ScMap:
    """A map in the order it came in; None is the absent map."""

    entries: "tuple[tuple[ScValue, ScValue], ...] | None"


@dataclass(frozen=True, slots=True)
class ScOther:
    """Void, boolean, error and the values only the host makes: `raw` is their XDR after the arm."""

    kind: ScKind
    raw: bytes


ScValue = ScAddress | ScNumber | ScBytes | ScVec | ScMap | ScOther

# Arms are compared as plain numbers: hashing or comparing a member of an IntEnum is a Python call.
_KINDS: Final = tuple(ScKind)
# Kinds whose bytes need no check: their length, and whether the number in them has a sign.
NUMBER_WIDTHS: Final = MappingProxyType(
    {
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
)
_NUMBERS: Final = {int(kind): width for kind, width in NUMBER_WIDTHS.items()}
_BLOB_LIMITS: Final[dict[int, int]] = {
    int(ScKind.BYTES): MAX_BLOB_BYTES,
    int(ScKind.STRING): MAX_BLOB_BYTES,
    int(ScKind.SYMBOL): SYMBOL_MAX_BYTES,
    int(ScKind.EXECUTABLE_TAG): MAX_BLOB_BYTES,
}
_ADDRESS: Final = int(ScKind.ADDRESS)
_VEC: Final = int(ScKind.VEC)
_MAP: Final = int(ScKind.MAP)
_VOID: Final = int(ScKind.VOID)
_BOOL: Final = int(ScKind.BOOL)
_ERROR: Final = int(ScKind.ERROR)
_INSTANCE: Final = int(ScKind.CONTRACT_INSTANCE)
_INSTANCE_KEY: Final = int(ScKind.LEDGER_KEY_CONTRACT_INSTANCE)
_NONCE: Final = int(ScKind.LEDGER_KEY_NONCE)
_UNBOUNDED: Final = 0xFFFF_FFFF  # the reader's own bound on items is the one that counts


def read_value(reader: XdrReader, depth: int = MAX_DEPTH) -> ScValue:
    """The value at the cursor.

    Raises:
        Malformed: not a value of a known arm, or deeper or larger than the bounds.
    """
    arm = reader.uint32()
    if arm == _ADDRESS:
        return read_address(reader)
    if arm in _NUMBERS:
        length, signed = _NUMBERS[arm]
        return ScNumber(_KINDS[arm], int.from_bytes(reader.fixed(length), "big", signed=signed))
    if arm in _BLOB_LIMITS:
        return ScBytes(_KINDS[arm], reader.opaque(_BLOB_LIMITS[arm]))
    if arm == _VEC:
        return ScVec(_read_items(reader, depth))
    if arm == _MAP:
        return ScMap(read_map_entries(reader, depth))
    start = reader.at
    _skip_other(reader, arm, depth)
    return ScOther(_KINDS[arm], reader.since(start))


def skip_value(reader: XdrReader, depth: int = MAX_DEPTH) -> None:
    """Move past one value, as strictly as `read_value` and without building it.

    Raises:
        Malformed: as `read_value`.
    """
    arm = reader.uint32()
    if arm == _ADDRESS:
        skip_address(reader)
    elif arm in _NUMBERS:
        reader.skip(_NUMBERS[arm][0])
    elif arm in _BLOB_LIMITS:
        reader.opaque(_BLOB_LIMITS[arm])
    elif arm == _VEC:
        _skip_collection(reader, depth, values_per_item=1)
    elif arm == _MAP:
        _skip_collection(reader, depth, values_per_item=2)
    else:
        _skip_other(reader, arm, depth)


def read_map_entries(
    reader: XdrReader, depth: int = MAX_DEPTH
) -> tuple[tuple[ScValue, ScValue], ...] | None:
    """The entries of a map at the cursor, whose arm is read already; None for an absent map.

    Raises:
        Malformed: as `read_value`.
    """
    entries = _enter(reader, depth)
    if entries is None:
        return None
    return tuple(
        (read_value(reader, depth - 1), read_value(reader, depth - 1)) for _ in range(entries)
    )


_ACCOUNT: Final = int(AddressKind.ACCOUNT)
_CONTRACT: Final = int(AddressKind.CONTRACT)
_MUXED: Final = frozenset(map(int, (AddressKind.MUXED_ACCOUNT, AddressKind.MUXED_CONTRACT)))
_TYPED_KEYS: Final = frozenset(map(int, (AddressKind.ACCOUNT, AddressKind.CLAIMABLE_BALANCE)))
_PLAIN_HASHES: Final = frozenset(map(int, (AddressKind.CONTRACT, AddressKind.LIQUIDITY_POOL)))


def read_address(reader: XdrReader) -> ScAddress:
    """The address at the cursor.

    Raises:
        Malformed: not an address of a known arm.
    """
    arm = reader.uint32()
    if arm == _CONTRACT:
        return ScAddress(AddressKind.CONTRACT, reader.fixed(32))
    if arm == _ACCOUNT:
        reader.expect(0)  # the one kind of public key
        return ScAddress(AddressKind.ACCOUNT, reader.fixed(32))
    if arm in _MUXED:
        mux_id = reader.uint64()
        return ScAddress(AddressKind(arm), reader.fixed(32), mux_id)
    if arm == AddressKind.CLAIMABLE_BALANCE:
        reader.expect(0)  # the one kind of balance id
        return ScAddress(AddressKind.CLAIMABLE_BALANCE, reader.fixed(32))
    if arm == AddressKind.LIQUIDITY_POOL:
        return ScAddress(AddressKind.LIQUIDITY_POOL, reader.fixed(32))
    raise Malformed


def skip_address(reader: XdrReader) -> None:
    """Move past one address, as strictly as `read_address`."""
    arm = reader.uint32()
    if arm in _PLAIN_HASHES:
        reader.skip(32)
    elif arm in _TYPED_KEYS:
        reader.skip_only_arm(32)
    elif arm in _MUXED:
        reader.skip(8 + 32)
    else:
        raise Malformed


def skip_executable(reader: XdrReader) -> None:
    """Move past the code of a contract: wasm hash, asset contract or external reference."""
    arm = reader.uint32()
    if arm == 0:
        reader.skip(32)
    elif arm == 2:  # CAP-85: the owner of the code and a tag
        skip_address(reader)
        reader.opaque(MAX_BLOB_BYTES)
    elif arm != 1:
        raise Malformed


def _enter(reader: XdrReader, depth: int) -> int | None:
    if depth == 0:
        raise Malformed
    return reader.count(_UNBOUNDED) if reader.flag() else None


def _read_items(reader: XdrReader, depth: int) -> tuple[ScValue, ...] | None:
    items = _enter(reader, depth)
    if items is None:
        return None
    return tuple(read_value(reader, depth - 1) for _ in range(items))


def _skip_collection(reader: XdrReader, depth: int, *, values_per_item: int) -> None:
    for _ in range((_enter(reader, depth) or 0) * values_per_item):
        skip_value(reader, depth - 1)


def _skip_other(reader: XdrReader, arm: int, depth: int) -> None:
    if arm == _BOOL:
        reader.flag()
    elif arm == _ERROR:
        error_type, code = reader.uint32(), reader.uint32()
        is_contract_code = error_type == 0
        if error_type >= _ERROR_TYPES or (code >= _ERROR_CODES and not is_contract_code):
            raise Malformed
    elif arm == _INSTANCE:
        skip_executable(reader)
        _skip_collection(reader, depth, values_per_item=2)
    elif arm == _NONCE:
        reader.skip(8)
    elif arm not in (_VOID, _INSTANCE_KEY):  # those two have no content
        raise Malformed
