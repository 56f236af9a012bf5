"""The control of the console's run: a build that shows a stranger's text as markup."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from testing.machine import ROOT, RunFailed, build_environment, subfolder

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
    done = subprocess.run(
        ["npm", "run", "--silent", "build"],
        cwd=console,
        env=build_environment({}) | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=_BUILD_S,
        check=False,
    )
    built = folder / "src" / "farebox" / "console_build"
    if done.returncode or not (built / "index.html").is_file():
        raise RunFailed(f"the control cannot be built:\n{(done.stdout + done.stderr)[-800:]}")
    return built
