"""`make prove PROOF=mutation`: mutants of the sources, and which of them the tests kill.

COUNT=200 SEED=1: so many mutants, drawn over the lines of five packages; the same ones for the same
sources. The tests that run a mutant's line judge it, one mutant at a time, in a copy of the
checkout. WORK=folder keeps what was measured and each result, so that the next run continues; by
default it is a folder of the cache. TESTS_AT=commit: the tests of that commit judge them. JOBS=2
measures with two workers. QUICK=1 judges six by the tests that import their module, and keeps
nothing. The control is a mutant that every tree has to kill, and the sound tree, which the tests
that killed must leave alive; only a control that is missed fails the run.
"""

import difflib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from farebox.local.devnet_binary import cache_folder
from prove.mutation_draw import Mutant, Mutation, draw_mutants, find_all_mutations, mutate
from prove.mutation_tests import FindTests, TestMap, choose_tests, find_by_import
from prove.mutation_tree import TREES, MutationTree, TestResult
from testing.machine import RunFailed, say, scratch_folder, subfolder
from testing.report import run_and_report

_QUICK_COUNT: Final = 6
_START_S: Final = 120.0  # until the first test runs, on a busy machine
_SLOWER: Final = 4.0  # than measured, before a mutant counts as one that hangs
_KILLER_S: Final = 10.0  # for one of the tests that killed, which are run once more
_SHOWN: Final = 20
_BY: Final = ("time", "import", "crash")  # what kills besides a test that fails
_FATAL: Final = (  # a payment of another amount than asked for
    "src/farebox/facilitator/verification/verdict.py",
    "(envelope.amount == terms.amount, Reason.WRONG_AMOUNT)",
    "ReplaceComparisonOperator_Eq_NotEq",
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of a mutant: "killed", "survived" or "not run", which no test's line is.

    `by` is the test that killed it, or "import", "time" or "crash". `tests` judged it out of `of`
    that run its line.
    """

    mutant: str
    occurrence: int
    result: str
    by: str
    tests: int
    of: int
    seconds: float
    change: str

    @property
    def is_killed(self) -> bool:
        """Whether the tests notice the mutant."""
        return self.result == "killed"


def change_of(sound: str, mutated: str) -> str:
    """Return the changed lines, as in a patch."""
    lines = difflib.unified_diff(sound.splitlines(), mutated.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++") and line[0] != "@")


async def judge_mutant(tree: MutationTree, mutant: Mutant, find: FindTests) -> Judgement:
    """Run the tests of a mutant until one fails."""
    began = time.monotonic()
    mutation = mutant.mutation
    change = change_of(tree.read(mutation.path), mutant.text)
    found = find(mutation)
    tests = choose_tests(found, mutation.path)
    result, by = "not run", ""
    if tests:
        with tree.changed(mutation.path, mutant.text):
            ended = await tree.run_tests(
                [each.name for each in tests], "-x", within_s=deadline_s(tests)
            )
        by = killer_of(ended.code, ended.failed, is_late=ended.is_late)
        result = "killed" if by else "survived"
    return Judgement(
        mutation.name,
        mutation.occurrence,
        result,
        by,
        len(tests),
        len(found),
        round(time.monotonic() - began, 1),
        change,
    )


def deadline_s(tests: Sequence[TestResult]) -> float:
    """Return how long the tests may take before the mutant counts as one that hangs."""
    return _START_S + _SLOWER * sum(each.seconds for each in tests)


def killer_of(code: int, failed: Sequence[str], *, is_late: bool) -> str:
    """Return what killed a mutant by the end of its tests; empty when it survived.

    pytest ends with 0 when all tests passed and with 5 when none was found, as when a name that
    has a value of the sources in it is another one. Without a test that failed, 1, 2 and 4 say that
    the tests could not be imported.
    """
    if failed:
        return failed[0]
    if is_late:
        return "time"
    if code in (0, 5):
        return ""
    return "import" if code in (1, 2, 4) else "crash"


def read_judgements(path: Path) -> dict[tuple[str, int], Judgement]:
    """Read the results of earlier runs, by mutant; a line that was cut off is left out."""
    read = {}
    for line in path.read_text().splitlines() if path.is_file() else []:
        with suppress(ValueError, TypeError):
            judged = Judgement(**json.loads(line))
            read[judged.mutant, judged.occurrence] = judged
    return read


async def judge_all(
    tree: MutationTree, drawn: Sequence[Mutant], find: FindTests, kept: Path
) -> list[Judgement]:
    """Judge the mutants that no earlier run has judged, and keep each result at once."""
    known = read_judgements(kept)
    judged = []
    for number, mutant in enumerate(drawn, 1):
        one = known.get((mutant.mutation.name, mutant.mutation.occurrence))
        if one is None:
            one = await judge_mutant(tree, mutant, find)
            with kept.open("a") as out:
                out.write(json.dumps(asdict(one)) + "\n")
            say(f"{number} of {len(drawn)}: {one.result} {one.by} {one.mutant}\n{one.change}")
        judged.append(one)
    return judged


def make_fatal(tree: MutationTree, found: Sequence[Mutation]) -> Mutant:
    """Make the mutant that every tree has to kill.

    Raises:
        RunFailed: the sources lack the text that it changes.
    """
    path, text, operator = _FATAL
    lines = tree.read(path).splitlines()
    for each in found:
        if each.path == path and each.operator == operator and text in lines[each.line - 1]:
            return Mutant(each, mutate(tree.read(path), each) or "")
    raise RunFailed(f"the control does not fit {path} any more")


async def is_control_caught(
    tree: MutationTree, fatal: Mutant, find: FindTests, judged: Sequence[Judgement]
) -> bool:
    """Whether the fatal mutant is killed, and the sound tree survives the tests that killed."""
    control = await judge_mutant(tree, fatal, find)
    say(f"control: {control.result} {control.by}")
    path = fatal.mutation.path
    tests = {each.name: each for each in choose_tests(find(fatal.mutation), path)}
    killers = {each.by for each in judged if each.by.startswith("tests/")}
    tests |= {name: TestResult(name, passed=True, seconds=_KILLER_S) for name in sorted(killers)}
    sound = await tree.run_tests(list(tests), within_s=deadline_s([*tests.values()]))
    say(f"the sound tree: {len(sound.results)} tests, {len(sound.failed)} failed {sound.failed}")
    return control.is_killed and sound.code == 0 and bool(sound.results)


def figures_of(judged: Sequence[Judgement]) -> dict[str, object]:
    """Count the results; a mutant that no test runs has survived."""
    kinds = Counter(each.by if each.by in _BY else "test" for each in judged if each.is_killed)
    survivors = [each for each in judged if not each.is_killed]
    return {
        "mutants": len(judged),
        "killed": len(judged) - len(survivors),
        "killed_by": {kind: kinds[kind] for kind in ("test", *_BY)},
        "survived": len(survivors),
        "not_run": sum(each.result == "not run" for each in survivors),
        "tests_left_out": sum(each.tests < each.of for each in survivors),
        "survivors": [each.mutant for each in survivors[:_SHOWN]],
    }


def kept_folder() -> Path:
    """Return the folder of what is kept: WORK, or one of the cache."""
    return Path(os.environ.get("WORK") or cache_folder() / "mutation").absolute()


async def _open_finder(tree: MutationTree, *, is_quick: bool) -> FindTests:
    if is_quick:
        return partial(find_by_import, tree)
    tests = TestMap(tree, kept_folder())
    await tests.measure(int(os.environ.get("JOBS", "1")))
    return tests.find


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Draw the mutants and judge them; return whether the control is caught, and the counts."""
    began = time.monotonic()
    count = _QUICK_COUNT if is_quick else int(os.environ.get("COUNT", "200"))
    with scratch_folder("fbx-mutation-") as folder:
        tree = MutationTree.copy(subfolder(folder, "tree"), os.environ.get("TESTS_AT", ""))
        work = folder / "work" if is_quick else kept_folder() / tree.digest("src", *TREES)
        work.mkdir(parents=True, exist_ok=True)
        found = find_all_mutations(tree.folder)
        drawn = draw_mutants(
            found,
            count=count,
            seed=int(os.environ.get("SEED", "1")),
            mutate=lambda each: mutate(tree.read(each.path), each),
        )
        say(f"{len(drawn)} mutants out of {len(found)} mutations; results are in {work}")
        find = await _open_finder(tree, is_quick=is_quick)
        judged = await judge_all(tree, drawn, find, work / "mutants.jsonl")
        is_caught = await is_control_caught(tree, make_fatal(tree, found), find, judged)
    return is_caught, {
        **figures_of(judged),
        "tests_by": "import" if is_quick else "line",
        "control_caught": is_caught,
        "seconds": round(time.monotonic() - began),
    }


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
