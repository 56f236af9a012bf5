"""The twins of E2E=automation: every one has a reason to be refused or to be left out."""

from dataclasses import fields

import pytest
from stellar_sdk import Keypair, StrKey

from e2e.automation_calls import MadeRun, made_run
from e2e.automation_twins import CONTENT, EXPECTED, GAPS, Change, changed_run, changes_of
from farebox.automation.plans.session_spec import AuthorityMode
from testing.automation_cases import Case, Place, cases

_DELEGATED = [case for case in cases(quick=False) if case.has_delegate]


def _contract(number: int) -> str:
    return StrKey.encode_contract(bytes([number]) * 32)


def _place() -> Place:
    names = [each.name for each in fields(Place) if each.name not in ("recipients", "stranger")]
    contracts = {name: _contract(number) for number, name in enumerate(names)}
    accounts = [Keypair.random().public_key for _ in range(3)]
    return Place(**contracts, recipients=tuple(accounts[:2]), stranger=accounts[2])


def _parts(run: MadeRun) -> list[str]:
    """Every value of a run: contracts, functions and arguments."""
    calls = [run.root, *([run.nested] if run.nested else [])]
    return [
        part
        for call in calls
        for part in (call.contract, call.function, *(each.to_xdr() for each in call.args))
    ]


def test_plans_cover_each_mode_and_generation_of_smart_accounts() -> None:
    found = cases(quick=False)
    assert len(found) == len(set(found)) == 14
    assert {case.mode for case in cases(quick=True)} == set(AuthorityMode)
    assert {case.generation for case in found} == {"", "c", "d"}


@pytest.mark.parametrize("mode", AuthorityMode)
def test_every_change_is_refused_with_a_code_or_left_out_for_a_reason(mode: AuthorityMode) -> None:
    assert set(EXPECTED[mode]).isdisjoint(GAPS[mode])
    assert set(EXPECTED[mode]) | set(GAPS[mode]) == set(Change)
    assert set(changes_of(mode)) == set(EXPECTED[mode])
    assert all(reason.endswith((".", ").")) for reason in GAPS[mode].values())


@pytest.mark.parametrize("change", CONTENT)
@pytest.mark.parametrize("case", _DELEGATED, ids=lambda case: case.name)
def test_changed_run_differs_from_its_control_in_one_value(case: Case, change: Change) -> None:
    place = _place()
    run = made_run(case, place, _contract(9), now=1_000)
    changed = changed_run(case, change, run, place)
    pairs = zip(_parts(run), _parts(changed), strict=True)
    assert sum(one != other for one, other in pairs) == 1
