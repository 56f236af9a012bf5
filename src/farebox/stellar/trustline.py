"""The ledger entry of a trustline: how much of a classic asset an account holds, and may hold."""

from dataclasses import dataclass
from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.account_entry import NO_LIABILITIES, Liabilities, read_liabilities
from farebox.stellar.asset_contract import credit_xdr
from farebox.stellar.xdr_reader import Malformed, XdrReader

_TRUSTLINE: Final = (1).to_bytes(4, "big")  # LedgerEntryType, and the arm of its key
_ED25519: Final = bytes(4)  # PublicKeyType
_AUTHORIZED: Final = 1  # TrustLineFlags
_MAINTAINS_LIABILITIES: Final = 2
_CLAWBACK: Final = 4


@dataclass(frozen=True, slots=True)
class Trustline:
    """A trustline; its amounts are in base units.

    `keeps_offers`: it is not authorized, but its offers stay. `is_clawback_enabled`: the issuer may
    take the asset back.
    """

    balance: BaseUnits
    limit: BaseUnits
    is_authorized: bool
    keeps_offers: bool
    is_clawback_enabled: bool
    liabilities: Liabilities


def trustline_key(account: Address, *, code: str, issuer: Address) -> bytes:
    """The ledger key (XDR) of the trustline of a G… account for an issued asset."""
    return _TRUSTLINE + _ED25519 + raw_key(account) + credit_xdr(code, issuer)


def read_trustline(data: bytes, key: bytes) -> Trustline | None:
    """Read the trustline under `key`; None when `data` is not that, or of an unknown form."""
    reader = XdrReader(data)
    try:
        if not reader.take(key):
            return None
        trustline = _read(reader)
        reader.finish()
    except Malformed:
        return None
    return trustline


def _read(reader: XdrReader) -> Trustline:
    balance, limit, flags = reader.int64(), reader.int64(), reader.uint32()
    if balance < 0 or limit < 0:
        raise Malformed
    liabilities = NO_LIABILITIES
    if reader.flag():  # the one extension
        liabilities = read_liabilities(reader)
        _skip_second_extension(reader)
    return Trustline(
        balance=BaseUnits(balance),
        limit=BaseUnits(limit),
        is_authorized=bool(flags & _AUTHORIZED),
        keeps_offers=bool(flags & _MAINTAINS_LIABILITIES),
        is_clawback_enabled=bool(flags & _CLAWBACK),
        liabilities=liabilities,
    )


def _skip_second_extension(reader: XdrReader) -> None:
    arm = reader.uint32()
    if arm == 2:
        reader.skip(4)  # the liquidity pools that use it
        reader.expect(0)
    elif arm != 0:
        raise Malformed
