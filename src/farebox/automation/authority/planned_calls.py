"""The calls of a plan: what the session allows, and the values that each run passes (3.15).

A plan's calls are made once, at the proposal; a run only fills in its own values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from farebox.automation.plans.call_check import CallValue, RunValue, RunValueKind
from farebox.automation.plans.session_spec import (
    ArgumentRule,
    AuthorityMode,
    EqualTo,
    InRange,
    IsAccount,
    IsActor,
    RowColumn,
    SessionCall,
    TokenCap,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import MAX_BASE_UNITS, BaseUnits
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScKind, ScNumber, ScValue
from farebox.stellar.scval_writer import address_of

TRANSFER: Final = "transfer"
ACTOR: Final = RunValue(RunValueKind.ACTOR)
_AMOUNT_ARGUMENT: Final = 2  # of transfer


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that the session allows, and the value of each of its arguments in a run."""

    allowed: SessionCall
    values: tuple[CallValue, ...]


@dataclass(frozen=True, slots=True)
class RunCap:
    """The most of a token that leaves: with one root call, and with all of one run."""

    token: Address
    per_call: BaseUnits
    per_run: BaseUnits


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """The calls of a plan in the order of the spec, and the token caps.

    `needs_recording`: what is nested below the root is only known from a simulation of the run.
    """

    calls: tuple[PlannedCall, ...]
    run_caps: tuple[RunCap, ...] = ()
    needs_recording: bool = False

    @property
    def allowed(self) -> tuple[SessionCall, ...]:
        """The calls of the spec."""
        return tuple(each.allowed for each in self.calls)

    def caps(self, runs: int) -> tuple[TokenCap, ...]:
        """The token caps of a session for so many runs; the contracts count by root call."""
        return tuple(
            TokenCap(cap.token, cap.per_call, BaseUnits(min(cap.per_run * runs, MAX_BASE_UNITS)))
            for cap in self.run_caps
        )


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run fills in.

    `actor` makes the call. `ledger_time` is the close of the newest ledger in unix seconds: a
    deadline counts from there. `root` is the index of the root call, `row` the leg that is paid.
    """

    actor: Address
    run_index: int
    ledger_time: int
    root: int = 0
    row: int = 0
    min_out: int | None = None
    amount: int | None = None


class ValueMissing(Exception):
    """A run lacks a value that its call needs."""


def resolve(planned: PlannedCalls, context: RunContext) -> Invocation:
    """The tree of a run's calls: the root, and below it the calls that the spec nests under it.

    Raises:
        ValueMissing: the context has no minimum or no amount, and the call needs it.
    """
    root = planned.calls[context.root]
    nested = tuple(
        _invoke(each, context) for each in planned.calls if each.allowed.under == context.root
    )
    return _invoke(root, context, nested)


def resolve_recorded(
    planned: PlannedCalls, context: RunContext, amounts: Mapping[int, int]
) -> Invocation:
    """The tree of a run's root call with those calls below it that a recording has shown.

    `amounts` are theirs, by the index of the planned call, in the order of the recording.

    Raises:
        ValueMissing: the root call needs a value that the context does not have.
    """
    nested = tuple(
        _invoke(planned.calls[index], replace(context, amount=amount))
        for index, amount in amounts.items()
    )
    return _invoke(planned.calls[context.root], context, nested)


def fix_nested(planned: PlannedCalls, amounts: Mapping[int, int]) -> PlannedCalls:
    """A contract call's root, and below it exactly the transfers that a recording has shown.

    `amounts` are those of `resolve_recorded`. Nothing is left for a run to choose.
    """
    root = planned.calls[0]
    paid = tuple(
        nested_transfer(
            planned.calls[index].allowed.contract,
            root.allowed.contract,
            AuthorityMode.PRESIGNED,
            under=0,
            amount=amount,
            most=amount,
        )
        for index, amount in amounts.items()
    )
    return replace(planned, calls=(root, *paid), needs_recording=False)


def actor_rule(mode: AuthorityMode) -> ArgumentRule:
    """The rule for an argument that is who makes the call."""
    return IsActor() if mode is AuthorityMode.MANDATE else IsAccount()


def nested_transfer(
    token: Address, to: Address, mode: AuthorityMode, *, under: int, amount: int | None, most: int
) -> PlannedCall:
    """A transfer of the actor's tokens below a root call: exactly `amount`, or up to `most`."""
    if amount is None:
        rule: ArgumentRule = InRange(0, most)
        value: CallValue = RunValue(RunValueKind.AMOUNT, ScKind.I128)
    else:
        value = ScNumber(ScKind.I128, amount)
        rule = EqualTo(value)
    recipient = address_of(to)
    rules = (actor_rule(mode), EqualTo(recipient), rule)
    allowed = SessionCall(token, TRANSFER, rules, amount=_AMOUNT_ARGUMENT, under=under)
    return PlannedCall(allowed, (ACTOR, recipient, value))


def row_transfer(
    token: Address, rows: Sequence[tuple[ScValue, ...]], mode: AuthorityMode
) -> PlannedCall:
    """A transfer to one of several (recipient, amount) rows."""
    rules = (actor_rule(mode), RowColumn(0), RowColumn(1))
    allowed = SessionCall(token, TRANSFER, rules, amount=_AMOUNT_ARGUMENT, rows=tuple(rows))
    columns = tuple(RunValue(RunValueKind.ROW, detail=column) for column in (0, 1))
    return PlannedCall(allowed, (ACTOR, *columns))


def _invoke(
    planned: PlannedCall, context: RunContext, nested: tuple[Invocation, ...] = ()
) -> Invocation:
    call = planned.allowed
    arguments = tuple(
        _fill(value, call, context) if isinstance(value, RunValue) else value
        for value in planned.values
    )
    return Invocation(call.contract, call.function, arguments, nested)


def _fill(value: RunValue, call: SessionCall, context: RunContext) -> ScValue:
    if value.kind is RunValueKind.ACTOR:
        return address_of(context.actor)
    if value.kind is RunValueKind.ROW:
        return call.rows[context.row][value.detail]
    number = {
        RunValueKind.RUN_INDEX: context.run_index,
        RunValueKind.DEADLINE: context.ledger_time + value.detail,
        RunValueKind.MIN_OUT: context.min_out,
        RunValueKind.AMOUNT: context.amount,
    }[value.kind]
    if number is None or value.form is None:
        raise ValueMissing(value.kind)
    return ScNumber(value.form, number)
