"""Installs npm packages from the lock file and verifies that they are unmodified."""

import base64
import hashlib
import json
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testing.commands import output_of
from testing.machine import RunFailed, say

_STAMP: Final = ".installed-from"
_NPM_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class ChangedPackage:
    """A package whose installed files are not those of its published archive."""

    package: str
    difference: str


def install(folder: Path) -> None:
    """Install exactly the locked packages in `folder`/node_modules, unless they are there.

    Raises:
        RunFailed: npm is absent or cannot install them.
    """
    digest = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "node_modules" / _STAMP
    if stamp.exists() and stamp.read_text() == digest:
        return
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise RunFailed("node and npm are needed for this: install Node.js 20 or newer")
    say(f"installing the npm packages of {folder.name}/ from its lock file")
    _npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], folder)
    stamp.write_text(digest)


def changed_packages(folder: Path, names: tuple[str, ...], scratch: Path) -> list[ChangedPackage]:
    """Compare installed packages with their published archives, file by file.

    An archive counts as published when its SHA-512 is the one in the lock file.
    """
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    changed: list[ChangedPackage] = []
    for name in names:
        entry = locked[f"node_modules/{name}"]
        difference = _difference(folder, name, entry, scratch)
        if difference:
            changed.append(ChangedPackage(name, difference))
    return changed


def _difference(folder: Path, name: str, entry: dict[str, str], scratch: Path) -> str | None:
    published = entry.get("name", name)
    archive = _archive(folder, f"{published}@{entry['version']}", scratch)
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != entry["integrity"]:
        return "the archive is not the one the lock file names"
    installed = folder / "node_modules" / name
    expected: set[str] = set()
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            if not member.isfile():
                continue
            inside = member.name.split("/", 1)[1]
            expected.add(inside)
            content = files.extractfile(member)
            if content is None or not (installed / inside).is_file():
                return f"{inside} is missing"
            if content.read() != (installed / inside).read_bytes():
                return f"{inside} differs"
    extra = [p for p in _files_of(installed) if p not in expected]
    return f"{extra[0]} was added" if extra else None


def _files_of(installed: Path) -> list[str]:
    return [
        str(path.relative_to(installed))
        for path in sorted(installed.rglob("*"))
        if path.is_file() and "node_modules" not in path.relative_to(installed).parts
    ]


def _archive(folder: Path, spec: str, scratch: Path) -> Path:
    output = _npm(
        ["pack", spec, "--json", "--prefer-offline", "--pack-destination", str(scratch)], folder
    )
    return scratch / str(json.loads(output)[0]["filename"])


def _npm(arguments: list[str], folder: Path) -> str:
    name = f"npm {arguments[0]}"
    return output_of(["npm", *arguments], name=name, within_s=_NPM_S, cwd=folder)
