"""Ledger entries of contracts' data: their keys, and the values in them."""

from typing import Final

from farebox.kernel.addresses import Address
from farebox.stellar.scval import ScValue, read_value
from farebox.stellar.scval_writer import write_value
from farebox.stellar.xdr_reader import Malformed, XdrReader
from farebox.stellar.xdr_writer import sc_address, uint32

_CONTRACT_DATA: Final = 6  # LedgerEntryType, and the arm of its key
_MAX_ITEMS: Final = 8_000


def data_key(contract: Address, key: ScValue, *, is_temporary: bool = False) -> bytes:
    """The ledger key (XDR) of what `contract` keeps under `key`, persistently or for a time."""
    durability = uint32(0 if is_temporary else 1)
    return uint32(_CONTRACT_DATA) + sc_address(contract) + write_value(key) + durability


def read_data(data: bytes, key: bytes) -> ScValue | None:
    """Read the value under the ledger key `key`; None when `data` is not that entry."""
    reader = XdrReader(data, max_items=_MAX_ITEMS)
    try:
        reader.expect(_CONTRACT_DATA)
        reader.expect(0)  # the one extension
        if not reader.take(key[4:]):
            return None
        value = read_value(reader)
        reader.finish()
    except Malformed:
        return None
    return value
