"""What the runs of a plan call, as the plan's row keeps it (JSON); values are XDR in base64.

The rules that a session's contracts enforce are not among it: they are in the session spec.
"""

import base64
from dataclasses import dataclass
from typing import Final

import msgspec

from farebox.automation.authority.planned_calls import PlannedCall, PlannedCalls
from farebox.automation.plans.call_check import CallValue, RunValue, RunValueKind
from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.session_spec import SessionCall
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.scval import ScKind, ScValue, read_value
from farebox.stellar.scval_writer import write_value
from farebox.stellar.xdr_reader import XdrReader


@dataclass(frozen=True, slots=True)
class RunCalls:
    """The calls of a plan, and the effects of each leg of a run (one for all where all are alike).

    `check` is the contract whose `autolayer_check` is asked first; None without one.
    """

    planned: PlannedCalls
    effects: tuple[Effects, ...] = (Effects(),)
    check: Address | None = None

    def effects_of(self, leg_index: int) -> Effects:
        """The effects of one leg."""
        return self.effects[min(leg_index, len(self.effects) - 1)]


class _Value(msgspec.Struct, frozen=True, omit_defaults=True):
    xdr: str | None = None
    run: RunValueKind | None = None
    form: int | None = None
    detail: int = 0


class _Call(msgspec.Struct, frozen=True, omit_defaults=True):
    contract: str
    function: str
    values: list[_Value] = []
    rows: list[list[str]] = []
    amount: int | None = None
    under: int | None = None


class _Effects(msgspec.Struct, frozen=True, omit_defaults=True):
    debit: list[tuple[str, str]] = []
    credit: list[tuple[str, str]] = []


class _RunCalls(msgspec.Struct, frozen=True, omit_defaults=True):
    calls: list[_Call]
    effects: list[_Effects] = []
    check: str | None = None
    needs_recording: bool = False


_DECODER: Final = msgspec.json.Decoder(_RunCalls)


def encode_calls(calls: RunCalls) -> str:
    """Encode the calls of a plan for its row."""
    stored = _RunCalls(
        calls=[_encode_call(each) for each in calls.planned.calls],
        effects=[
            _Effects(_encode_amounts(each.max_debit), _encode_amounts(each.min_credit))
            for each in calls.effects
        ],
        check=calls.check,
        needs_recording=calls.planned.needs_recording,
    )
    return msgspec.json.encode(stored).decode()


def decode_calls(text: str) -> RunCalls:
    """Decode the calls of a plan from its row."""
    stored = _DECODER.decode(text)
    effects = tuple(
        Effects(_decode_amounts(each.debit), _decode_amounts(each.credit))
        for each in stored.effects
    )
    planned = PlannedCalls(
        tuple(map(_decode_call, stored.calls)), needs_recording=stored.needs_recording
    )
    check = None if stored.check is None else Address(stored.check)
    return RunCalls(planned, effects or (Effects(),), check)


def _encode_call(planned: PlannedCall) -> _Call:
    allowed = planned.allowed
    return _Call(
        contract=allowed.contract,
        function=allowed.function,
        values=[_encode_value(each) for each in planned.values],
        rows=[[_encode_xdr(each) for each in row] for row in allowed.rows],
        amount=allowed.amount,
        under=allowed.under,
    )


def _decode_call(call: _Call) -> PlannedCall:
    allowed = SessionCall(
        Address(call.contract),
        call.function,
        rules=(),
        amount=call.amount,
        rows=tuple(tuple(map(_decode_xdr, row)) for row in call.rows),
        under=call.under,
    )
    return PlannedCall(allowed, tuple(map(_decode_value, call.values)))


def _encode_value(value: CallValue) -> _Value:
    if isinstance(value, RunValue):
        return _Value(run=value.kind, form=value.form, detail=value.detail)
    return _Value(xdr=_encode_xdr(value))


def _decode_value(value: _Value) -> CallValue:
    if value.run is not None:
        return RunValue(value.run, None if value.form is None else ScKind(value.form), value.detail)
    return _decode_xdr(value.xdr or "")


def _encode_xdr(value: ScValue) -> str:
    return base64.b64encode(write_value(value)).decode()


def _decode_xdr(text: str) -> ScValue:
    reader = XdrReader(base64.b64decode(text))
    value = read_value(reader)
    reader.finish()
    return value


def _encode_amounts(amounts: tuple[TokenAmount, ...]) -> list[tuple[str, str]]:
    return [(each.token, str(each.amount)) for each in amounts]


def _decode_amounts(amounts: list[tuple[str, str]]) -> tuple[TokenAmount, ...]:
    return tuple(TokenAmount(Address(token), BaseUnits(int(text))) for token, text in amounts)
