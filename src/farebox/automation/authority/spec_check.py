"""A run's calls held against its spec: the rules of guard and mandate, as values.

The contracts enforce them on the chain; here they refuse before a signature, and they are the
reference that the contracts' tests are compared with. Prices of an oracle are not known here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from farebox.automation.plans.session_spec import (
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
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import MAX_BASE_UNITS
from farebox.stellar.invocations import Invocation, flatten
from farebox.stellar.scval import ScKind, ScNumber, ScValue
from farebox.stellar.scval_writer import address_of

_NUMBERS: Final = frozenset((ScKind.I128, ScKind.U128, ScKind.U64, ScKind.U32))


@dataclass(frozen=True, slots=True)
class AllowedRun:
    """The run is inside the spec: the index of the spec's call for each call, in pre-order."""

    calls: tuple[int, ...]
    row: int | None  # of the root call


@dataclass(frozen=True, slots=True)
class OutsideSpec:
    """A call that the spec does not allow, by its place in pre-order."""

    place: int


def judge_run(
    spec: SessionSpec, run: Invocation, *, actor: Address, ledger_time: int
) -> AllowedRun | OutsideSpec:
    """Judge the tree of a run; `ledger_time` in unix seconds.

    Every call of the tree must match a call of the spec: the root a root, and every other one,
    however deep, a call under it that no other one has matched. Each token stays below its cap.
    """
    calls = flatten(run)
    matcher = _Matcher(spec, actor, ledger_time)
    if not spec.not_before <= ledger_time <= spec.not_after:
        return OutsideSpec(0)
    root = matcher.match(calls[0], under=None, used=())
    if root is None:
        return OutsideSpec(0)
    used, row = [root[0]], root[1]
    for place, call in enumerate(calls[1:], start=1):
        found = matcher.match(call, under=root[0], used=used)
        if found is None:
            return OutsideSpec(place)
        used.append(found[0])
    return AllowedRun(tuple(used), row) if _is_capped(spec, calls, used) else OutsideSpec(0)


class _Matcher:
    """Finds the call of the spec that a call is."""

    def __init__(self, spec: SessionSpec, actor: Address, ledger_time: int) -> None:
        self._spec, self._actor, self._ledger_time = spec, actor, ledger_time

    def match(
        self, call: Invocation, *, under: int | None, used: Sequence[int]
    ) -> tuple[int, int | None] | None:
        for index, allowed in enumerate(self._spec.calls):
            is_here = allowed.under == under and index not in used
            if is_here and (allowed.contract, allowed.function) == (call.contract, call.function):
                fits, row = self._fit(allowed, call.arguments)
                if fits:
                    return index, row
        return None

    def _fit(self, allowed: SessionCall, arguments: tuple[ScValue, ...]) -> tuple[bool, int | None]:
        if len(arguments) != len(allowed.rules):
            return False, None
        pairs = list(zip(allowed.rules, arguments, strict=True))
        plain = [(rule, value) for rule, value in pairs if not isinstance(rule, RowColumn)]
        if not all(self._holds(rule, value, arguments) for rule, value in plain):
            return False, None
        if not allowed.rows:
            return True, None
        columns = {rule.column: value for rule, value in pairs if isinstance(rule, RowColumn)}
        wanted = tuple(columns[column] for column in sorted(columns))
        row = allowed.rows.index(wanted) if wanted in allowed.rows else None
        return row is not None, row

    def _holds(self, rule: ArgumentRule, value: ScValue, arguments: tuple[ScValue, ...]) -> bool:
        match rule:
            case AnyValue() | RowColumn():
                return True
            case EqualTo(wanted):
                return value == wanted
            case IsAccount():
                return value == address_of(self._spec.account)
            case IsActor():
                return value == address_of(self._actor)
            case InRange() | TimeWithin() | MinRate() | OracleFloor():
                return self._number_holds(rule, value, arguments)
            case _:
                assert_never(rule)

    def _number_holds(
        self,
        rule: InRange | TimeWithin | MinRate | OracleFloor,
        value: ScValue,
        arguments: tuple[ScValue, ...],
    ) -> bool:
        number = _number(value)
        if number is None:
            return False
        match rule:
            case InRange(least, most):
                return least <= number <= most
            case TimeWithin(seconds):
                is_time = isinstance(value, ScNumber) and value.kind is ScKind.U64
                return is_time and 0 <= number - self._ledger_time <= seconds
            case MinRate(place, numerator, denominator):
                paid = _number(arguments[place])
                is_sale = paid is not None and paid >= 0
                return is_sale and number * denominator >= (paid or 0) * numerator
            case OracleFloor(place):
                paid = _number(arguments[place])
                return number >= 0 and paid is not None and paid >= 0
            case _:
                assert_never(rule)


def _number(value: ScValue) -> int | None:
    """A number as the contracts read it: of four kinds, and not above an i128."""
    if not isinstance(value, ScNumber) or value.kind not in _NUMBERS:
        return None
    return value.value if value.value <= MAX_BASE_UNITS else None


def _is_capped(spec: SessionSpec, calls: Sequence[Invocation], used: Sequence[int]) -> bool:
    """Whether the amounts of a run stay below the caps of a run."""
    spent: dict[Address, int] = {}
    for call, index in zip(calls, used, strict=True):
        place = spec.calls[index].amount
        if place is not None:
            amount = call.arguments[place]
            if not isinstance(amount, ScNumber) or amount.kind is not ScKind.I128:
                return False
            if amount.value < 0:
                return False
            spent[call.contract] = spent.get(call.contract, 0) + amount.value
    most = {cap.token: cap.per_run for cap in spec.caps}
    return all(amount <= most.get(token, 0) for token, amount in spent.items())


def acting_address(spec: SessionSpec, mandate: Address | None) -> Address:
    """Who makes the calls of a spec: the account, or the instance of its mandate.

    Raises:
        ValueError: a mandate without its address.
    """
    if spec.mode is not AuthorityMode.MANDATE:
        return spec.account
    if mandate is None:
        raise ValueError("a mandate has an address")
    return mandate
