"""The calls of a plan in its row are read back as they were."""

from dataclasses import replace

from farebox.automation.authority.planned_calls import (
    ACTOR,
    PlannedCall,
    PlannedCalls,
    RunContext,
    resolve,
    row_transfer,
)
from farebox.automation.authority.stored_calls import RunCalls, decode_calls, encode_calls
from farebox.automation.plans.call_check import RunValue, RunValueKind
from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.session_spec import AuthorityMode, SessionCall
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of

TOKEN, TARGET = (contract_address(bytes([number]) * 32) for number in (1, 2))
PAYEE, ACCOUNT = (account_address(bytes([number]) * 32) for number in (3, 4))


def without_rules(calls: PlannedCalls) -> PlannedCalls:
    """The calls as a row keeps them: the rules are in the session spec."""
    return PlannedCalls(
        tuple(replace(each, allowed=replace(each.allowed, rules=())) for each in calls.calls),
        needs_recording=calls.needs_recording,
    )


def test_stored_calls_are_read_back() -> None:
    rows = [(address_of(PAYEE), ScNumber(ScKind.I128, 7)), (address_of(ACCOUNT), ACTOR_AMOUNT)]
    transfer = row_transfer(TOKEN, rows, AuthorityMode.PRESIGNED)
    deadline = RunValue(RunValueKind.DEADLINE, ScKind.U64, 600)
    index = RunValue(RunValueKind.RUN_INDEX, ScKind.U32)
    call = PlannedCall(SessionCall(TARGET, "work", ()), (ACTOR, deadline, index))
    effects = (
        Effects((TokenAmount(TOKEN, BaseUnits(7)),)),
        Effects((), (TokenAmount(TOKEN, BaseUnits(2**100)),)),
    )
    planned = without_rules(PlannedCalls((transfer, call), needs_recording=True))
    calls = RunCalls(planned, effects, check=TARGET)
    found = decode_calls(encode_calls(calls))
    assert found == calls
    assert [found.effects_of(leg) for leg in (0, 1, 5)] == [effects[0], effects[1], effects[1]]


ACTOR_AMOUNT = ScNumber(ScKind.I128, 8)


def test_stored_calls_make_the_same_call_of_a_run() -> None:
    rows = [(address_of(PAYEE), ScNumber(ScKind.I128, 7)), (address_of(ACCOUNT), ACTOR_AMOUNT)]
    planned = PlannedCalls((row_transfer(TOKEN, rows, AuthorityMode.PRESIGNED),))
    found = decode_calls(encode_calls(RunCalls(planned))).planned
    for row in (0, 1):
        context = RunContext(actor=ACCOUNT, run_index=3, ledger_time=9, row=row)
        assert resolve(found, context).call == resolve(planned, context).call
