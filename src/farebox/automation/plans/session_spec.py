"""What a session or a mandate allows, as the contracts receive it: `SessionSpec` (3.2, 3.12).

The Rust contracts, this package and the console agree on its XDR (`session_spec_xdr.py`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.automation.refusal import AutomationRefused, spec_mismatch
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
# the functions of SEP-41 that move or lend tokens: how many arguments, and which is the amount
TOKEN_FUNCTIONS: Final = {
    "transfer": (3, 2),
    "transfer_from": (4, 3),
    "approve": (4, 2),
    "burn": (2, 1),
    "burn_from": (3, 2),
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
        raise spec_mismatch("spec", "A token has two caps.")
    if any(not 0 <= cap.per_run <= cap.total for cap in spec.caps):
        raise spec_mismatch("spec", "The cap of a run is above the cap in all.")
    if all(call.under is not None for call in spec.calls):
        raise spec_mismatch("spec", "A session has a root call.")
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
    root = None if call.under is None else _call_at(spec, call.under)
    has_cap = call.contract in {cap.token for cap in spec.caps}
    rules = (
        (len(call.rules) <= MAX_CALL_ARGUMENTS, "A call has 12 arguments at most."),
        (call.contract != spec.account, "A session never calls its own account."),
        (call.under is None or (root is not None and root.under is None), "No such root call."),
        (has_cap == (call.amount is not None), "A call of a token with a cap has an amount."),
        (call.amount is None or call.amount < len(call.rules), "The amount is no argument."),
        (_is_bounded(call), f"{call.function} of a token has an amount and fixes its arguments."),
        (_has_whole_rows(call), "The rows and the arguments from them do not fit each other."),
        (
            all(_is_sound(place, rule, call) for place, rule in enumerate(call.rules)),
            "A rule of an argument has a number that it cannot have.",
        ),
    )
    for holds, why in rules:
        if not holds:
            raise spec_mismatch("spec", why)


def _is_bounded(call: SessionCall) -> bool:
    """Whether a function that moves or lends tokens has its amount, and no argument is free."""
    known = TOKEN_FUNCTIONS.get(call.function)
    if known is None:
        return True
    return (len(call.rules), call.amount) == known and AnyValue() not in call.rules


def _has_whole_rows(call: SessionCall) -> bool:
    """Whether the rows differ, and each of their columns has one argument."""
    columns = sorted(rule.column for rule in call.rules if isinstance(rule, RowColumn))
    return (
        columns == list(range(len(columns)))
        and bool(columns) == bool(call.rows)
        and len(set(call.rows)) == len(call.rows) <= MAX_ROWS
        and all(len(row) == len(columns) for row in call.rows)
    )


def _is_sound(place: int, rule: ArgumentRule, call: SessionCall) -> bool:
    match rule:
        case InRange(least, most):
            return least <= most
        case TimeWithin(seconds):
            return 1 <= seconds <= LONGEST_DEADLINE_S
        case MinRate(other, numerator, denominator):
            return numerator > 0 and denominator > 0 and _is_input(place, other, call)
        case OracleFloor(other):
            is_scaled = rule.scale_numerator > 0 and rule.scale_denominator > 0
            is_pair = rule.sell != rule.buy and rule.bps < BPS
            return is_scaled and is_pair and _is_input(place, other, call)
        case _:
            return True


def _is_input(place: int, other: int, call: SessionCall) -> bool:
    """Whether a rate names another argument, which has a rule of its own."""
    is_there = other < len(call.rules) and other != place
    return is_there and call.rules[other] != AnyValue()


def _call_at(spec: SessionSpec, index: int) -> SessionCall | None:
    return spec.calls[index] if index < len(spec.calls) else None
