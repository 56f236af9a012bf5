"""The tests that may kill a mutant: those that run its line, or those that import its module."""

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from prove.mutation_draw import Mutation
from prove.mutation_syntax import ModuleSyntax
from prove.mutation_tree import MutationTree, TestResult, read_results, write_results
from testing.machine import RunFailed, say

LEVELS: Final = ("unit", "property", "store", "integration", "api", "adversarial", "e2e")
MOST_OF_LEVEL: Final = 20  # tests that a mutant meets
MOST_S: Final = 60.0  # of them together, as measured
QUICK_LEVELS: Final = LEVELS[:2]
QUICK_MODULES: Final = 5
_SHARED: Final = ("tests/conftest.py", "tests/support", "testing")
_LEVEL_S: Final = 3_600.0  # in which a level is measured
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
# what a process measures that a test starts is that test's
_MEASURING: Final = """[run]
source = farebox
relative_files = true
parallel = true
patch = _exit
sigterm = true
context = ${PYTEST_CURRENT_TEST-}
data_file = DATA
"""

FindTests = Callable[[Mutation], Sequence[TestResult]]


def choose_tests(tests: Iterable[TestResult], path: str) -> list[TestResult]:
    """Choose the tests that a mutant of the module meets, in their order.

    The cheapest level comes first, in it the tests that are named after the module, those of its
    package, and the quick ones. No level has more than `MOST_OF_LEVEL`, and all together no more
    than `MOST_S` seconds, except for a first one that takes longer.
    """
    chosen: list[TestResult] = []
    counts: defaultdict[str, int] = defaultdict(int)
    left_s = MOST_S
    for test in sorted(tests, key=lambda each: (*_distance(each.name, path), each.seconds)):
        level = _level_of(test.name)
        if counts[level] < MOST_OF_LEVEL and (test.seconds <= left_s or not chosen):
            chosen.append(test)
            counts[level] += 1
            left_s -= test.seconds
    return chosen


def _level_of(test: str) -> str:
    return test.split("/")[1]


def _distance(test: str, path: str) -> tuple[int, bool, bool]:
    file = Path(test.partition("::")[0])
    is_named = file.stem == f"test_{Path(path).stem}"
    is_of_package = path.split("/")[2] in (*file.parts, *file.stem.split("_"))
    return LEVELS.index(_level_of(test)), not is_named, not is_of_package


def find_by_import(tree: MutationTree, mutation: Mutation) -> list[TestResult]:
    """Find a few modules of quick tests that import the mutant's module; they have no times."""
    parts = Path(mutation.path).with_suffix("").parts[1:]
    package, name = ".".join(parts[:-1]), parts[-1]
    imports = re.compile(
        rf"^(from|import) {re.escape('.'.join(parts))}\b"
        rf"|^from {re.escape(package)} import ([^(\n]*|\([^)]*)\b{name}\b",
        re.MULTILINE,
    )
    found = [
        TestResult(path.relative_to(tree.folder).as_posix(), passed=True, seconds=0.0)
        for level in QUICK_LEVELS
        for path in sorted((tree.folder / "tests" / level).rglob("test_*.py"))
        if imports.search(path.read_text())
    ]
    return choose_tests(found, mutation.path)[:QUICK_MODULES]


class TestMap:
    """Which tests run which lines, as coverage has measured it.

    `kept` is the folder of the measurements. Each is of a level, and holds for the sources, the
    tests of the level and what they share.
    """

    __test__ = False

    def __init__(self, tree: MutationTree, kept: Path) -> None:
        self._tree = tree
        self._kept = {
            level: kept / f"{level}-{tree.digest('src', *_SHARED, f'tests/{level}')}"
            for level in LEVELS
            if (tree.folder / "tests" / level).is_dir()
        }
        self._contexts: dict[str, dict[int, set[str]]] = {}

    async def measure(self, workers: int) -> None:
        """Run every level under coverage, unless an earlier run has.

        Raises:
            RunFailed: a level did not run to its end.
        """
        for level, kept in self._kept.items():
            if not kept.with_suffix(".coverage").is_file():
                say(f"measuring which lines each of tests/{level} runs")
                await self._measure_level(level, kept, workers)
        if not self.tests:
            raise RunFailed("no test passes with these sources")

    async def _measure_level(self, level: str, kept: Path, workers: int) -> None:
        data, settings = (self._tree.folder / f"{level}.{end}" for end in ("coverage", "rc"))
        settings.write_text(_MEASURING.replace("DATA", str(data)))
        spread = ("-p", "xdist.plugin", "-n", str(workers), "--dist", "loadfile")
        ended = await self._tree.run_tests(
            [f"tests/{level}"],
            *("-p", "pytest_cov.plugin", "--cov", f"--cov-config={settings}"),
            *("--cov-context=test", "--cov-report="),
            *(spread if workers > 1 else ()),
            within_s=_LEVEL_S,
            environment={"MUTATION_COVERAGE": str(settings)},
        )
        if ended.code not in (0, 1) or not data.is_file():
            shutil.copy(self._tree.folder / "output", kept.with_suffix(".output"))
            raise RunFailed(f"tests/{level} did not run: see {kept.with_suffix('.output')}")
        if ended.failed:
            say(f"{len(ended.failed)} tests fail and judge no mutant: {' '.join(ended.failed[:5])}")
        write_results(kept.with_suffix(".jsonl"), ended.results)
        shutil.copy(data, kept.with_suffix(".partial"))
        kept.with_suffix(".partial").rename(kept.with_suffix(".coverage"))

    @cached_property
    def tests(self) -> dict[str, TestResult]:
        """The tests that passed, by name."""
        paths = [kept.with_suffix(".jsonl") for kept in self._kept.values()]
        return {each.name: each for path in paths for each in read_results(path) if each.passed}

    def find(self, mutation: Mutation) -> list[TestResult]:
        """Find the tests that run the line of a mutant; none when no test does.

        A line that runs at import counts as run where something runs that it defines, or else
        where a line runs that names what it defines, or else what that line defines.
        """
        syntax = self._syntaxes[mutation.path]
        if mutation.line in syntax.function_lines:
            contexts = self._contexts_of(mutation.path)
            names = contexts.get(mutation.line) or set().union(
                *(contexts.get(line, set()) for line in syntax.statement_lines(mutation.line))
            )
        else:
            names = self._run_users(mutation.path, mutation.line)
        return [self.tests[name] for name in sorted(names) if name in self.tests]

    def _run_users(self, path: str, line: int) -> set[str]:
        """Find the tests that run what a line defines: by its own lines, or the nearest users."""
        found: set[str] = set()
        nearest = {(path, line)}
        seen = set(nearest)
        while nearest and not found:
            places = {place for each in nearest for place in self._places_of(*each)} - seen
            seen |= places
            running = {each for each in places if each[1] in self._syntaxes[each[0]].function_lines}
            for module, number in running:
                found |= self._contexts_of(module).get(number, set())
            nearest = places - running
        return found

    def _places_of(self, path: str, line: int) -> set[tuple[str, int]]:
        """Find the lines of the functions that a line defines, and those that name them."""
        definition = self._syntaxes[path].definition(line)
        named = {
            place
            for name in definition.names
            for place in self._users[name]
            if place[0] == path or not name.startswith("_")
        }
        return named | {(path, each) for each in definition.lines}

    @cached_property
    def _syntaxes(self) -> dict[str, ModuleSyntax]:
        paths = sorted((self._tree.folder / "src" / "farebox").rglob("*.py"))
        names = [path.relative_to(self._tree.folder).as_posix() for path in paths]
        return {name: ModuleSyntax(self._tree.read(name)) for name in names}

    @cached_property
    def _users(self) -> defaultdict[str, set[tuple[str, int]]]:
        """The lines that have a word, by the word."""
        users: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        for path in self._syntaxes:
            for number, line in enumerate(self._tree.read(path).splitlines(), 1):
                for word in _WORD.findall(line.partition("#")[0]):
                    users[word].add((path, number))
        return users

    def _contexts_of(self, path: str) -> dict[int, set[str]]:
        """Return the names of the tests that run each line of a module."""
        from coverage import CoverageData

        if path in self._contexts:
            return self._contexts[path]
        lines: defaultdict[int, set[str]] = defaultdict(set)
        for kept in self._kept.values():
            data = CoverageData(str(kept.with_suffix(".coverage")))
            data.read()
            for line, contexts in data.contexts_by_lineno(path).items():
                lines[line] |= {name for each in contexts if (name := name_of_context(each))}
            data.close()
        self._contexts[path] = dict(lines)
        return self._contexts[path]


def name_of_context(context: str) -> str:
    """Return the name of the test: pytest-cov adds `|run`, and pytest ` (call)` for processes."""
    if " (" in context and context.endswith(")"):
        return context.rpartition(" (")[0]
    return context.rpartition("|")[0]
