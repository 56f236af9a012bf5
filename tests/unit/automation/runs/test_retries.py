"""Classes of errors, and what follows each."""

import re
from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.runs.classify_error import (
    ContractRole,
    ErrorNumbers,
    classify_result,
    classify_simulation,
    lacks_balance,
)
from farebox.automation.runs.retries import (
    MAX_ATTEMPTS,
    REACTIONS,
    ErrorClass,
    RetryPlan,
    backoff,
    plan_retry,
)
from farebox.automation.runs.run_state import RunTrigger
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    SimulationRefused,
    UnreadableSimulation,
    read_simulation,
)
from farebox.submission.try_again_later import TryAgainLaterCause
from support.contracts import FOLDER
from support.plans import START
from support.promises import promise

FAR: Final = START + timedelta(days=1)
NUMBERS: Final = ErrorNumbers(
    (
        ContractRole.SMART_ACCOUNT,
        ContractRole.TOKEN,
        ContractRole.SOROSWAP,
        ContractRole.GUARD,
        ContractRole.MANDATE,
    )
)


@pytest.mark.parametrize(
    ("attempts", "whole"), [(1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 300), (10**9, 300)]
)
def test_backoff_doubles_up_to_five_minutes_and_its_jitter_is_full(
    attempts: int, whole: int
) -> None:
    assert backoff(attempts, 1.0) == timedelta(seconds=whole)
    assert backoff(attempts, 0.5) == timedelta(seconds=whole) / 2
    assert backoff(attempts, 0.0) == timedelta(0)


RETRIED: Final = {
    ErrorClass.TRANSPORT,
    ErrorClass.ADMISSION,
    ErrorClass.SEQUENCE,
    ErrorClass.TOO_LATE,
    ErrorClass.MARKET,
    ErrorClass.DEADLINE,
}
FINAL: Final = {
    ErrorClass.ARCHIVED: RunTrigger.REFUSE,
    ErrorClass.USER_FUNDS: RunTrigger.REFUSE,
    ErrorClass.PROGRAM: RunTrigger.REFUSE,
    ErrorClass.BUDGET: RunTrigger.DEFER,
    ErrorClass.SESSION: RunTrigger.REFUSE_SESSION,
}


@pytest.mark.parametrize("error", ErrorClass)
def test_each_class_is_retried_or_ends_as_in_the_table(error: ErrorClass) -> None:
    found = plan_retry(error, attempts=1, now=START, deadline=FAR, share=1.0)
    if error in RETRIED:
        assert found == RetryPlan(RunTrigger.RETRY, START + timedelta(seconds=10))
    else:
        assert found == RetryPlan(FINAL[error])
    assert RETRIED | FINAL.keys() == set(ErrorClass) == REACTIONS.keys()


@promise("automation:bounded-retries")
@given(
    error=st.sampled_from(ErrorClass),
    attempts=st.integers(1, 10),
    left_s=st.integers(-10, 1_000),
    share=st.floats(0, 1),
)
def test_retries_are_bounded_by_attempts_and_deadline(
    error: ErrorClass, attempts: int, left_s: int, share: float
) -> None:
    deadline = START + timedelta(seconds=left_s)
    found = plan_retry(error, attempts=attempts, now=START, deadline=deadline, share=share)
    if found.next_attempt_at is None:
        assert found.trigger is not RunTrigger.RETRY
        return
    assert found.trigger is RunTrigger.RETRY
    assert attempts < MAX_ATTEMPTS
    assert START <= found.next_attempt_at < deadline


@pytest.mark.parametrize(
    ("code", "error"),
    [
        *((cause.value, ErrorClass.ADMISSION) for cause in TryAgainLaterCause),
        ("txINSUFFICIENT_FEE", ErrorClass.ADMISSION),
        ("txBAD_SEQ", ErrorClass.SEQUENCE),
        ("txTOO_LATE", ErrorClass.TOO_LATE),
        ("txFAILED", ErrorClass.PROGRAM),
        ("txMALFORMED", ErrorClass.PROGRAM),
    ],
)
def test_result_code_has_its_class(code: str, error: ErrorClass) -> None:
    assert classify_result(code) is error


def refused(text: str) -> SimulationRefused:
    """A simulation that the host refused with this error."""
    found = read_simulation({"latestLedger": 7, "error": f"HostError: Error({text})\n\nEvent log"})
    assert isinstance(found, SimulationRefused)
    return found


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Contract, #3000", ErrorClass.SESSION),
        ("Contract, #3002", ErrorClass.SESSION),
        ("Contract, #3016", ErrorClass.SESSION),
        ("Contract, #3018", ErrorClass.SESSION),
        ("Contract, #3221", ErrorClass.BUDGET),
        ("Contract, #10", ErrorClass.USER_FUNDS),
        ("Contract, #13", ErrorClass.USER_FUNDS),
        ("Contract, #9", ErrorClass.USER_FUNDS),
        ("Contract, #503", ErrorClass.DEADLINE),
        ("Contract, #507", ErrorClass.MARKET),
        ("Contract, #511", ErrorClass.MARKET),
        ("Contract, #999", ErrorClass.PROGRAM),
        ("WasmVm, InvalidAction", ErrorClass.PROGRAM),
        ("Budget, ExceededLimit", ErrorClass.PROGRAM),
        ("Storage, MissingValue", ErrorClass.TRANSPORT),
    ],
)
def test_refused_simulation_has_the_class_of_its_error(text: str, error: ErrorClass) -> None:
    assert classify_simulation(refused(text), NUMBERS) is error


def test_number_is_known_only_from_the_contracts_that_are_called() -> None:
    assert classify_simulation(refused("Contract, #507"), ErrorNumbers(())) is ErrorClass.PROGRAM
    guard = ErrorNumbers((ContractRole.GUARD,))
    assert classify_simulation(refused("Contract, #4013"), guard) is ErrorClass.BUDGET
    token = ErrorNumbers((ContractRole.TOKEN,))
    assert classify_simulation(refused("Contract, #4013"), token) is ErrorClass.PROGRAM


RULE_CLASSES: Final = {
    "NotFound": ErrorClass.SESSION,
    "Closed": ErrorClass.SESSION,
    "TooEarly": ErrorClass.BUDGET,
    "Expired": ErrorClass.SESSION,
    "DelegateMissing": ErrorClass.SESSION,
    "RuleRefused": ErrorClass.SESSION,
    "AlreadyInstalled": ErrorClass.PROGRAM,
    "SpecRefused": ErrorClass.PROGRAM,
    "CallNotListed": ErrorClass.PROGRAM,
    "ArgumentRefused": ErrorClass.PROGRAM,
    "NoTicket": ErrorClass.PROGRAM,
    "UsedUp": ErrorClass.SESSION,
    "IntervalNotPassed": ErrorClass.BUDGET,
    "CapReached": ErrorClass.BUDGET,
    "PriceUnknown": ErrorClass.MARKET,
    "RunIndexUsed": ErrorClass.SEQUENCE,
    "SignatureExpired": ErrorClass.TOO_LATE,
    "RunRefused": ErrorClass.PROGRAM,
}


@pytest.mark.parametrize("role", [ContractRole.GUARD, ContractRole.MANDATE])
def test_every_code_of_the_contracts_has_its_class_whatever_else_is_called(
    role: ContractRole,
) -> None:
    source = (FOLDER / "session-rules" / "src" / "errors.rs").read_text()
    codes = {name: int(code) for name, code in re.findall(r"(\w+) = (\d+),", source)}
    assert codes.keys() == RULE_CLASSES.keys()
    numbers = ErrorNumbers((ContractRole.TOKEN, ContractRole.SMART_ACCOUNT, role))
    for name, code in codes.items():
        error = refused(f"Contract, #{code}")
        assert classify_simulation(error, numbers) is RULE_CLASSES[name], name
        others = ErrorNumbers(tuple(set(ContractRole) - {ContractRole.GUARD, ContractRole.MANDATE}))
        assert others.find(code) is None, "no other contract has the number"


@pytest.mark.parametrize("kind", RefusalKind)
def test_every_kind_of_refusal_has_a_class(kind: RefusalKind) -> None:
    assert classify_simulation(SimulationRefused(kind, 7), NUMBERS) in ErrorClass


def test_simulation_without_an_answer_is_transport_and_a_restore_is_archived() -> None:
    assert classify_simulation(UnreadableSimulation("error"), NUMBERS) is ErrorClass.TRANSPORT
    assert classify_simulation(NeedsRestore(7), NUMBERS) is ErrorClass.ARCHIVED


def test_number_of_an_accounts_check_is_read_from_the_log() -> None:
    """The host's first line says only that an authorization failed."""
    log = 'data:["VM call trapped with HostError", __check_auth, Error(Contract, #4013)]'
    failed = 'data:["failed account authentication with error", C, Error(Contract, #4013)]'
    text = f"HostError: Error(Auth, InvalidAction)\n\nEvent log\n {failed}\n {log}"
    found = read_simulation({"latestLedger": 7, "error": text})
    assert isinstance(found, SimulationRefused)
    assert (found.kind, found.contract_error) == (RefusalKind.SIGNATURE, 4013)
    guard = ErrorNumbers((ContractRole.GUARD,))
    assert classify_simulation(found, guard) is ErrorClass.BUDGET
    assert classify_simulation(found, ErrorNumbers(())) is ErrorClass.SESSION
    other = text.replace("Error(Auth, InvalidAction)", "Error(Contract, #7)", 1)
    read = read_simulation({"latestLedger": 7, "error": other})
    assert isinstance(read, SimulationRefused)
    assert read.contract_error == 7


def test_number_of_the_contract_is_read_from_the_first_line_alone() -> None:
    assert refused("Contract, #4294967295").contract_error == 4_294_967_295
    assert refused("Auth, InvalidAction").contract_error is None
    text = "HostError: Error(Auth, InvalidAction)\n\nError(Contract, #3000)"
    found = read_simulation({"latestLedger": 7, "error": text})
    assert isinstance(found, SimulationRefused)
    assert found.contract_error is None


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (ErrorClass.USER_FUNDS, "contract_10", True),
        (ErrorClass.USER_FUNDS, "balance", True),
        (ErrorClass.USER_FUNDS, "contract_9", False),  # the allowance
        (ErrorClass.USER_FUNDS, "contract_13", False),  # the trustline
        (ErrorClass.USER_FUNDS, "trustline", False),
        (ErrorClass.PROGRAM, "contract_10", False),
        (None, None, False),
    ],
)
def test_only_a_balance_that_is_too_low_is_told_as_one(
    error: ErrorClass | None, code: str | None, expected: bool
) -> None:
    assert lacks_balance(error, code) is expected
