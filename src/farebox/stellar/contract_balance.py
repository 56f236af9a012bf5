"""The ledger entry in which an asset contract keeps the balance of a contract (CAP-46-6)."""

from dataclasses import dataclass
from typing import Final

from farebox.kernel.addresses import Address
from farebox.stellar.scval import ScBytes, ScKind, ScMap, ScNumber, ScOther, ScValue, read_value
from farebox.stellar.xdr_reader import Malformed, XdrReader
from farebox.stellar.xdr_writer import address_value, sc_address, symbol_value, uint32

_CONTRACT_DATA: Final = 6  # LedgerEntryType, and the arm of its key
_PERSISTENT: Final = 1  # ContractDataDurability
_TRUE: Final = ScOther(ScKind.BOOL, (1).to_bytes(4, "big"))


@dataclass(frozen=True, slots=True)
class ContractBalance:
    """A contract's balance of a classic asset, in base units."""

    amount: int
    is_authorized: bool
    is_clawback_enabled: bool


def balance_key(token: Address, holder: Address) -> bytes:
    """The ledger key (XDR) of the balance of a C… holder at an asset contract."""
    name = uint32(ScKind.VEC) + uint32(1) + uint32(2) + symbol_value(b"Balance")
    key = name + address_value(holder)
    return uint32(_CONTRACT_DATA) + sc_address(token) + key + uint32(_PERSISTENT)


def read_contract_balance(data: bytes, key: bytes) -> ContractBalance | None:
    """Read the balance under `key`; None when `data` is not that."""
    reader = XdrReader(data)
    try:
        reader.expect(_CONTRACT_DATA)
        reader.expect(0)  # the one extension
        if not reader.take(key[4:]):
            return None
        value = read_value(reader)
        reader.finish()
    except Malformed:
        return None
    return _balance(value)


def _balance(value: ScValue) -> ContractBalance | None:
    entries = value.entries if isinstance(value, ScMap) else None
    members = {key.raw: held for key, held in entries or () if isinstance(key, ScBytes)}
    amount = members.get(b"amount")
    if not isinstance(amount, ScNumber) or amount.kind is not ScKind.I128 or amount.value < 0:
        return None
    return ContractBalance(
        amount.value,
        is_authorized=members.get(b"authorized") == _TRUE,
        is_clawback_enabled=members.get(b"clawback") == _TRUE,
    )
