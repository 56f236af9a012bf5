"""Whether the master keys open everything that is stored."""

from dataclasses import dataclass
from types import TracebackType
from typing import Final, NoReturn, Self

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.errors import Refusal
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.vault import secret_store
from farebox.vault.master_keys import MasterKeys
from farebox.vault.sealing import SealBroken, Sealer
from farebox.vault.secret_store import SealedSecret

EVERY_S: Final = 60.0
_SAMPLES: Final = 8  # of one version: some of them may be damaged

log = structlog.get_logger(__name__)


class MasterKeyMissing(Refusal):
    """Secrets are stored that none of the configured keys opens."""

    def __init__(self, versions: frozenset[int]) -> None:
        named = ", ".join(map(str, sorted(versions)))
        words = (
            f"Secrets are sealed with master keys of version {named}, which "
            "FAREBOX_MASTER_KEYS does not name: add them, or re-seal first (farebox vault rekey)."
        )
        super().__init__("master_key_missing", words)


class MasterKeyWrong(Refusal):
    """A key has the version of one that sealed secrets, and opens none of them."""

    def __init__(self, versions: frozenset[int]) -> None:
        named = ", ".join(map(str, sorted(versions)))
        words = (
            f"The master key of version {named} in FAREBOX_MASTER_KEYS is another one than that "
            "which sealed the secrets stored: give it back, and each new key a version of its own."
        )
        super().__init__("master_key_wrong", words)


@dataclass(frozen=True, slots=True)
class KeyFaults:
    """Versions that seal something stored and that the configured keys do not open."""

    missing: frozenset[int]
    wrong: frozenset[int]  # another key has the version


async def find_key_faults(db: Connection, keys: MasterKeys | None) -> KeyFaults:
    """What of all that is stored cannot be opened, and why."""
    stored = await secret_store.find_versions(db)
    if keys is None:
        return KeyFaults(stored, frozenset())
    missing, sealer = keys.missing(stored), Sealer(keys)
    wrong = []
    for version in stored - missing:
        samples = await secret_store.list_sealed_with(db, version, limit=_SAMPLES)
        # without any the last one was deleted or re-sealed just now
        if samples and not any(_opens(sealer, sample) for sample in samples):
            wrong.append(version)
    return KeyFaults(missing, frozenset(wrong))


def _opens(sealer: Sealer, sample: SealedSecret) -> bool:
    try:
        return bool(sealer.open(sample.sealed, sample.context))
    except SealBroken:
        return False


class KeyCheck:
    """Refuses a start without a key that is needed, or with another in its place.

    What comes later is said in the log. A start does not depend on the database: while that is
    away, `run` goes on asking, and what it finds first counts as found at the start.
    """

    def __init__(self, database: Database, keys: MasterKeys | None, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._keys = keys
        self._has_begun = False

    async def __aenter__(self) -> Self:
        await self.check()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    async def run(self) -> NoReturn:
        """Check for ever."""
        while True:
            await self._clock.sleep(EVERY_S)
            await self.check()

    async def check(self) -> None:
        """Everything stored can be opened, or nobody knows.

        Raises:
            MasterKeyMissing: the first look at the database found that it cannot.
            MasterKeyWrong: likewise.
        """
        try:
            async with self._database.connection() as db:
                found = await find_key_faults(db, self._keys)
        except DatabaseUnavailable:
            log.warning("vault.keys_not_checked")
            return
        if found.missing and not self._has_begun:
            raise MasterKeyMissing(found.missing)
        if found.wrong and not self._has_begun:
            raise MasterKeyWrong(found.wrong)
        self._has_begun = True
        if found.missing:
            log.error("vault.master_key_missing", versions=sorted(found.missing))
        if found.wrong:
            log.error("vault.master_key_wrong", versions=sorted(found.wrong))
