"""A call held against the interface of its contract: function, arguments, convention (3.14)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from farebox.automation.plans.typed_arguments import TypedValueReader
from farebox.automation.plans.wire import TypedArgument
from farebox.automation.refusal import AutomationRefused, spec_mismatch
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.contract_interface import ContractFunction, ContractInterface, FunctionInput
from farebox.stellar.scval import ScKind, ScValue
from farebox.stellar.scval_writer import write_value
from farebox.stellar.spec_types import PlainType

CHECK_FUNCTION: Final = "autolayer_check"
RUN_FUNCTION: Final = "autolayer_run"
MAX_ARGUMENT_BYTES: Final = 8_192  # of all arguments together
LONGEST_DEADLINE_S: Final = 86_400
_DEFAULT_DEADLINE_S: Final = 600
_DEADLINE: Final = re.compile(r"\$deadline(?:\((?P<seconds>[1-9][0-9]{0,4})\))?\Z", re.ASCII)
_NUMBER_KINDS: Final = MappingProxyType(
    {
        "u32": ScKind.U32,
        "u64": ScKind.U64,
        "u128": ScKind.U128,
        "i128": ScKind.I128,
    }
)


class RunValueKind(StrEnum):
    """A value that each run chooses; the first four are the closed list of callers."""

    ACTOR = "$account"  # who makes the call: the account, or the instance of its mandate
    RUN_INDEX = "$runIndex"
    DEADLINE = "$deadline"  # the ledger's time and some seconds
    MIN_OUT = "$minOut"  # the least that the run must get
    AMOUNT = "amount"  # of a trade
    ROW = "row"  # a column of the leg that is paid


@dataclass(frozen=True, slots=True)
class RunValue:
    """A value that each run chooses, as a number of `form`; ACTOR and ROW have no form.

    `detail` is the seconds of DEADLINE and the column of ROW.
    """

    kind: RunValueKind
    form: ScKind | None = None
    detail: int = 0


CallValue = ScValue | RunValue

# the types of an answer that may be a boolean: of the second one only its value shows it
_BOOLEANS: Final = (PlainType("bool"), PlainType("Val"))
# the types that a dynamic value may stand for
_DYNAMIC_TYPES: Final = MappingProxyType(
    {
        RunValueKind.ACTOR: ("Address", "MuxedAddress"),
        RunValueKind.RUN_INDEX: ("u32", "u64", "u128", "i128"),
        RunValueKind.DEADLINE: ("u64",),
        RunValueKind.MIN_OUT: ("u128", "i128"),
    }
)


def check_call(
    interface: ContractInterface, function: str, arguments: Sequence[TypedArgument]
) -> tuple[CallValue, ...]:
    """Check a call against the interface; the values of its arguments, in their order.

    Raises:
        AutomationRefused: `function_not_found`, or `spec_mismatch` with the place.
    """
    found = interface.find(function)
    if found is None:
        why = f"The contract has no function {function}."
        raise AutomationRefused(ErrorCode.FUNCTION_NOT_FOUND, why, field="spec.function")
    if len(arguments) != len(found.inputs):
        raise spec_mismatch("spec.args", f"{function} takes {_show_inputs(found)}.")
    reader = TypedValueReader(interface.types)
    values = tuple(
        _read_argument(reader, typed, parameter, f"spec.args[{number}]")
        for number, (typed, parameter) in enumerate(zip(arguments, found.inputs, strict=True))
    )
    written = sum(len(write_value(each)) for each in values if not isinstance(each, RunValue))
    if written > MAX_ARGUMENT_BYTES:
        raise spec_mismatch("spec.args", f"The arguments have {MAX_ARGUMENT_BYTES} bytes at most.")
    return values


def check_convention(interface: ContractInterface, *, needs_check: bool) -> bool:
    """Check that a target has the convention's functions; whether it has `autolayer_check`.

    Raises:
        AutomationRefused: `function_not_found` or `spec_mismatch`.
    """
    run = _convention_function(interface, RUN_FUNCTION)
    if [str(each.type) for each in run.inputs] != ["Address"]:
        raise spec_mismatch("spec.contract", f"{RUN_FUNCTION} takes one Address, the executor.")
    has_check = any(each.name == CHECK_FUNCTION for each in interface.functions)
    if not (has_check or needs_check):
        return False
    check = _convention_function(interface, CHECK_FUNCTION)
    if check.inputs or check.output not in _BOOLEANS:
        raise spec_mismatch("spec.contract", f"{CHECK_FUNCTION} takes nothing and returns a bool.")
    return True


def _convention_function(interface: ContractInterface, name: str) -> ContractFunction:
    found = interface.find(name)
    if found is None:
        why = f"The contract has no function {name}."
        raise AutomationRefused(ErrorCode.FUNCTION_NOT_FOUND, why, field="spec.contract")
    return found


def _read_argument(
    reader: TypedValueReader, typed: TypedArgument, parameter: FunctionInput, field: str
) -> CallValue:
    dynamic = _read_dynamic(typed.value, parameter, field)
    given = {"type": typed.type, "value": typed.value}
    return dynamic or reader.read(given, parameter.type, field=field)


def _read_dynamic(value: object, parameter: FunctionInput, field: str) -> RunValue | None:
    """The dynamic value that the text names; None for every other value."""
    name = str(parameter.type) if isinstance(parameter.type, PlainType) else ""
    if not isinstance(value, str) or not value.startswith("$") or name in ("String", "Symbol"):
        return None
    deadline = _DEADLINE.match(value)
    seconds = int(deadline["seconds"] or _DEFAULT_DEADLINE_S) if deadline else 0
    text = RunValueKind.DEADLINE.value if deadline else value
    kind = next((each for each in _DYNAMIC_TYPES if each.value == text), None)
    if kind is None or seconds > LONGEST_DEADLINE_S:
        known = ", ".join(each.value for each in _DYNAMIC_TYPES)
        raise spec_mismatch(f"{field}.value", f"A value that each run chooses is one of {known}.")
    if name not in _DYNAMIC_TYPES[kind]:
        raise spec_mismatch(f"{field}.value", f"{kind} is no {parameter.type}.")
    return RunValue(kind, _NUMBER_KINDS.get(name), seconds)


def _show_inputs(function: ContractFunction) -> str:
    shown = ", ".join(f"{each.name}: {each.type}" for each in function.inputs)
    return shown[:500] or "no argument"
