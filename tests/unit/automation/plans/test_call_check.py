"""Calls against an interface: arguments, values that each run chooses, the convention."""

from dataclasses import replace
from typing import Final

import msgspec
import pytest

from farebox.automation.plans.call_check import RunValue, RunValueKind, check_call, check_convention
from farebox.automation.plans.wire import TypedArgument
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.contract_interface import ContractFunction, ContractInterface, FunctionInput
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from farebox.stellar.spec_types import PlainType
from support.payments import Json
from support.plans import ADDRESS, CALL, INTERFACE, OWNER, USDC, changed

FORMS: Final[list[Json]] = [
    {"type": "vec", "value": [{"type": "address", "value": OWNER}]},
    {
        "type": "Step",
        "value": {"protocol": {"type": "u32", "value": "1"}, "path": {"type": "vec", "value": []}},
    },
    {"type": "Asset", "value": {"case": "Other", "values": []}},
    {"type": "Level", "value": "Low"},
    {"type": "u32", "value": "$runIndex"},
    {"type": "u64", "value": "$deadline(90)"},
    {"type": "u128", "value": "$minOut"},
]


def arguments(bodies: list[Json]) -> list[TypedArgument]:
    """The arguments of a payload."""
    return msgspec.convert(bodies, list[TypedArgument])


def refusal(function: str, bodies: list[Json]) -> tuple[ErrorCode, str]:
    """The code and the field of a call's refusal."""
    with pytest.raises(AutomationRefused) as refused:
        check_call(INTERFACE, function, arguments(bodies))
    return refused.value.code, refused.value.field


def test_arguments_that_fit_become_values() -> None:
    assert check_call(INTERFACE, "feed", arguments(CALL["args"])) == (
        RunValue(RunValueKind.ACTOR),
        address_of(USDC),
        ScNumber(ScKind.I128, 500),
    )


def test_values_that_each_run_chooses_are_read_with_their_form() -> None:
    assert check_call(INTERFACE, "forms", arguments(FORMS))[4:] == (
        RunValue(RunValueKind.RUN_INDEX, ScKind.U32),
        RunValue(RunValueKind.DEADLINE, ScKind.U64, 90),
        RunValue(RunValueKind.MIN_OUT, ScKind.U128),
    )


def test_deadline_without_seconds_has_ten_minutes() -> None:
    bodies = [*FORMS[:5], {"type": "u64", "value": "$deadline"}, FORMS[6]]
    assert check_call(INTERFACE, "forms", arguments(bodies))[5] == RunValue(
        RunValueKind.DEADLINE, ScKind.U64, 600
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, "$account"),
        (4, "$account"),
        (4, "$deadline"),
        (4, "$minOut"),
        (5, "$deadline(0)"),
        (5, "$deadline(86401)"),
        (5, "$deadline(-1)"),
        (5, "$deadline(1"),
        (5, "$now"),
        (5, "$"),
        (5, "$runIndex "),
        (6, "$deadline(1)"),
    ],
)
def test_value_that_a_run_cannot_choose_there_is_refused(place: int, value: str) -> None:
    bodies = list(FORMS)
    bodies[place] = changed(bodies[place], value=value)
    code, field = refusal("forms", bodies)
    assert code is ErrorCode.SPEC_MISMATCH
    assert field == f"spec.args[{place}].value"


def test_dollar_in_a_text_is_text() -> None:
    takes_text = ContractFunction("say", (FunctionInput("words", PlainType("String")),), None)
    interface = ContractInterface((takes_text,), {})
    (value,) = check_call(interface, "say", arguments([{"type": "string", "value": "$account"}]))
    assert not isinstance(value, RunValue)


def test_unknown_function_and_wrong_number_of_arguments_are_refused() -> None:
    assert refusal("eat", []) == (ErrorCode.FUNCTION_NOT_FOUND, "spec.function")
    assert refusal("feed", CALL["args"][:2]) == (ErrorCode.SPEC_MISMATCH, "spec.args")
    assert refusal("feed", [*CALL["args"], CALL["args"][0]]) == (
        ErrorCode.SPEC_MISMATCH,
        "spec.args",
    )


def test_arguments_that_are_too_large_together_are_refused() -> None:
    many = [{"type": "address", "value": OWNER}] * 250
    bodies = [{"type": "vec", "value": many}, *FORMS[1:]]
    assert refusal("forms", bodies) == (ErrorCode.SPEC_MISMATCH, "spec.args")


def without(name: str) -> ContractInterface:
    """The target without a function."""
    kept = tuple(each for each in INTERFACE.functions if each.name != name)
    return replace(INTERFACE, functions=kept)


def with_function(function: ContractFunction) -> ContractInterface:
    """The target with another function of this name."""
    rest = without(function.name)
    return replace(rest, functions=(*rest.functions, function))


def test_convention_needs_its_check_only_for_a_condition() -> None:
    assert check_convention(INTERFACE, needs_check=True)
    assert check_convention(INTERFACE, needs_check=False)
    assert not check_convention(without("autolayer_check"), needs_check=False)
    with pytest.raises(AutomationRefused) as refused:
        check_convention(without("autolayer_check"), needs_check=True)
    assert refused.value.code is ErrorCode.FUNCTION_NOT_FOUND


@pytest.mark.parametrize(
    ("interface", "code"),
    [
        (without("autolayer_run"), ErrorCode.FUNCTION_NOT_FOUND),
        (with_function(ContractFunction("autolayer_run", (), None)), ErrorCode.SPEC_MISMATCH),
        (
            with_function(
                ContractFunction("autolayer_run", (FunctionInput("n", PlainType("u32")),), None)
            ),
            ErrorCode.SPEC_MISMATCH,
        ),
        (with_function(ContractFunction("autolayer_check", (), None)), ErrorCode.SPEC_MISMATCH),
        (
            with_function(
                ContractFunction(
                    "autolayer_check", (FunctionInput("a", ADDRESS),), PlainType("bool")
                )
            ),
            ErrorCode.SPEC_MISMATCH,
        ),
    ],
)
def test_target_that_breaks_the_convention_is_refused(
    interface: ContractInterface, code: ErrorCode
) -> None:
    with pytest.raises(AutomationRefused) as refused:
        check_convention(interface, needs_check=False)
    assert refused.value.code is code
