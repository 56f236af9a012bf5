"""The ledger entry in which an asset contract keeps the balance of a contract (CAP-46-6)."""

from dataclasses import dataclass
from typing import Final

from farebox.kernel.addresses import Address
from farebox.stellar.contract_data import data_key, read_data
from farebox.stellar.scval import ScBytes, ScKind, ScMap, ScNumber, ScOther, ScValue, ScVec
from farebox.stellar.scval_writer import address_of, symbol_of

_TRUE: Final = ScOther(ScKind.BOOL, (1).to_bytes(4, "big"))


@dataclass(frozen=True, slots=True)
class ContractBalance:
    """A contract's balance of a classic asset, in base units."""

    amount: int
    is_authorized: bool
    is_clawback_enabled: bool


def balance_key(token: Address, holder: Address) -> bytes:
    """The ledger key (XDR) of the balance of a C… holder at an asset contract."""
    return data_key(token, ScVec((symbol_of("Balance"), address_of(holder))))


def read_contract_balance(data: bytes, key: bytes) -> ContractBalance | None:
    """Read the balance under `key`; None when `data` is not that."""
    value = read_data(data, key)
    return None if value is None else _balance(value)


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
