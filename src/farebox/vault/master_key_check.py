"""Check that the master keys open every stored secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, NoReturn, Self

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.errors import CommandRefused
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Connection, Database
from farebox.vault import secret_store
from farebox.vault.master_keys import MasterKeys
from farebox.vault.sealed_rows import SealedDomain, SealedSecret
from farebox.vault.sealing import UPSTREAM_SECRETS, SealBroken, Sealer

INTERVAL_S: Final = 60.0
_SAMPLES: Final = 8  # of one version, because some may be damaged
_NAMED: Final = 5  # versions in one message: a damaged column may have any number of them

log = structlog.get_logger(__name__)


def name_versions(versions: frozenset[int]) -> str:
    """Name the lowest versions, five at most, and say how many there are where there are more."""
    named = ", ".join(map(str, sorted(versions)[:_NAMED]))
    return named if len(versions) <= _NAMED else f"{named} and others ({len(versions)} in all)"


class MasterKeyMissing(CommandRefused):
    """Stored secrets are sealed with key versions that are not configured."""

    def __init__(self, versions: frozenset[int]) -> None:
        named = name_versions(versions)
        words = (
            f"Secrets are sealed with master keys of version {named}, which are not in "
            "FAREBOX_MASTER_KEYS: add them, or rekey first (farebox vault rekey)."
        )
        super().__init__(words)


class MasterKeyWrong(CommandRefused):
    """A configured key opens no secret of its version."""

    def __init__(self, versions: frozenset[int]) -> None:
        named = name_versions(versions)
        words = (
            f"The master key of version {named} in FAREBOX_MASTER_KEYS is not the key that sealed "
            "the stored secrets: restore that key, and give each new key its own version."
        )
        super().__init__(words)


@dataclass(frozen=True, slots=True)
class MasterKeyFaults:
    """Versions of stored secrets that the configured keys do not open."""

    missing: frozenset[int]
    wrong: frozenset[int]  # the key of the version is another one


VAULT_SECRETS: Final = SealedDomain(UPSTREAM_SECRETS, secret_store)


async def find_master_key_faults(
    db: Connection,
    keys: MasterKeys | None,
    domains: Sequence[SealedDomain] = (VAULT_SECRETS,),
) -> MasterKeyFaults:
    """Find the versions of sealed values of all domains that `keys` do not open."""
    missing: frozenset[int] = frozenset()
    wrong: set[int] = set()
    for domain in domains:
        stored = await domain.rows.find_versions(db)
        if keys is None:
            missing |= stored
            continue
        missing |= keys.missing(stored)
        sealer = Sealer(keys, domain=domain.domain)
        for version in stored - missing:
            samples = await domain.rows.list_sealed_with(db, version, limit=_SAMPLES)
            # without samples the last one was deleted or resealed just now
            if samples and not any(_opens(sealer, sample) for sample in samples):
                wrong.add(version)
    return MasterKeyFaults(missing, frozenset(wrong))


def _opens(sealer: Sealer, sample: SealedSecret) -> bool:
    try:
        return bool(sealer.open_bytes(sample.sealed, sample.associated_data))
    except SealBroken:
        return False


class MasterKeyCheck:
    """Refuses a start with a missing or wrong master key; later faults are logged.

    A start does not depend on the database: while it is unavailable, `run` repeats the check, and
    its first result counts as that of the start.
    """

    def __init__(
        self,
        database: Database,
        keys: MasterKeys | None,
        clock: Clock,
        domains: Sequence[SealedDomain] = (VAULT_SECRETS,),
    ) -> None:
        self._database, self._clock = database, clock
        self._keys, self._domains = keys, domains
        self._has_checked = False

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
        """Check periodically."""
        while True:
            await self._clock.sleep(INTERVAL_S)
            await self.check()

    async def check(self) -> None:
        """Check the keys, unless the database is unavailable.

        Raises:
            MasterKeyMissing: a key is missing at the first check.
            MasterKeyWrong: a key is wrong at the first check.
        """
        try:
            async with self._database.connection() as db:
                faults = await find_master_key_faults(db, self._keys, self._domains)
        except DatabaseUnavailable:
            log.warning("vault.keys_not_checked")
            return
        if faults.missing and not self._has_checked:
            raise MasterKeyMissing(faults.missing)
        if faults.wrong and not self._has_checked:
            raise MasterKeyWrong(faults.wrong)
        self._has_checked = True
        if faults.missing:
            log.error(
                "vault.master_key_missing",
                alarm="master_key_missing",
                versions=name_versions(faults.missing),
            )
        if faults.wrong:
            log.error("vault.master_key_wrong", versions=name_versions(faults.wrong))
