"""Reads of the ledger by the execution of runs."""

from collections.abc import Sequence
from typing import Protocol

from farebox.stellar.rpc import LedgerEntries


class EntryReader(Protocol):
    """Reads ledger entries by their keys (XDR)."""

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries: ...
