"""The ledger entry of an account: its key, and the two fields a fee payer needs."""

import struct
from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import AccountState
from farebox.stellar.xdr_reader import Malformed, XdrReader

_ACCOUNT: Final = 0  # LedgerEntryType, and the arm of its key
_ED25519: Final = 0  # PublicKeyType


def account_key(account: Address) -> bytes:
    """The ledger key (XDR) of a G… account."""
    return struct.pack(">II", _ACCOUNT, _ED25519) + raw_key(account)


def read_account(data: bytes, account: Address, *, as_of_ledger: int) -> AccountState | None:
    """Balance and sequence number of `account`; None when `data` is not that account's entry.

    What follows the two fields is left unread: it differs from one protocol to the next.
    """
    reader = XdrReader(data)
    try:
        if not reader.take(account_key(account)):
            return None
        balance, sequence = reader.int64(), reader.int64()
    except Malformed:
        return None
    if balance < 0 or sequence < 0:
        return None
    return AccountState(sequence, Stroops(balance), as_of_ledger)
