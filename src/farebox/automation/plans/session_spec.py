"""What a session or a mandate allows, as the contracts receive it: `SessionSpec` (3.2, 3.12).

The Rust contracts, this package and the console agree on its XDR (`session_spec_xdr.py`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.automation.refusal import AutomationRefused
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.scval import ScValue

VERSION: Final = 1
MAX_CALLS: Final = 8
MAX_CAPS: Final = 8
MAX_CALL_ARGUMENTS: Final = 12
MAX_ROWS: Final = 32
LONGEST_DEADLINE_S: Final = 86_400
BPS: Final = 10_000
# the functions of SEP-41 that move or lend tokens, each with the argument that is the amount
TOKEN_FUNCTIONS: Final = {
    "transfer": 2,
    "transfer_from": 3,
    "approve": 2,
    "burn": 1,
    "burn_from": 2,
}


class AuthorityMode(StrEnum):
    """How a run is authorized (2.1); the contracts know only the first two."""

    SESSION = "session"
    MANDATE = "mandate"
    PRESIGNED = "presigned"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class AnyValue:
    """The argument may be anything."""


@dataclass(frozen=True, slots=True)
class EqualTo:
    """The argument is this value, compared as XDR."""

    value: ScValue


@dataclass(frozen=True, slots=True)
class RowColumn:
    """The argument is this column of one of the call's rows, the same row for all such rules."""

    column: int


@dataclass(frozen=True, slots=True)
class InRange:
    """The argument is a number between the two, both included."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class IsAccount:
    """The argument is the account of the spec."""


@dataclass(frozen=True, slots=True)
class IsActor:
    """The argument is who makes the call: the account, or the instance of the mandate."""


@dataclass(frozen=True, slots=True)
class TimeWithin:
    """The argument is a time from that of the ledger on, at most so many seconds later."""

    seconds: int


@dataclass(frozen=True, slots=True)
class MinRate:
    """The argument is at least `numerator / denominator` times another argument."""

    in_argument: int
    numerator: int
    denominator: int


@dataclass(frozen=True, slots=True)
class OracleFloor:
    """The argument is at least another one at the price of an oracle (SEP-40), less `bps`."""

    in_argument: int
    oracle: Address
    sell: Address
    buy: Address
    bps: int
    max_age_s: int
    scale_numerator: int = 1
    scale_denominator: int = 1


ArgumentRule = (
    AnyValue
    | EqualTo
    | RowColumn
    | InRange
    | IsAccount
    | IsActor
    | TimeWithin
    | MinRate
    | OracleFloor
)


@dataclass(frozen=True, slots=True)
class SessionCall:
    """A call that is allowed. `amount`: the argument that is an amount of the token `contract`.

    `under` None: a root call, which uses the session once. Else it is only allowed nested, once,
    below the root call of this index.
    """

    contract: Address
    function: str
    rules: tuple[ArgumentRule, ...]
    amount: int | None = None
    rows: tuple[tuple[ScValue, ...], ...] = ()
    under: int | None = None


@dataclass(frozen=True, slots=True)
class TokenCap:
    """The most that moves of a token: in one run, and in all."""

    token: Address
    per_run: BaseUnits
    total: BaseUnits


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """Everything that a session allows; times are unix seconds, both ends included."""

    account: Address
    mode: AuthorityMode
    delegate: bytes  # 32: the ed25519 public key that signs the runs
    calls: tuple[SessionCall, ...]
    caps: tuple[TokenCap, ...]
    interval_s: int  # the least between two uses of one slot (a call and a row of it)
    max_uses: int  # root calls in all
    not_before: int
    not_after: int


def check_spec(spec: SessionSpec) -> None:
    """Check the rules by which the contracts accept a spec.

    Raises:
        AutomationRefused: `limit_exceeded` for a number, `spec_mismatch` for everything else.
    """
    _check_counts(spec)
    capped = [cap.token for cap in spec.caps]
    if len(set(capped)) < len(capped):
        raise _unfit("A token has two caps.")
    if any(not 0 <= cap.per_run <= cap.total for cap in spec.caps):
        raise _unfit("The cap of a run is above the cap in all.")
    for call in spec.calls:
        _check_call(call, spec)


def _check_counts(spec: SessionSpec) -> None:
    numbers = (
        (1 <= len(spec.calls) <= MAX_CALLS, f"A session has 1 to {MAX_CALLS} calls."),
        (len(spec.caps) <= MAX_CAPS, f"A session has {MAX_CAPS} caps at most."),
        (spec.interval_s >= 1 and spec.max_uses >= 1, "It is used once a second at most."),
        (spec.not_before < spec.not_after, "It ends after it begins."),
        (len(spec.delegate) == 32, "The delegate's key has 32 bytes."),
    )
    for holds, why in numbers:
        if not holds:
            raise AutomationRefused(ErrorCode.LIMIT_EXCEEDED, why)


def _check_call(call: SessionCall, spec: SessionSpec) -> None:
    columns = sorted(rule.column for rule in call.rules if isinstance(rule, RowColumn))
    root = None if call.under is None else _call_at(spec, call.under)
    needed = TOKEN_FUNCTIONS.get(call.function)
    rules = (
        (len(call.rules) <= MAX_CALL_ARGUMENTS, "A call has 12 arguments at most."),
        (len(call.rows) <= MAX_ROWS, f"A call has {MAX_ROWS} rows at most."),
        (call.contract != spec.account, "A session never calls its own account."),
        (columns == list(range(len(columns))), "Each column of the rows has one argument."),
        (bool(columns) == bool(call.rows), "Rows and the arguments from them belong together."),
        (len(set(call.rows)) == len(call.rows), "Two rows are the same."),
        (all(len(row) == len(columns) for row in call.rows), "A row has another width."),
        (call.under is None or (root is not None and root.under is None), "No such root call."),
        (call.amount is None or call.contract in {cap.token for cap in spec.caps}, "No cap."),
        (call.amount is None or call.amount < len(call.rules), "The amount is no argument."),
        (needed is None or call.amount == needed, f"{call.function} moves an amount."),
        (needed is None or AnyValue() not in call.rules, f"{call.function} fixes its arguments."),
    )
    for holds, why in rules:
        if not holds:
            raise _unfit(why)
    _check_in_arguments(call)


def _check_in_arguments(call: SessionCall) -> None:
    for place, rule in enumerate(call.rules):
        if isinstance(rule, MinRate | OracleFloor):
            is_other = rule.in_argument < len(call.rules) and rule.in_argument != place
            if not is_other:
                raise _unfit("A rate names another argument of its call.")


def _call_at(spec: SessionSpec, index: int) -> SessionCall | None:
    return spec.calls[index] if index < len(spec.calls) else None


def _unfit(why: str) -> AutomationRefused:
    return AutomationRefused(ErrorCode.SPEC_MISMATCH, why, field="spec")
