"""Builds of the service that must fail, for the controls of a proof.

A build is a copy of the sources in which a module has one text replaced, or ends with a class or a
function that overrides its own.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from testing.machine import ROOT, RunFailed


class Change(NamedTuple):
    """A text of a module, and what takes its place."""

    module: str
    sound: str
    broken: str


class End(NamedTuple):
    """A new end of a module, and a text of what it overrides."""

    module: str
    known: str
    text: str


@dataclass(frozen=True, slots=True)
class Build:
    """What differs from the sources; `added` are new modules."""

    ends: tuple[End, ...] = ()
    changes: tuple[Change, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)

    def with_ends(self, *ends: End) -> "Build":
        """Return this build with more ends."""
        return replace(self, ends=(*self.ends, *ends))

    def write(self, folder: Path) -> Path:
        """Write a copy of the sources with all that differs; return its path.

        Raises:
            RunFailed: the sources lack a text that is replaced or overridden.
        """
        sources = _copy_sources(folder)
        package = sources / "farebox"
        for name, sound, broken in self.changes:
            text = _text_with(package / name, sound)
            (package / name).write_text(text.replace(sound, broken))
        for name, known, end in self.ends:
            text = _text_with(package / name, known)
            (package / name).write_text(text + end)
        for name, text in self.added.items():
            (package / name).write_text(text)
        return sources


def _copy_sources(folder: Path) -> Path:
    """Copy the sources to `folder`/src."""
    sources = folder / "src"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    return sources


def _text_with(module: Path, part: str) -> str:
    """Read a module and check that it contains the part exactly once."""
    text = module.read_text() if module.is_file() else ""
    if text.count(part) != 1:
        name = str(module).rpartition("/farebox/")[2]
        raise RunFailed(f"the control does not fit {name} any more")
    return text
