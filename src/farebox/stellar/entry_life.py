"""How long an entry of the ledger may live: the network's setting `maxEntryTTL`."""

import struct
from typing import Final

from farebox.stellar.xdr_reader import Malformed, XdrReader

_CONFIG_SETTING: Final = 8  # LedgerEntryType, and the arm of its key
_STATE_ARCHIVAL: Final = 10  # ConfigSettingID

ARCHIVAL_KEY: Final = struct.pack(">II", _CONFIG_SETTING, _STATE_ARCHIVAL)


def read_max_entry_ttl(data: bytes) -> int | None:
    """The most ledgers that an entry lives, from the settings of archival; None for other data.

    It is the first of the settings: those behind it are not looked at.
    """
    reader = XdrReader(data)
    try:
        return reader.uint32() if reader.take(ARCHIVAL_KEY) else None
    except Malformed:
        return None
