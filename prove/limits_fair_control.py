"""Builds of the service that must fail: each lacks one rule of the fair limits."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from prove.broken_build import Change, sources_with_changes


class Control(StrEnum):
    """The defect of a build."""

    KEYS = "it counts every caller by key, and expires the oldest challenges of an account"
    REPLICAS = "each replica counts alone and by address, and no quota is enforced"


_BREAKS: Final[Mapping[Control, tuple[Change, ...]]] = {
    Control.KEYS: (
        (
            "web/guard.py",
            "    if caller is None or not caller.is_established:\n",
            "    if caller is None:\n",
        ),
        (
            "accounts/challenge_store.py",
            '''\
    digest = await db.fetchval(
        f"""
        INSERT INTO challenges''',
            '''\
    await db.execute(
        f"""
        UPDATE challenges SET expires_at = clock_timestamp() WHERE digest IN (
            SELECT digest FROM challenges WHERE address = $1 AND {_OPEN}
            ORDER BY issued_at DESC OFFSET 49)
        """,
        challenge.address,
    )
    digest = await db.fetchval(
        f"""
        INSERT INTO challenges''',
        ),
    ),
    Control.REPLICAS: (
        (
            "web/guard.py",
            "    if caller is None or not caller.is_established:\n",
            "    if caller is None or caller.kind:\n",
        ),
        (
            "ingress/rate_limiter.py",
            "        if now >= self._paused_until:\n",
            "        if now < self._paused_until:\n",
        ),
        (
            "storage/client_quota.py",
            "    if client is None:\n",
            "    if client != 0:\n",
        ),
    ),
}


def broken_sources(folder: Path, control: Control) -> Path:
    """Write a copy of the sources with these defects.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    return sources_with_changes(folder, _BREAKS[control])
