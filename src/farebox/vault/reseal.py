"""Seal every secret anew with the first master key, while the service runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.storage.faults import Conflict
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.sealing import NonceUsed, SealBroken, Sealed, Sealer
from farebox.vault.secret_store import SealedSecret

BATCH: Final = 100
_PASSES: Final = 3  # a replica with older settings may seal with the old key meanwhile


@dataclass(frozen=True, slots=True)
class Resealed:
    """How far it has come; `unreadable` names the secrets that do not open."""

    resealed: int
    left: int  # sealed with another key still, those that do not open included
    unreadable: tuple[str, ...]


class Resealing:
    """May be stopped anywhere and begun again: what is done is done.

    A secret that gets a new value meanwhile keeps that value.
    """

    def __init__(
        self,
        database: Database,
        sealer: Sealer,
        tell: Callable[[Resealed], None],
        *,
        batch: int = BATCH,
    ) -> None:
        self._database, self._sealer, self._tell = database, sealer, tell
        self._batch = batch
        self._resealed = 0
        self._left = 0
        self._unreadable: set[str] = set()

    async def run(self) -> Resealed:
        """Whatever opens is sealed with the first key; `tell` hears of every batch.

        Raises:
            NonceUsed: the system's randomness is broken; what was done before stays done.
        """
        for _ in range(_PASSES):
            await self._count()
            if self._left <= len(self._unreadable):
                break
            await self._pass()
        await self._count()
        return self._so_far()

    async def _count(self) -> None:
        async with self._database.connection() as db:
            counts = await secret_store.count_versions(db)
        self._left = sum(n for version, n in counts.items() if version != self._sealer.version)

    async def _pass(self) -> None:
        self._unreadable.clear()
        after = ""
        while True:
            async with self._database.connection() as db:
                found = await secret_store.list_sealed_otherwise(
                    db, self._sealer.version, after=after, limit=self._batch
                )
            if not found:
                return
            moved = await self._move(found)
            self._resealed += moved
            self._left -= moved
            self._tell(self._so_far())
            after = found[-1].context.id

    async def _move(self, found: Sequence[SealedSecret]) -> int:
        moved = 0
        try:
            async with self._database.transaction() as db:
                for old in found:
                    new = self._anew(old)
                    moved += new is not None and await secret_store.replace_sealed(db, old, new)
        except Conflict as conflict:
            raise NonceUsed from conflict
        return moved

    def _anew(self, old: SealedSecret) -> Sealed | None:
        try:
            return self._sealer.seal(self._sealer.open(old.sealed, old.context), old.context)
        except SealBroken:
            self._unreadable.add(old.context.id)
            return None

    def _so_far(self) -> Resealed:
        return Resealed(self._resealed, max(self._left, 0), tuple(sorted(self._unreadable)))
