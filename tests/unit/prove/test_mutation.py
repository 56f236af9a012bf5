"""The proof of mutations: the draw, the tests that judge a mutant, and what is kept of a run."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from prove.mutation import Judgement, figures_of, judge_all, killer_of, read_judgements
from prove.mutation_draw import Mutant, Mutation, draw_mutants, find_mutations, mutate
from prove.mutation_syntax import ModuleSyntax
from prove.mutation_tests import (
    LEVELS,
    MOST_OF_LEVEL,
    TestMap,
    choose_tests,
    find_by_import,
    name_of_context,
)
from prove.mutation_tree import MutationTree, TestResult
from testing.machine import ROOT, RunFailed

MODULE = "src/farebox/gateway/price.py"
TEXT = """\
LIMIT = 3
UNUSED = 4


def price_of(count):
    if count > LIMIT:
        return count * 2
    return count


def wait_for(count):
    while count > 1:
        count -= 1
    return count
"""
TESTS = """\
from farebox.gateway.price import price_of, wait_for


def test_price_of_many_is_double():
    assert price_of(5) == 10


def test_price_of_one_is_one():
    assert price_of(1) == 1


def test_wait_ends():
    assert wait_for(1) == 1
"""
SKIPPED = "import pytest\n\ndef test_nothing():\n    pytest.skip()\n"
TEST = "tests/unit/gateway/test_price.py"
DOUBLE = f"{TEST}::test_price_of_many_is_double"
ONE = f"{TEST}::test_price_of_one_is_one"
WAIT = f"{TEST}::test_wait_ends"


def mutant(line: int, old: str, new: str) -> Mutant:
    """A mutant of the module, by hand: cosmic-ray is not among the packages of the tests."""
    lines = TEXT.splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(old, new)
    return Mutant(Mutation(MODULE, line, "ByHand", 0), "".join(lines))


@pytest.fixture
def tree(tmp_path: Path) -> MutationTree:
    """A copy of a small checkout."""
    folder = tmp_path / "tree"
    files = {
        "src/farebox/__init__.py": "",
        "src/farebox/gateway/__init__.py": "",
        MODULE: TEXT,
        TEST: TESTS,
        "tests/unit/gateway/test_other.py": SKIPPED,
        "prove/__init__.py": "",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copy(ROOT / "prove" / "mutation_plugin.py", folder / "prove")
    return MutationTree(folder)


def passed(*names: str, seconds: float = 0.1) -> list[TestResult]:
    return [TestResult(name, passed=True, seconds=seconds) for name in names]


def mutations(files: int, lines: int) -> list[Mutation]:
    return [
        Mutation(f"src/farebox/gateway/m{file}.py", line, operator, 0)
        for file in range(files)
        for line in range(1, lines + 1)
        for operator in ("AddNot", "NumberReplacer")[: 1 + line % 2]
    ]


def test_draw_is_the_same_for_the_same_seed_and_takes_each_line_once() -> None:
    found = mutations(4, 25)
    drawn = draw_mutants(found, count=20, seed=1, mutate=lambda each: each.name)
    again = draw_mutants(reversed(found), count=20, seed=1, mutate=lambda each: each.name)
    other = draw_mutants(found, count=20, seed=2, mutate=lambda each: each.name)
    assert drawn == again != other
    assert len({(each.mutation.path, each.mutation.line) for each in drawn}) == 20


def test_draw_is_even_over_the_lines_of_the_files() -> None:
    found = [*mutations(1, 60), *(each for each in mutations(3, 20) if "m0" not in each.path)]
    drawn = draw_mutants(found, count=10, seed=3, mutate=lambda each: each.name)
    assert Counter(each.mutation.path[-4] for each in drawn) == {"0": 6, "1": 2, "2": 2}


def test_draw_leaves_out_what_makes_no_other_program_and_takes_no_more_than_there_is() -> None:
    found = mutations(1, 6)
    drawn = draw_mutants(
        found, count=3, seed=1, mutate=lambda each: None if each.line != 3 else each.operator
    )
    assert [(each.mutation.line, each.text) for each in drawn] in (
        [(3, "AddNot")],
        [(3, "NumberReplacer")],
    )
    assert len(draw_mutants(found, count=50, seed=1, mutate=lambda each: each.name)) == 6
    assert draw_mutants([], count=50, seed=1, mutate=lambda each: each.name) == []


WITHOUT_EFFECT = """\
from typing import Final, Protocol

Outcome = int | str
LIMIT: Final[tuple[int, int] | None] = (é := 1, 2)

@dataclass(frozen=True, eq=False)
class Row(Struct, kw_only=True):
    count: Annotated[int, Meta(ge=1)] | None = 5

class Reader(Protocol):
    def read(self, count: int = 1) -> int: ...

@override
def call(self, one: int | None, *, two: int = 2) -> int | None:
    log.info("sent", count=one + 3)
    return one * 4
"""


@pytest.mark.parametrize(
    ("text", "is_binary", "has_effect"),
    [
        ("| str", True, False),  # an alias
        ("int, int]", False, False),  # an annotation
        ("1, 2)", False, True),
        ("True, eq", False, False),  # the form of a class
        ("False)", False, True),
        ("True):", False, False),
        ("1)] |", False, True),  # msgspec reads it
        ("| None = 5", True, False),
        ("5\n", False, True),
        ("1) -> int: ...", False, False),  # a protocol
        ("@override", False, False),
        ("| None, *", True, False),
        ("*, two", True, False),  # no multiplication
        ("2) -> int | None", False, True),
        ("+ 3", True, False),  # a log call
        ("* 4", True, True),
        ("4\n", False, True),
    ],
)
def test_places_without_an_effect_are_left_out(
    text: str, is_binary: bool, has_effect: bool
) -> None:
    before = WITHOUT_EFFECT[: WITHOUT_EFFECT.index(text)]
    position = before.count("\n") + 1, len(before.rpartition("\n")[2])
    syntax = ModuleSyntax(WITHOUT_EFFECT)
    assert syntax.has_effect(position, is_binary=is_binary) is has_effect


def test_operators_of_cosmic_ray_are_found_in_every_line_that_has_an_effect() -> None:
    pytest.importorskip("cosmic_ray")
    found = find_mutations(MODULE, TEXT)
    assert {each.line for each in found} == {1, 2, 6, 7, 12, 13}
    assert found == find_mutations(MODULE, TEXT)
    (negated,) = [each for each in found if each.operator == "AddNot" and each.line == 6]
    assert mutate(TEXT, negated) == TEXT.replace("if count", "if not count")
    texts = [mutate(TEXT, each) for each in found]
    assert TEXT not in texts


def test_tests_of_a_mutant_are_the_cheapest_first_and_bounded() -> None:
    tests = [
        *passed("tests/api/gateway/test_price.py::test_api"),
        *passed("tests/unit/vault/test_a.py::test_far"),
        *passed("tests/unit/gateway/test_b.py::test_slow", seconds=2),
        *passed("tests/unit/gateway/test_b.py::test_quick", seconds=1),
        *passed("tests/unit/other/test_price.py::test_named", seconds=9),
        *passed("tests/adversarial/test_gateway_targets.py::test_row"),
    ]
    assert [each.name.rpartition("_")[2] for each in choose_tests(tests, MODULE)] == [
        "named",
        "quick",
        "slow",
        "far",
        "api",
        "row",
    ]
    many = passed(*(f"tests/{level}/test_a.py::t{n}" for level in LEVELS for n in range(30)))
    assert Counter(each.name.split("/")[1] for each in choose_tests(many, MODULE)) == dict.fromkeys(
        LEVELS, MOST_OF_LEVEL
    )
    long = passed(*(f"tests/unit/test_a.py::t{n}" for n in range(9)), seconds=25)
    assert len(choose_tests(long, MODULE)) == 2
    assert len(choose_tests(passed("tests/e2e/test_a.py::t", seconds=900), MODULE)) == 1


async def test_lines_are_judged_by_the_tests_that_run_them(
    tree: MutationTree, tmp_path: Path
) -> None:
    tests = TestMap(tree, tmp_path)
    await tests.measure(workers=1)
    found = {
        line: [each.name for each in tests.find(Mutation(MODULE, line, "ByHand", 0))]
        for line in (1, 2, 7, 8, 13)
    }
    assert found == {1: [DOUBLE, ONE], 2: [], 7: [DOUBLE], 8: [ONE], 13: []}
    (tree.folder / TEST).write_text("another test is another measurement")
    with pytest.raises(RunFailed, match="tests/unit did not run"):
        await TestMap(tree, tmp_path).measure(workers=1)


async def test_mutants_are_judged_once_and_the_module_is_as_before(
    tree: MutationTree, tmp_path: Path
) -> None:
    kept = tmp_path / "mutants.jsonl"
    drawn = [mutant(7, "* 2", "* 3"), mutant(6, ">", ">="), mutant(2, "4", "5")]
    runs = []

    def find(mutation: Mutation) -> list[TestResult]:
        runs.append(mutation.line)
        return passed(DOUBLE, ONE) if mutation.line > 2 else []

    judged = await judge_all(tree, drawn[:2], find, kept)
    kept.write_text(kept.read_text() + '{"mutant": "cut o')
    assert [(each.result, each.by) for each in judged] == [("killed", DOUBLE), ("survived", "")]
    assert judged[1].change == "-    if count > LIMIT:\n+    if count >= LIMIT:"
    assert tree.read(MODULE) == TEXT
    kept.write_text(kept.read_text() + "\n")
    judged = await judge_all(tree, drawn, find, kept)
    assert runs == [7, 6, 2]
    assert list(read_judgements(kept).values()) == judged
    assert figures_of(judged) == {
        "mutants": 3,
        "killed": 1,
        "killed_by": {"test": 1, "time": 0, "import": 0, "crash": 0},
        "survived": 2,
        "not_run": 1,
        "tests_left_out": 0,
        "survivors": [f"{MODULE}:6 ByHand", f"{MODULE}:2 ByHand"],
    }


async def test_mutant_that_hangs_is_killed_by_time_and_one_that_cannot_be_imported_by_import(
    tree: MutationTree,
) -> None:
    with tree.changed(
        MODULE, mutant(13, "-= 1", "+= 0").text.replace("while count > 1", "while 1")
    ):
        ended = await tree.run_tests([WAIT], within_s=1)
    assert killer_of(ended.code, ended.failed, is_late=ended.is_late) == "time"
    assert {each.name for each in tree.folder.iterdir()} == {"output", "prove", "src", "tests"}
    another = "tests/unit/gateway/test_wait.py"
    (tree.folder / another).write_text("from farebox.gateway.price import wait_for\n")
    for names in ([ONE], [ONE, another]):
        with tree.changed(MODULE, mutant(1, "3", "None + 3").text):
            ended = await tree.run_tests(names, "-x", within_s=60)
        assert killer_of(ended.code, ended.failed, is_late=ended.is_late) == "import"
    names = [ONE, f"{TEST}::test_of_another_name", "tests/unit/gateway/test_other.py"]
    ended = await tree.run_tests(names, within_s=60)  # the last one is skipped
    assert [each.name for each in ended.results] == [ONE]
    assert killer_of(ended.code, ended.failed, is_late=ended.is_late) == ""
    assert killer_of(-9, [], is_late=False) == "crash"
    assert killer_of(5, [], is_late=False) == ""


def test_quick_run_finds_the_modules_of_tests_that_import_the_module(tree: MutationTree) -> None:
    found = find_by_import(tree, Mutation(MODULE, 7, "ByHand", 0))
    assert [each.name for each in found] == [TEST]
    (tree.folder / "tests/unit/gateway/test_other.py").write_text(
        "from farebox.gateway import (\n    other,\n    price,\n)\n"
    )
    assert len(find_by_import(tree, Mutation(MODULE, 7, "ByHand", 0))) == 2


def test_copy_has_the_checkout_as_it_is_and_the_tests_of_a_commit(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    root.mkdir()

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(("git", *who, *arguments), cwd=root, check=True, capture_output=True)

    def write(text: str, *names: str) -> None:
        for name in names:
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)

    always = ("src/one", "tests/both", "prove/mutation_plugin.py")
    git("init")
    write("before", *always, "tests/old", "e2e/shared")
    git("add", ".")
    git("commit", "-m", "before")
    (root / "tests/old").unlink()
    (root / "e2e/shared").unlink()
    write("after", *always, "tests/new", "testing/shared")
    files = {"now": "", "then": "HEAD"}
    trees = {name: MutationTree.copy(tmp_path / name, at, root=root) for name, at in files.items()}
    sound = dict.fromkeys(("src/one", "prove/mutation_plugin.py"), "after")
    assert {
        name: {
            each.relative_to(tree.folder).as_posix(): each.read_text()
            for each in tree.folder.rglob("*/*")
        }
        for name, tree in trees.items()
    } == {
        "now": sound | dict.fromkeys(("tests/both", "tests/new", "testing/shared"), "after"),
        "then": sound | dict.fromkeys(("tests/both", "tests/old", "e2e/shared"), "before"),
    }
    now, then = trees["now"], trees["then"]
    assert now.digest("src") == then.digest("src")
    for name in ("tests", "testing", "e2e"):
        assert now.digest("src", name) != then.digest("src", name)
    with pytest.raises(RunFailed, match="git ls-tree failed"):
        MutationTree.copy(tmp_path / "none", "no-such-commit", root=root)


def test_context_of_a_process_names_the_test_that_started_it() -> None:
    assert name_of_context(f"{ONE}|run") == ONE
    assert name_of_context("tests/a.py::test_a[b (c)]|setup") == "tests/a.py::test_a[b (c)]"
    assert name_of_context(f"{ONE} (call)") == ONE
    assert name_of_context("") == ""


def test_judgement_is_one_line_of_json(tmp_path: Path) -> None:
    path = tmp_path / "mutants.jsonl"
    one = {"mutant": "a:1 AddNot", "occurrence": 0, "result": "killed", "by": "time"}
    path.write_text(json.dumps({**one, "tests": 1, "of": 2, "seconds": 1.0, "change": ""}))
    assert read_judgements(path) == {
        ("a:1 AddNot", 0): Judgement("a:1 AddNot", 0, "killed", "time", 1, 2, 1.0, "")
    }
