"""A build of the service that must fail: it issues twice, and caches credentials."""

from pathlib import Path
from typing import Final

from prove.broken_build import Change, sources_with_changes

_BREAKS: Final[tuple[Change, ...]] = (
    (
        "accounts/authenticate.py",
        """\
        async with self._database.connection() as db:
            stored = await find(db, credential.digest)
""",
        """\
        stored = _REMEMBERED.get(credential.digest)
        if stored is None:
            async with self._database.connection() as db:
                stored = await find(db, credential.digest)
            if stored is not None:
                _REMEMBERED[credential.digest] = stored
""",
    ),
    (
        "accounts/authenticate.py",
        "\n\nclass UsageRecorder",
        "\n\n_REMEMBERED = {}\n\nclass UsageRecorder",
    ),
    (
        "accounts/key_store.py",
        "        WHERE id = $2 AND owner = $1 AND revoked_at IS NULL AND {_LIVE}\n",
        "        WHERE id = $2 AND owner = $1\n",
    ),
    (
        "accounts/challenge_store.py",
        """\
          AND consumed_at IS NULL AND expires_at > clock_timestamp()
        RETURNING consumed_at
""",
        """\
          AND expires_at > clock_timestamp()
        RETURNING consumed_at
""",
    ),
)


def careless_sources(folder: Path) -> Path:
    """Write a copy of the sources in which nothing is consumed and credentials are cached.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    return sources_with_changes(folder, _BREAKS)
