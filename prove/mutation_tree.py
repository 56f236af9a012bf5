"""A copy of the checkout, in which a module may be changed and tests are run."""

import asyncio
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testing.machine import ROOT, RunFailed, subfolder

# what tests import besides the sources
TREES: Final = ("tests", "testing", "bench", "e2e", "eval", "prove")
_BUILT: Final = "src/farebox/console_build"  # not in git
_STOP_S: Final = 20.0
_MEMORY_KIB: Final = str(4 * 1024 * 1024)  # a mutant may make a list that never ends
_PLUGIN: Final = "prove/mutation_plugin.py"  # of this checkout, whatever tests are run
# to load every plugin that is installed takes a second more
_PLUGINS: Final = ("pytest_asyncio.plugin", "_hypothesis_pytestplugin", "prove.mutation_plugin")
_NOT_GIVEN: Final = frozenset(
    (
        *("COUNT", "SEED", "WORK", "QUICK", "TESTS_AT", "JOBS"),
        *("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTHONDONTWRITEBYTECODE"),
    )
)


@dataclass(frozen=True, slots=True)
class TestResult:
    """The end of one test."""

    __test__ = False

    name: str
    passed: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class TreeRun:
    """The end of a run of tests; `code` is pytest's, and negative where a signal ended it."""

    code: int
    results: Sequence[TestResult]
    is_late: bool

    @property
    def failed(self) -> list[str]:
        """Return the names of the tests that failed."""
        return [each.name for each in self.results if not each.passed]


def read_results(path: Path) -> list[TestResult]:
    """Read what the plugin has written; a line that was cut off is left out."""
    results = []
    for line in path.read_text().splitlines() if path.is_file() else []:
        with suppress(ValueError):
            read = json.loads(line)
            results.append(TestResult(read["test"], read["passed"], read["seconds"]))
    return results


def write_results(path: Path, results: Sequence[TestResult]) -> None:
    """Write results as the plugin does."""
    lines = [
        json.dumps({"test": each.name, "passed": each.passed, "seconds": each.seconds})
        for each in results
    ]
    path.write_text("".join(f"{line}\n" for line in lines))


def _git(root: Path, *arguments: str) -> bytes:
    try:
        return subprocess.run(("git", *arguments), cwd=root, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError) as fault:
        said = getattr(fault, "stderr", b"").decode(errors="replace").strip()
        raise RunFailed(f"git {arguments[0]} failed: {said or fault}") from fault


class MutationTree:
    """The copy; `folder` is its root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs = 0

    @classmethod
    def copy(cls, folder: Path, tests_at: str = "", *, root: Path = ROOT) -> "MutationTree":
        """Copy the files of the checkout as they are.

        If a commit is named, the tests and what they import are as they were there: it may have
        another layout.

        Raises:
            RunFailed: git does not know the commit.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if tests_at:
            there = _git(root, "ls-tree", "-z", "--name-only", tests_at, *TREES).decode()
            names = {"tests", *filter(None, there.split("\0"))}  # without a name all were packed
            packed = _git(root, "archive", "--format=tar", tests_at, *sorted(names))
            subprocess.run(("tar", "-xf", "-"), cwd=folder, input=packed, check=True)
        known = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, known.decode().split("\0")):
            is_exchanged = tests_at and name.partition("/")[0] in TREES and name != _PLUGIN
            if (root / name).is_file() and not is_exchanged:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, folder / name)
        if (root / _BUILT).is_dir():
            shutil.copytree(root / _BUILT, folder / _BUILT)
        return cls(folder)

    def digest(self, *names: str) -> str:
        """Return what stands for the contents of these files and folders."""
        total = hashlib.sha256()
        for name in names:
            place = self.folder / name
            for path in [place] if place.is_file() else sorted(place.rglob("*")):
                if path.is_file() and path.suffix != ".pyc" and _BUILT not in path.as_posix():
                    total.update(path.relative_to(self.folder).as_posix().encode() + b"\0")
                    total.update(hashlib.sha256(path.read_bytes()).digest())
        return total.hexdigest()[:16]

    def read(self, path: str) -> str:
        """Read a file by its path in the checkout."""
        return (self.folder / path).read_text()

    @contextmanager
    def changed(self, path: str, text: str) -> Iterator[None]:
        """Give a module another text meanwhile."""
        module = self.folder / path
        compiled = Path(importlib.util.cache_from_source(str(module)))
        sound = module.read_text()
        compiled.unlink(missing_ok=True)  # it holds for a second, if the sizes are the same
        module.write_text(text)
        try:
            yield
        finally:
            module.write_text(sound)
            compiled.unlink(missing_ok=True)

    async def run_tests(
        self,
        tests: Sequence[str],
        *arguments: str,
        within_s: float,
        environment: Mapping[str, str] | None = None,
    ) -> TreeRun:
        """Run tests, modules of tests or folders by their names, module by module."""
        self._runs += 1
        results, listed = (self.folder / f"{self._runs}.{end}" for end in ("jsonl", "tests"))
        modules = dict.fromkeys(name.partition("::")[0] for name in tests)
        is_listed = all(name.endswith(".py") for name in modules)
        listed.write_text("\n".join(tests))
        scratch = subfolder(self.folder, f"{self._runs}.tmp")  # killed tests leave databases here
        options = [part for name in _PLUGINS for part in ("-p", name)]
        options += ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=1"]
        given = {name: value for name, value in os.environ.items() if name not in _NOT_GIVEN}
        given |= {
            "TMPDIR": str(scratch),
            "PYTHONPATH": os.pathsep.join([str(self.folder / "src"), str(self.folder)]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "MUTATION_RESULTS": str(results),
            "MUTATION_TESTS": str(listed) if is_listed else "",
            **(environment or {}),
        }
        command = (sys.executable, "-m", "pytest", *options, *arguments, *modules)
        code, is_late = await self._run(command, given, within_s)
        for left in (scratch, self.folder / ".hypothesis"):  # the latter: what a mutant failed at
            shutil.rmtree(left, ignore_errors=True)
        ended = TreeRun(code, read_results(results), is_late)
        for path in (results, listed):
            path.unlink(missing_ok=True)
        return ended

    async def _run(
        self, command: Sequence[str], environment: Mapping[str, str], within_s: float
    ) -> tuple[int, bool]:
        """Run a command in a session of its own, and end all of it; its output is `output`."""
        limited = ("sh", "-c", f'ulimit -d {_MEMORY_KIB}; exec "$@"', "sh", *command)
        with (self.folder / "output").open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *limited,
                env=dict(environment),
                cwd=self.folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        is_late = False
        try:
            async with asyncio.timeout(within_s):
                await process.wait()
        except TimeoutError:
            is_late = True
        finally:
            await _end_session(process)
        return process.returncode or 0, is_late


async def _end_session(process: asyncio.subprocess.Process) -> None:
    """Interrupt pytest, which then ends what its fixtures have started; kill what is left."""
    if process.returncode is None:
        process.send_signal(signal.SIGINT)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
