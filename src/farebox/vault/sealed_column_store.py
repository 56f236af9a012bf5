"""A column of sealed bytes in another feature's table, as `rekey` and the start check read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from farebox.storage.pool import Connection, Row
from farebox.vault.sealed_bytes import join_sealed, split_sealed
from farebox.vault.sealed_rows import SealedSecret
from farebox.vault.sealing import AssociatedData, Sealed

_VERSION_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column whose values `ByteSealer` has sealed; NULL where there is none.

    `owner` and `record` are SQL expressions over the table, for the associated data; the record is
    unique in the table. An index over the first four bytes of the column finds the key versions.
    """

    table: LiteralString
    column: LiteralString
    owner: LiteralString
    record: LiteralString
    purpose: str

    @property
    def _version(self) -> LiteralString:
        return f"substring({self.column} FROM 1 FOR 4)"

    @property
    def _select(self) -> LiteralString:
        return (
            f"SELECT {self.owner} AS owner, {self.record} AS record, {self.column} AS sealed"
            f" FROM {self.table} WHERE {self.column} IS NOT NULL"
        )

    async def count_versions(self, db: Connection) -> Mapping[int, int]:
        """Count the values of each key version, the newest first."""
        rows = await db.fetch(
            f"""
            SELECT {self._version} AS version, count(*) AS n FROM {self.table}
            WHERE {self.column} IS NOT NULL GROUP BY 1 ORDER BY 1 DESC
            """
        )
        return {int.from_bytes(row["version"], "big"): row["n"] for row in rows}

    async def find_versions(self, db: Connection) -> frozenset[int]:
        """Find the key versions in use, with one index probe for each."""
        found: list[bytes] = [b""]
        while True:
            version = await db.fetchval(
                f"""
                SELECT {self._version} FROM {self.table}
                WHERE {self.column} IS NOT NULL AND {self._version} > $1
                ORDER BY {self._version} LIMIT 1
                """,
                found[-1],
            )
            if version is None:
                return frozenset(int.from_bytes(each, "big") for each in found[1:])
            found.append(version)

    async def list_sealed_with(
        self, db: Connection, version: int, *, limit: int
    ) -> Sequence[SealedSecret]:
        """List some values that this key version seals."""
        rows = await db.fetch(
            f"{self._select} AND {self._version} = $1 LIMIT $2", _encode(version), limit
        )
        return [self._read(row) for row in rows]

    async def list_to_rekey(
        self, db: Connection, version: int, *, after: str, limit: int
    ) -> Sequence[SealedSecret]:
        """List values that another key version seals, by their records, after one."""
        rows = await db.fetch(
            f"""
            {self._select} AND {self._version} <> $1 AND {self.record} > $2
            ORDER BY {self.record} LIMIT $3
            """,
            _encode(version),
            after,
            limit,
        )
        return [self._read(row) for row in rows]

    async def replace_sealed(self, db: Connection, old: SealedSecret, new: Sealed) -> bool:
        """Replace a value; False when it was changed since it was read."""
        replaced = await db.fetchval(
            f"""
            UPDATE {self.table} SET {self.column} = $3
            WHERE {self.record} = $1 AND {self.column} = $2 RETURNING true
            """,
            old.associated_data.id,
            join_sealed(old.sealed),
            join_sealed(new),
        )
        return replaced is True

    def _read(self, row: Row) -> SealedSecret:
        data = AssociatedData(row["owner"], self.purpose, row["record"])
        return SealedSecret(data, split_sealed(row["sealed"]))


def _encode(version: int) -> bytes:
    return version.to_bytes(_VERSION_BYTES, "big")
