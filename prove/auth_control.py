"""A build of the service that must fail: it gives out twice, and remembers who was let in."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.machine import ROOT, RunFailed


@dataclass(frozen=True, slots=True)
class _Break:
    path: str
    sound: str
    broken: str


_BREAKS: Final = (
    _Break(
        "farebox/accounts/authenticate.py",
        """\
        async with self._database.connection() as db:
            found = await find(db, shown.digest)
""",
        """\
        found = _REMEMBERED.get(shown.digest)
        if found is None:
            async with self._database.connection() as db:
                found = await find(db, shown.digest)
            if found is not None:
                _REMEMBERED[shown.digest] = found
""",
    ),
    _Break(
        "farebox/accounts/authenticate.py", "\n\nclass Uses", "\n\n_REMEMBERED = {}\n\nclass Uses"
    ),
    _Break(
        "farebox/accounts/key_store.py",
        "        WHERE id = $2 AND owner = $1 AND revoked_at IS NULL AND {_LIVE}\n",
        "        WHERE id = $2 AND owner = $1\n",
    ),
    _Break(
        "farebox/accounts/challenge_store.py",
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
    """A copy of the sources in which nothing is consumed and nothing forgotten.

    Raises:
        RunFailed: the sources are no longer as the control expects them.
    """
    sources = folder / "src"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    for each in _BREAKS:
        module = sources / each.path
        text = module.read_text()
        if text.count(each.sound) != 1:
            raise RunFailed(f"the control does not fit {each.path} any more")
        module.write_text(text.replace(each.sound, each.broken))
    return sources
