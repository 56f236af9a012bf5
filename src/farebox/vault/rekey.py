"""Rekey: seal every secret again with the first master key, while the service runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.storage.faults import Conflict
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.sealed_rows import SealedRows, SealedSecret
from farebox.vault.sealing import NonceUsed, SealBroken, Sealed, Sealer

BATCH: Final = 100
_PASSES: Final = 3  # a replica with old settings may seal with the old key meanwhile


@dataclass(frozen=True, slots=True)
class RekeyProgress:
    """The progress of a rekey; `unreadable` has the ids of secrets that cannot be opened."""

    resealed: int
    left: int  # still sealed with another key, unreadable ones included
    unreadable: tuple[str, ...]


class Rekeying:
    """Reseals the values of one domain in batches; it may be interrupted and repeated.

    `sealer` is of the domain of `rows`.

    A secret that its owner rotates meanwhile keeps the new value.
    """

    def __init__(
        self,
        database: Database,
        sealer: Sealer,
        report: Callable[[RekeyProgress], None],
        *,
        batch: int = BATCH,
        rows: SealedRows = secret_store,
    ) -> None:
        self._database, self._sealer, self._report = database, sealer, report
        self._rows = rows
        self._batch = batch
        self._resealed = 0
        self._left = 0
        self._unreadable: set[str] = set()

    async def run(self) -> RekeyProgress:
        """Reseal every readable secret; `report` is called after each batch.

        Raises:
            NonceUsed: the system's randomness is broken; earlier batches are kept.
        """
        for _ in range(_PASSES):
            await self._count()
            if self._left <= len(self._unreadable):
                break
            await self._pass()
        await self._count()
        return self._progress()

    async def _count(self) -> None:
        async with self._database.connection() as db:
            counts = await self._rows.count_versions(db)
        self._left = sum(n for version, n in counts.items() if version != self._sealer.version)

    async def _pass(self) -> None:
        self._unreadable.clear()
        after = ""
        while True:
            async with self._database.connection() as db:
                batch = await self._rows.list_to_rekey(
                    db, self._sealer.version, after=after, limit=self._batch
                )
            if not batch:
                return
            replaced = await self._replace(batch)
            self._resealed += replaced
            self._left -= replaced
            self._report(self._progress())
            after = batch[-1].associated_data.id

    async def _replace(self, batch: Sequence[SealedSecret]) -> int:
        replaced = 0
        try:
            async with self._database.transaction() as db:
                for old in batch:
                    new = self._reseal(old)
                    replaced += new is not None and await self._rows.replace_sealed(db, old, new)
        except Conflict as conflict:
            raise NonceUsed from conflict
        return replaced

    def _reseal(self, old: SealedSecret) -> Sealed | None:
        try:
            value = self._sealer.open_bytes(old.sealed, old.associated_data)
            return self._sealer.seal_bytes(value, old.associated_data)
        except SealBroken:
            self._unreadable.add(old.associated_data.id)
            return None

    def _progress(self) -> RekeyProgress:
        return RekeyProgress(self._resealed, max(self._left, 0), tuple(sorted(self._unreadable)))
