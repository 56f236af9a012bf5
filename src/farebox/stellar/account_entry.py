"""The ledger entry of an account: its key, and the fields a fee payer needs."""

import struct
from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import AccountState
from farebox.stellar.xdr_reader import Malformed, XdrReader

_ACCOUNT: Final = 0  # LedgerEntryType, and the arm of its key
_ED25519: Final = 0  # PublicKeyType
_RESERVE: Final = 5_000_000  # stroops an entry, on every public network for years
_OWN_ENTRIES: Final = 2  # what an account itself counts for
_MAX_SIGNERS: Final = 20
_DOMAIN_BYTES: Final = 32
_THRESHOLD_BYTES: Final = 4
_KEY_BYTES: Final = 32
_PAYLOAD_SIGNER: Final = 3
_MAX_PAYLOAD_BYTES: Final = 64


def account_key(account: Address) -> bytes:
    """The ledger key (XDR) of a G… account."""
    return struct.pack(">II", _ACCOUNT, _ED25519) + raw_key(account)


def read_account(data: bytes, account: Address, *, as_of_ledger: int) -> AccountState | None:
    """What `account` holds and used; None when `data` is not that account's entry.

    What follows its reserves is left unread: it differs from one protocol to the next.
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
    return AccountState(sequence, Stroops(balance), as_of_ledger, Stroops(_reserved(reader)))


def _reserved(reader: XdrReader) -> int:
    """What follows the sequence number comes to; nothing when it is of a form not known here."""
    try:
        entries = reader.uint32()
        if reader.flag():
            _skip_key(reader)  # where inflation once went
        reader.skip(4)  # flags
        reader.opaque(_DOMAIN_BYTES)
        reader.skip(_THRESHOLD_BYTES)
        for _ in range(reader.count(_MAX_SIGNERS)):
            _skip_signer(reader)
        selling, sponsored, sponsoring = 0, 0, 0
        if reader.uint32() == 1:
            reader.int64()  # what its offers buy
            selling = reader.int64()
            if reader.uint32() == 2:
                sponsored, sponsoring = reader.uint32(), reader.uint32()
    except Malformed:
        return 0
    return (_OWN_ENTRIES + entries + sponsoring - sponsored) * _RESERVE + selling


def _skip_key(reader: XdrReader) -> None:
    reader.expect(_ED25519)
    reader.skip(_KEY_BYTES)


def _skip_signer(reader: XdrReader) -> None:
    kind = reader.uint32()
    reader.skip(_KEY_BYTES)
    if kind == _PAYLOAD_SIGNER:
        reader.opaque(_MAX_PAYLOAD_BYTES)
    reader.skip(4)  # its weight
