"""The verdict of the proof of automation: every wrong treatment of a run is found."""

from dataclasses import replace
from typing import Any

import pytest
from stellar_sdk import InvokeHostFunction

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.kernel.addresses import Address
from prove.automation_plans import ProvenPlan, Tally
from prove.automation_sessions import RUNS
from prove.automation_verdict import CaseRows, RunViolation, judge_case
from prove.run_envelopes import Delivery, LandedEnvelope, RunEnvelope
from testing.automation_payments import PRICE

PAYMASTER, CHANNEL, STRANGER, OWNER = "GPAYMASTER", "GCHANNEL", "GSTRANGER", Address("GOWNER")
TOKEN, FEE = Address("CTOKEN"), 100
NONCES = {0: 70, 1: 71}
PLAN = ProvenPlan(
    "auto_1",
    AuthorityMode.PRESIGNED,
    TOKEN,
    "transfer",
    OWNER,
    NONCES,
    Tally(TOKEN, OWNER),
    is_paid=True,
)
OPERATION: Any = InvokeHostFunction
HELD = {"running": 0, "channels_kept": 0, "leases": 0, "entries_ready": 0}


def envelope(run: int, number: int = 0, *, source: str = CHANNEL) -> RunEnvelope:
    return RunEnvelope(
        tx_hash=f"{run:02x}{number:02x}ff",
        inner_hash=f"{run:02x}{number:02x}",
        fee_source=PAYMASTER if source == CHANNEL else source,
        source=source,
        sequence=run + 1,
        max_time=1_000,
        contract=TOKEN,
        function="transfer",
        nonces=((OWNER, NONCES[run]),),
        operation=OPERATION,
    )


def attempt(run: int, number: int = 0) -> dict[str, Any]:
    made = envelope(run, number)
    return {"run_id": f"run_{run}", "inner_hash": bytes.fromhex(made.inner_hash), "envelope": None}


def landed(made: RunEnvelope, *, is_success: bool = True) -> LandedEnvelope:
    fee = FEE if made.fee_source == PAYMASTER else 7
    return LandedEnvelope(made, ledger=20, is_success=is_success, fee_charged=fee)


def run_row(index: int, **changes: Any) -> dict[str, Any]:
    row = {
        "id": f"run_{index}",
        "proposal_id": PLAN.id,
        "run_index": index,
        "state": "succeeded",
        "error_code": None,
        "executed_by": "service",
        "receipt": "{}",
    }
    return {**row, **changes}


def plan_row(**changes: Any) -> dict[str, Any]:
    counted = dict.fromkeys(("runs_consumed", "runs_succeeded", "auths_used"), RUNS)
    row = {
        "id": PLAN.id,
        "owner": "user_1",
        "status": "completed",
        "status_reason": None,
        "runs_credited": RUNS,
    }
    return {**row, **counted, **changes}


def credit(kind: str, runs: int) -> dict[str, Any]:
    return {"owner": "user_1", "kind": kind, "amount": runs * PRICE, "proposal_id": PLAN.id}


CREDITS = [credit("grant", 1), credit("purchase", 1), credit("consume", -1), credit("consume", -1)]


def case_rows(**changes: Any) -> CaseRows:
    """Two runs that went well."""
    spent = RUNS * FEE
    rows = CaseRows(
        runs=[run_row(0), run_row(1)],
        plans={PLAN.id: plan_row()},
        attempts=[attempt(0), attempt(1)],
        landed=[landed(envelope(0)), landed(envelope(1))],
        deliveries=[Delivery(envelope(run), 10, 100, "PENDING") for run in NONCES],
        sums={**HELD, "spent": spent, "spent_by_owners": spent, "charged": spent},
        credits=CREDITS,
        tallies={PLAN.id: RUNS},
    )
    return replace(rows, _run_of={}, **changes)


def violations(rows: CaseRows) -> set[RunViolation]:
    return {each.violation for each in judge_case([PLAN], rows, PAYMASTER)}


def test_runs_that_went_well_have_no_violation() -> None:
    assert judge_case([PLAN], case_rows(), PAYMASTER) == []


def test_run_of_a_stranger_is_one_when_the_rows_say_so() -> None:
    theirs = landed(envelope(1, 9, source=STRANGER))
    failed = landed(envelope(1), is_success=False)
    by_another = run_row(1, executed_by="third_party")
    rows = case_rows(landed=[landed(envelope(0)), theirs, failed], runs=[run_row(0), by_another])
    assert judge_case([PLAN], rows, PAYMASTER) == []
    unsaid = case_rows(landed=[landed(envelope(0)), theirs, failed])
    assert violations(unsaid) == {RunViolation.CREDITS_OFF}


def test_run_that_landed_twice_is_doubled() -> None:
    again = envelope(0, 1)
    rows = case_rows(
        attempts=[attempt(0), attempt(0, 1), attempt(1)],
        landed=[landed(envelope(0)), landed(again), landed(envelope(1))],
    )
    assert RunViolation.DOUBLED in violations(rows)


def test_target_that_ran_more_often_than_runs_succeeded_is_doubled() -> None:
    assert violations(case_rows(tallies={PLAN.id: RUNS + 1})) == {RunViolation.DOUBLED}


def test_authorization_of_a_dead_envelope_that_a_stranger_used_is_the_run_again() -> None:
    dead = replace(envelope(0, 1), nonces=((OWNER, 99),))
    theirs = replace(envelope(0, 9, source=STRANGER), nonces=((OWNER, 99),))
    rows = case_rows(
        attempts=[attempt(0), attempt(0, 1), attempt(1)],
        deliveries=[*case_rows().deliveries, Delivery(dead, 10, 100, "PENDING")],
        landed=[*case_rows().landed, landed(theirs)],
    )
    assert RunViolation.DOUBLED in violations(rows)


@pytest.mark.parametrize(("later_at", "is_reused"), [(200, True), (1_000, True), (1_001, False)])
def test_second_envelope_is_a_violation_while_the_first_can_land(
    later_at: int, is_reused: bool
) -> None:
    later = Delivery(envelope(0, 1), 15, later_at, "PENDING")
    rows = case_rows(
        attempts=[attempt(0), attempt(0, 1), attempt(1)],
        landed=[landed(envelope(0, 1)), landed(envelope(1))],
        deliveries=[*case_rows().deliveries, later],
    )
    assert violations(rows) == ({RunViolation.REUSED} if is_reused else set())


def test_second_envelope_is_right_when_no_node_took_the_first() -> None:
    refused = Delivery(envelope(0), 10, 100, "ERROR")
    later = Delivery(envelope(0, 1), 10, 100, "PENDING")
    rows = case_rows(
        attempts=[attempt(0), attempt(0, 1), attempt(1)],
        landed=[landed(envelope(0, 1)), landed(envelope(1))],
        deliveries=[refused, later, Delivery(envelope(1), 11, 101, "PENDING")],
    )
    assert violations(rows) == set()


def test_second_authorization_of_a_run_is_a_violation() -> None:
    other = replace(envelope(0, 1), nonces=((OWNER, 99),))
    rows = case_rows(
        attempts=[attempt(0), attempt(0, 1), attempt(1)],
        deliveries=[*case_rows().deliveries, Delivery(other, 30, 2_000, "PENDING")],
    )
    assert violations(rows) == {RunViolation.REUSED}


def test_envelope_without_a_row_and_a_kept_entry_are_violations() -> None:
    unknown = Delivery(envelope(0, 5), 10, 5_000, "PENDING")
    rows = case_rows(deliveries=[*case_rows().deliveries, unknown])
    assert violations(rows) == {RunViolation.REUSED}
    kept = case_rows(sums={**case_rows().sums, "entries_ready": 1})
    assert violations(kept) == {RunViolation.REUSED}


@pytest.mark.parametrize(
    "changes",
    [
        {"runs": [run_row(0), run_row(1, state="submitted")]},
        {"runs": [run_row(0)]},
        {"plans": {PLAN.id: plan_row(status="active")}},
        {"sums": {**case_rows().sums, "leases": 1}},
        {"attempts": [attempt(0), {**attempt(1), "envelope": b"sealed"}]},
    ],
)
def test_what_has_not_ended_is_unresolved(changes: dict[str, Any]) -> None:
    assert RunViolation.UNRESOLVED in violations(case_rows(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"plans": {PLAN.id: plan_row(runs_consumed=1)}},
        {"plans": {PLAN.id: plan_row(auths_used=3)}},
        {"landed": [landed(envelope(0))]},
        {"sums": {**case_rows().sums, "spent": 1}},
        {"tallies": {PLAN.id: RUNS - 1}},
        {"credits": [*CREDITS, credit("return", 1)]},
        {"credits": [*CREDITS, credit("purchase", 1)]},
        {"credits": CREDITS[:-1]},
        {"runs": [run_row(0), run_row(1, receipt=None)]},
    ],
)
def test_what_the_ledger_contradicts_is_off(changes: dict[str, Any]) -> None:
    assert RunViolation.CREDITS_OFF in violations(case_rows(**changes))


def test_free_plan_with_a_row_of_credits_is_off() -> None:
    free = replace(PLAN, is_paid=False)
    assert judge_case([free], case_rows(credits=[]), PAYMASTER) == []
    (finding,) = judge_case([free], case_rows(credits=CREDITS[:1]), PAYMASTER)
    assert finding.violation is RunViolation.CREDITS_OFF
