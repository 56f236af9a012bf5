"""The control of the console's run: a build that shows a stranger's text as markup."""

import shutil
from pathlib import Path
from typing import Final

from testing.commands import output_of
from testing.machine import ROOT, RunFailed, subfolder

_BUILD_S: Final = 120.0
_FILE: Final = Path("src/features/developers/ApiKeys.tsx")
_TEXT: Final = '<strong className="foreign">{apiKey.name}</strong>'
_MARKUP: Final = '<strong className="foreign" dangerouslySetInnerHTML={{ __html: apiKey.name }} />'


def build_control(scratch: Path) -> Path:
    """Build the console from changed sources; return the folder of the build.

    Raises:
        RunFailed: the line to change is gone, or the build fails.
    """
    folder = subfolder(scratch, "control-build")
    console = folder / "console"
    shutil.copytree(ROOT / "console", console, ignore=shutil.ignore_patterns("node_modules"))
    (console / "node_modules").symlink_to(ROOT / "console" / "node_modules")
    source = console / _FILE
    text = source.read_text()
    if text.count(_TEXT) != 1:
        raise RunFailed(f"the control does not find its line in {_FILE}")
    source.write_text(text.replace(_TEXT, _MARKUP))
    command = ["npm", "run", "--silent", "build"]
    said = output_of(command, name="the control's build", within_s=_BUILD_S, cwd=console)
    built = folder / "src" / "farebox" / "console_build"
    if not (built / "index.html").is_file():
        raise RunFailed(f"the control cannot be built:\n{said[-800:]}")
    return built
