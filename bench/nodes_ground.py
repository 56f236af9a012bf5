"""The service of an earlier commit beside this one: its sources, its database, its relayer."""

import asyncio
import os
import tarfile
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import asyncpg

from bench.settle_ground import Ground
from e2e.machine import ROOT, RunFailed, say, subfolder
from farebox.kernel.secret import Secret

BEFORE: Final = "82b18cf"  # the last one that read whole ledgers
_DATABASE: Final = "earlier"


@dataclass(frozen=True, slots=True)
class EarlierGround(Ground):
    """The same devnet and accounts, with another build of the service."""

    sources: Path

    def settings(self) -> dict[str, str]:
        """Those of this checkout's service, and where the other one's code is."""
        return Ground.settings(self) | {
            "PYTHONPATH": os.pathsep.join([str(self.sources), str(ROOT)])
        }


async def exported_sources(folder: Path) -> Path:
    """The sources of the service as of the earlier commit, in a folder of the bench's own.

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
    archive, said = await process.communicate()
    if process.returncode:
        words = said.decode(errors="replace").strip()
        raise RunFailed(f"the commit {BEFORE} is not in this checkout's history: {words}")
    with tarfile.open(fileobj=BytesIO(archive)) as opened:
        opened.extractall(exported, filter="data")
    return exported / "src"


async def earlier_ground(here: Ground, sources: Path) -> EarlierGround:
    """A ground for that build: nothing of its money or its rows is shared with `here`."""
    say(f"the same with the service of {BEFORE}")
    server = here.database.reveal()
    owner = await asyncpg.connect(server)
    try:
        await owner.execute(f"CREATE DATABASE {_DATABASE}")
    finally:
        await owner.close()
    database = urlsplit(server)._replace(path=f"/{_DATABASE}").geturl()
    kept = {field.name: getattr(here, field.name) for field in fields(here)}
    changed = {"database": Secret(database), "relayer": here.signers[0]}
    return EarlierGround(**(kept | changed), sources=sources)
