"""The runner of proofs: which cases a run plays, what it says of them, and controls."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pytest

from farebox.local.faults import LocalFault
from prove.broken_build import Build
from prove.outcome import Finding, Outcome, are_none, count_violations, name_failing
from prove.run_cases import (
    Control,
    check_any,
    finds,
    play_beside_controls,
    play_until_reached,
    read_wanted,
    run_cases,
    run_concurrently,
)
from testing.machine import RunFailed


class Wrong(StrEnum):
    LOST = "lost"
    DOUBLED = "doubled"


class Kind(StrEnum):
    LAG = "it is behind"
    TORN = "it is torn"


@dataclass(frozen=True)
class Numbered:
    seed: int
    number: int


def draw(seed: int) -> list[Numbered]:
    return [Numbered(seed, number) for number in (1, 2, 3)]


def first_of(seed: int) -> list[Numbered]:
    return draw(seed)[:1]


def outcome_of(case: int, *, is_reached: bool = True) -> Outcome[int, Wrong]:
    """An odd case loses something."""
    findings = [Finding(Wrong.LOST, f"case {case}")] * (case % 2)
    return Outcome(case=case, findings=findings, is_reached=is_reached)


async def play(case: int) -> Outcome[int, Wrong]:
    return outcome_of(case)


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SEED", "CASE", "KIND", "SEEDS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "is_quick", "chosen"),
    [
        ({"SEEDS": "2"}, False, [*draw(1), *draw(2)]),
        ({}, True, first_of(1)),
        ({"SEED": "5", "CASE": "2"}, True, [Numbered(5, 2)]),
        ({"SEED": "5", "CASE": "9"}, False, []),
    ],
)
def test_run_plays_its_seeds_the_short_form_or_one_case(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    is_quick: bool,
    chosen: Sequence[Numbered],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    wanted = read_wanted(is_quick)
    assert wanted.numbered(draw, quick=lambda: first_of(1)) == chosen
    assert wanted.is_replay == ("CASE" in environment)


def test_whole_run_plays_twenty_seeds_and_fewer_are_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_wanted(is_quick=False).played_seeds == list(range(1, 21))
    assert not read_wanted(is_quick=False).is_part
    monkeypatch.setenv("SEEDS", "19")
    assert read_wanted(is_quick=False).is_part


def test_kind_names_one_kind_and_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_wanted(is_quick=False, named_by="KIND").of_kinds(Kind) == list(Kind)
    monkeypatch.setenv("KIND", "torn")
    wanted = read_wanted(is_quick=False, named_by="KIND")
    assert (wanted.of_kinds(Kind), wanted.played_seeds) == ([Kind.TORN], [1])
    monkeypatch.setenv("KIND", "nothing")
    with pytest.raises(RunFailed, match="KIND is one of lag, torn"):
        read_wanted(is_quick=False, named_by="KIND").of_kinds(Kind)


def test_run_without_a_case_cannot_be_played() -> None:
    check_any([], [1])
    with pytest.raises(RunFailed, match="no case has this number"):
        check_any([], [])


async def test_outcomes_are_in_order_and_failing_cases_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes = await run_cases(range(5), play, workers=2)
    assert [each.case for each in outcomes] == list(range(5))
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if line.startswith("FAILED")] == [
        f"FAILED {each}" for each in outcomes if each.is_failed
    ]
    assert told[-1].startswith("cases: 5 of 5")
    assert name_failing(outcomes) == ["1", "3"]
    figures = count_violations(outcomes, Wrong)
    assert figures == {"lost": 2, "doubled": 0}
    assert (are_none(figures, [Wrong.DOUBLED]), are_none(figures, Wrong)) == (True, False)


async def test_case_that_could_not_be_run_is_named() -> None:
    async def break_off(case: int) -> Outcome[int, Wrong]:
        raise LocalFault(f"no network for {case}")

    with pytest.raises(RunFailed, match="7 could not be run: no network for 7"):
        await run_cases([7], break_off, workers=1)


async def test_items_without_a_label_have_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(await run_concurrently([1, 2], play, workers=2)) == 2
    assert capsys.readouterr().err == ""


async def test_case_is_played_until_its_fault_is_reached_and_all_findings_count() -> None:
    async def play_unreached(case: int) -> Outcome[int, Wrong]:
        return outcome_of(case, is_reached=case == 5)

    both = await play_until_reached(play_unreached, 1, 5, most=3)
    assert (both.case, both.plays, both.is_reached, len(both.findings)) == (1, 2, True, 2)
    never = await play_until_reached(play_unreached, 1, 3, most=3)
    assert (never.plays, never.is_reached, len(never.findings)) == (3, False, 3)


async def test_control_is_caught_when_a_case_of_it_shows_its_violation() -> None:
    controls = [
        Control("careless", (2, 3), Build(), finds(Wrong.LOST), "it loses a case"),
        Control("deaf", (1,), Build(), finds(Wrong.DOUBLED)),
    ]

    async def run(
        case: int, control: Control[int, Outcome[int, Wrong]] | None
    ) -> Outcome[int, Wrong]:
        del control
        return outcome_of(case)

    played = await play_beside_controls([4, 6], controls, run, workers=2)
    assert [each.case for each in played.outcomes] == [4, 6]
    assert (played.is_caught("careless"), played.is_caught("deaf")) == (True, False)
    assert not played.are_controls_caught
    assert [str(each) for each in controls] == ["control (it loses a case)", "control"]
