"""The permission sheet: what a signature allows, in sentences made from the very XDR (3.15).

There is one sentence for each rule of the spec, and the worst case at the end. The amounts are in
base units, and in units of the token where the token is known.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
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
from farebox.automation.plans.value_text import show_value
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import find_token

_WHO: Final[Mapping[AuthorityMode, str]] = {
    AuthorityMode.SESSION: "the account",
    AuthorityMode.MANDATE: "the mandate's own contract",
    AuthorityMode.PRESIGNED: "the account",
    AuthorityMode.OPEN: "the service's executor",
}


def write_permission_sheet(network: Network, spec_xdr: bytes) -> tuple[str, ...]:
    """The sentences about a `SessionSpec` in its XDR.

    Raises:
        Malformed: it is no spec.
    """
    spec = read_spec(spec_xdr)
    return (
        *_frame(network, spec),
        *(
            line
            for number, call in enumerate(spec.calls)
            for line in _call_lines(number, call, spec)
        ),
        *(_cap_line(network, cap) for cap in spec.caps),
        "Nothing else is allowed: no other contract, function, argument or token.",
        _worst_case(network, spec),
    )


def _frame(network: Network, spec: SessionSpec) -> Iterator[str]:
    key = account_address(spec.delegate)
    yield f"The key {key} may make the calls below for the account {spec.account} on {network}."
    yield f"It may do so from {_show_time(spec.not_before)} until {_show_time(spec.not_after)}."
    yield f"It may start {_times(spec.max_uses, 'call')} in all."
    yield f"The same call starts once in {_times(spec.interval_s, 'second')} at most."


def _call_lines(number: int, call: SessionCall, spec: SessionSpec) -> Iterator[str]:
    name = f"{call.function} of the contract {call.contract}"
    if call.under is None:
        yield f"Call {number + 1}: {name}, with {_times(len(call.rules), 'argument')}."
    else:
        yield (
            f"Call {number + 1}: {name}, with {_times(len(call.rules), 'argument')}, only inside"
            f" call {call.under + 1} and once in it."
        )
    for place, rule in enumerate(call.rules):
        yield f"Call {number + 1}, argument {place + 1}: {_rule_text(rule, spec)}."
    for row, values in enumerate(call.rows):
        shown = ", ".join(show_value(value) for value in values)
        yield f"Call {number + 1}, alternative {row + 1}: {shown}."


def _rule_text(rule: ArgumentRule, spec: SessionSpec) -> str:
    match rule:
        case AnyValue():
            return "anything"
        case EqualTo(value):
            return f"exactly {show_value(value)}"
        case RowColumn(column):
            return f"value {column + 1} of one of the alternatives, the same for all of them"
        case InRange(least, most):
            return f"a number from {least} to {most}"
        case IsAccount() | IsActor():
            is_account = isinstance(rule, IsAccount)
            return f"the account {spec.account}" if is_account else f"the caller: {_WHO[spec.mode]}"
        case TimeWithin(seconds):
            return f"a time at most {_times(seconds, 'second')} after that of the ledger"
        case MinRate() | OracleFloor():
            return _floor_text(rule)


def _floor_text(rule: MinRate | OracleFloor) -> str:
    other = f"argument {rule.in_argument + 1}"
    if isinstance(rule, MinRate):
        return f"at least {rule.numerator} for each {rule.denominator} of {other}"
    return (
        f"at least {other} (token {rule.sell}) in token {rule.buy} by the prices of the oracle"
        f" {rule.oracle}, not older than {_times(rule.max_age_s, 'second')}, times"
        f" {rule.scale_numerator}/{rule.scale_denominator} and less {rule.bps} of {BPS} parts"
    )


def _cap_line(network: Network, cap: TokenCap) -> str:
    if cap.total == 0:
        return f"Nothing of the token {cap.token} is paid; what comes in goes to the account."
    return (
        f"At most {_show_amount(network, cap.token, cap.per_run)} leave in one run,"
        f" and {_show_amount(network, cap.token, cap.total)} in all."
    )


def _worst_case(network: Network, spec: SessionSpec) -> str:
    losses = [
        _show_amount(network, cap.token, min(cap.total, cap.per_run * spec.max_uses))
        for cap in spec.caps
        if cap.total
    ]
    if not losses:
        return "Worst case, if the key is stolen: the calls above are made; no token leaves."
    return (
        "Worst case, if the key is stolen: the calls above are made as early as they may be,"
        f" and {' and '.join(losses)} leave the account on the terms above."
    )


def _show_amount(network: Network, token: Address, amount: int) -> str:
    text, known = f"{amount} base units of the token {token}", find_token(network, token)
    return text if known is None else f"{text} ({known.show(amount)})"


def _show_time(seconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return f"second {seconds} since 1970"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _times(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
