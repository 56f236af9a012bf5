"""The permission sheet: what a signature allows, in sentences made from the very XDR (3.15).

There is a sentence for each rule of the spec, and the worst case at the end. Two specs that differ
have two sheets, unless they name the payer of a transfer as the account and as the caller that is
the account. The console writes the same sentences in the browser
(`console/src/wallet/writePermissionSheet.ts`), from the XDR that its wallet signs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from farebox.automation.plans.session_spec import (
    BPS,
    AnyValue,
    ArgumentRule,
    AuthorityMode,
    EqualTo,
    InRange,
    IsAccount,
    IsActor,
    MinRate,
    OracleFloor,
    RowColumn,
    SessionCall,
    SessionSpec,
    TimeWithin,
    TokenCap,
)
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.sheet_words import (
    NOTHING_ELSE,
    TokenNames,
    count_of,
    name_argument,
    name_tokens,
    show_duration,
    show_time,
)
from farebox.automation.plans.value_text import show_value
from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.stellar.scval import ScAddress, ScKind, ScNumber, ScValue


@dataclass(frozen=True, slots=True)
class _ModeWords:
    """What differs by mode: who acts, by what, who makes the calls, and the worst case."""

    who: str
    how: str
    actor: str
    loss: str


_STOLEN: Final = "if the key is stolen: the calls above are made as early as they may be"
_MODES: Final[Mapping[AuthorityMode, _ModeWords]] = {
    AuthorityMode.SESSION: _ModeWords(
        "The service's key {key} may act for the account {account} on {network}, as written here.",
        "The account makes the calls; the session guard that is installed on it refuses every other"
        " call of the key.",
        "the account",
        _STOLEN,
    ),
    AuthorityMode.MANDATE: _ModeWords(
        "The service's key {key} may act for the account {account} on {network}, as written here.",
        "A contract for this plan alone, the mandate, makes the calls; it takes from the account"
        " what a call needs, and refuses every other call of the key.",
        "the mandate",
        _STOLEN,
    ),
    AuthorityMode.PRESIGNED: _ModeWords(
        "The service sends calls that the account {account} signs ahead on {network}; its key {key}"
        " signs none of them.",
        "The account makes the calls, each once; the network does not hold the service to the times"
        " written here, only to the last ledger of each signature.",
        "the account",
        "if what is signed is stolen: the calls above are made at once",
    ),
    AuthorityMode.OPEN: _ModeWords(
        "The service makes calls for the account {account} on {network} without its signature; the"
        " key {key} signs none of them.",
        "The service's executor makes the calls; it has no authority over the account, and the"
        " network does not hold it to the times written here.",
        "the service's executor",
        "if the service is dishonest: the calls above are made at other times",
    ),
}


def write_permission_sheet(network: Network, spec_xdr: bytes) -> tuple[str, ...]:
    """The sentences about a `SessionSpec` in its XDR.

    Raises:
        Malformed: it is no spec.
    """
    spec = read_spec(spec_xdr)
    names = name_tokens(network, (cap.token for cap in spec.caps))
    return (
        *_frame(names, spec),
        *(
            line
            for number, call in enumerate(spec.calls, start=1)
            for line in _call_lines(names, number, call, spec)
        ),
        *(_cap_line(names, cap) for cap in spec.caps),
        NOTHING_ELSE,
        _worst_case(names, spec),
    )


def _frame(names: TokenNames, spec: SessionSpec) -> Iterator[str]:
    key, words = account_address(spec.delegate), _MODES[spec.mode]
    yield words.who.format(key=key, account=spec.account, network=names.network)
    yield words.how
    yield f"The calls start from {show_time(spec.not_before)} until {show_time(spec.not_after)}."
    yield f"At most {count_of(spec.max_uses, 'call')} may start in all."
    gap = show_duration(spec.interval_s)
    yield f"The same call, or the same line of it, may start once in {gap}."
    yield names.explain()


def _call_lines(
    names: TokenNames, number: int, call: SessionCall, spec: SessionSpec
) -> Iterator[str]:
    inside = "" if call.under is None else f", only inside call {call.under + 1} and once in it"
    head = f"Call {number}{inside}"
    if _is_transfer(call):
        yield f"{head}: {_transfer_text(names, call, spec)}."
        for line, (to, amount) in enumerate(call.rows, start=1):
            paid = _number_text(names, call, amount)
            yield f"Call {number}, line {line}: {paid} to {show_value(to)}."
        return
    what = f"{call.function} of {names.contract(call.contract)}"
    counted = "" if call.amount is None else f", of which argument {call.amount + 1} is the amount"
    yield f"{head}: {what}, with {count_of(len(call.rules), 'argument')}{counted}."
    for place, rule in enumerate(call.rules):
        name = name_argument(call.function, len(call.rules), place)
        yield f"Call {number}, {name}: {_rule_text(names, rule, spec)}."
    for line, values in enumerate(call.rows, start=1):
        shown = ", ".join(show_value(value, names.names) for value in values)
        yield f"Call {number}, line {line}: {shown or 'nothing'}."


def _is_transfer(call: SessionCall) -> bool:
    """Whether one sentence says all of the call: a transfer of SEP-41 with bounded arguments."""
    if (call.function, call.amount, len(call.rules)) != ("transfer", 2, 3):
        return False
    match call.rules:
        case (IsAccount() | IsActor(), RowColumn(0), RowColumn(1)):
            return bool(call.rows) and all(map(_is_payment, call.rows))
        case (IsAccount() | IsActor(), EqualTo(ScAddress()), InRange()):
            return not call.rows
        case (IsAccount() | IsActor(), EqualTo(ScAddress()), EqualTo(ScNumber(ScKind.I128))):
            return not call.rows
        case _:
            return False


def _is_payment(row: tuple[ScValue, ...]) -> bool:
    match row:
        case (ScAddress(), ScNumber(ScKind.I128)):
            return True
        case _:
            return False


def _transfer_text(names: TokenNames, call: SessionCall, spec: SessionSpec) -> str:
    payer = "the account" if call.rules[0] == IsAccount() else _MODES[spec.mode].actor
    match call.rules[1:]:
        case (EqualTo(to), EqualTo(amount)):
            much = f"exactly {_number_text(names, call, amount)}"
        case (EqualTo(to), InRange(least, most)):
            low, high = (names.amount(call.contract, each) for each in (least, most))
            much = f"from {low} up to {high}"
        case _:
            token = names.token(call.contract)
            return f"send {token} from {payer}, as one of the lines of this call says"
    return f"send {much}, from {payer} to {show_value(to)}"


def _number_text(names: TokenNames, call: SessionCall, value: ScValue) -> str:
    if isinstance(value, ScNumber):
        return names.amount(call.contract, value.value)
    return show_value(value)


def _rule_text(names: TokenNames, rule: ArgumentRule, spec: SessionSpec) -> str:
    match rule:
        case AnyValue():
            return "anything"
        case EqualTo(value):
            return f"exactly {show_value(value, names.names)}"
        case RowColumn(column):
            return f"value {column + 1} of one of the lines, of the same line for all of them"
        case IsAccount():
            return f"the account {spec.account}"
        case IsActor():
            return f"who makes the call, {_MODES[spec.mode].actor}"
        case _:
            return _number_rule_text(names, rule)


def _number_rule_text(names: TokenNames, rule: InRange | TimeWithin | MinRate | OracleFloor) -> str:
    match rule:
        case InRange(least, most):
            return f"a number from {least} up to {most}"
        case TimeWithin(seconds):
            return f"a time at most {show_duration(seconds)} after that of the ledger"
        case MinRate(place, numerator, denominator):
            return f"at least {numerator} for each {denominator} of argument {place + 1}"
        case OracleFloor():
            return _floor_text(names, rule)


def _floor_text(names: TokenNames, rule: OracleFloor) -> str:
    sold, bought = names.token(rule.sell), names.token(rule.buy)
    age, scale = show_duration(rule.max_age_s), f"{rule.scale_numerator}/{rule.scale_denominator}"
    return (
        f"at least what argument {rule.in_argument + 1} of {sold} is worth in {bought}, by prices"
        f" of the oracle {rule.oracle} that are not older than {age}, times {scale} and less"
        f" {rule.bps} of {BPS} parts"
    )


def _cap_line(names: TokenNames, cap: TokenCap) -> str:
    if cap.total == cap.per_run == 0:
        token = names.token(cap.token)
        return f"Nothing of {token} may be paid; what comes in goes to the account."
    per_call, total = (names.amount(cap.token, each) for each in (cap.per_run, cap.total))
    return f"At most {per_call} may be paid with one call that starts, and {total} in all."


def _worst_case(names: TokenNames, spec: SessionSpec) -> str:
    losses = [
        names.amount(cap.token, min(cap.total, cap.per_run * spec.max_uses))
        for cap in spec.caps
        if cap.total
    ]
    told = f"Worst case, {_MODES[spec.mode].loss}"
    if not losses:
        return f"{told}; no token may be paid from the account."
    return f"{told}, and {' and '.join(losses)} leave the account on the terms above."
