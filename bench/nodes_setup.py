"""The service of an earlier commit, for comparison: its sources, its database, its relayer."""

import asyncio
import os
import tarfile
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Final

from bench.settle_setup import SettleSetup
from testing.database import create_database
from testing.machine import ROOT, RunFailed, say, subfolder

BEFORE: Final = "82b18cf"  # the last one that read whole ledgers
_DATABASE: Final = "earlier"


@dataclass(frozen=True, slots=True)
class EarlierSetup(SettleSetup):
    """The same devnet and accounts, with another build of the service."""

    sources: Path

    def settings(self) -> dict[str, str]:
        """Return this checkout's settings with the path of the earlier code."""
        return SettleSetup.settings(self) | {
            "PYTHONPATH": os.pathsep.join([str(self.sources), str(ROOT)]),
            "FAREBOX_CONNECTIONS_PER_ADDRESS": "",  # it does not know the setting
        }


async def export_sources(folder: Path) -> Path:
    """Export the sources of the earlier commit to a folder.

    Raises:
        RunFailed: this checkout has no history, or one without that commit.
    """
    exported = subfolder(folder, BEFORE)
    process = await asyncio.create_subprocess_exec(
        *("git", "archive", "--format=tar", BEFORE, "src"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    archive, stderr = await process.communicate()
    if process.returncode:
        message = stderr.decode(errors="replace").strip()
        raise RunFailed(f"the commit {BEFORE} is not in this checkout's history: {message}")
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(exported, filter="data")
    return exported / "src"


async def open_earlier_setup(setup: SettleSetup, sources: Path) -> EarlierSetup:
    """Set up the earlier build with a database and a relayer of its own."""
    say(f"the same with the service of {BEFORE}")
    database = await create_database(setup.database, _DATABASE)
    kept = {field.name: getattr(setup, field.name) for field in fields(setup)}
    changed = {"database": database, "relayer": setup.signers[0]}
    return EarlierSetup(**(kept | changed), sources=sources)
