"""Builds of the service that must fail, for the control of a proof.

A build is a copy of the sources in which a module has one text replaced, or ends with a class or a
function that overrides its own.
"""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from testing.machine import ROOT, RunFailed

Change = tuple[str, str, str]  # module, its original text, the replacement
Ends = Mapping[str, tuple[str, str]]  # module: start of the overridden definition, and the new end


def _copy_sources(folder: Path) -> Path:
    """Copy the sources to `folder`/src."""
    sources = folder / "src"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    return sources


def sources_with_changes(folder: Path, changes: Iterable[Change]) -> Path:
    """Write a copy of the sources with these texts replaced.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    sources = _copy_sources(folder)
    for name, sound, broken in changes:
        text = _text_with(sources, name, sound)
        (sources / "farebox" / name).write_text(text.replace(sound, broken))
    return sources


def sources_with_ends(folder: Path, ends: Ends) -> Path:
    """Write a copy of the sources with these texts appended to modules.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    sources = _copy_sources(folder)
    for name, (replaced, end) in ends.items():
        text = _text_with(sources, name, replaced)
        (sources / "farebox" / name).write_text(text + end)
    return sources


def _text_with(sources: Path, name: str, part: str) -> str:
    """Read a module and check that it contains the part exactly once."""
    module = sources / "farebox" / name
    text = module.read_text() if module.is_file() else ""
    if text.count(part) != 1:
        raise RunFailed(f"the control does not fit {name} any more")
    return text
