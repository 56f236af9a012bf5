"""The sealed values that share the master keys: each domain with the rows that hold its values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from farebox.storage.pool import Connection
from farebox.vault.sealing import AssociatedData, Sealed


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A sealed value with its associated data, by whose id its row is found."""

    associated_data: AssociatedData
    sealed: Sealed


class SealedRows(Protocol):
    """Rows with sealed values of one domain."""

    async def count_versions(self, db: Connection) -> Mapping[int, int]:
        """Count the values of each key version."""
        ...

    async def find_versions(self, db: Connection) -> frozenset[int]:
        """Find the key versions in use, without reading every row."""
        ...

    async def list_sealed_with(
        self, db: Connection, version: int, *, limit: int
    ) -> Sequence[SealedSecret]:
        """List some values that this key version seals."""
        ...

    async def list_to_rekey(
        self, db: Connection, version: int, *, after: str, limit: int
    ) -> Sequence[SealedSecret]:
        """List values that another key version seals, by their ids, after one."""
        ...

    async def replace_sealed(self, db: Connection, old: SealedSecret, new: Sealed) -> bool:
        """Replace a value; False when it was changed since it was read."""
        ...


@dataclass(frozen=True, slots=True)
class SealedDomain:
    """A domain of sealed values, and where they are."""

    domain: str
    rows: SealedRows
