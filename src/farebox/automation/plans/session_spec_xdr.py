"""The XDR of `SessionSpec`, both ways: an SCVal map that the contracts read as it is.

A struct is a map of symbols in the order of their bytes, a variant a vector that begins with its
symbol, and a missing value is void.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from farebox.automation.plans.session_spec import (
    VERSION,
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
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.scval import (
    ScBytes,
    ScKind,
    ScMap,
    ScNumber,
    ScValue,
    ScVec,
    read_value,
)
from farebox.stellar.scval_reader import (
    address_in,
    bytes_in,
    items_in,
    members_in,
    number_in,
    symbol_in,
)
from farebox.stellar.scval_writer import VOID, address_of, struct_of, symbol_of, write_value
from farebox.stellar.xdr_reader import Malformed, XdrReader

MAX_SPEC_BYTES: Final = 65_536
_MAX_ITEMS: Final = 8_000


def spec_value(spec: SessionSpec) -> ScMap:
    """The SCVal of a spec."""
    return struct_of(
        account=address_of(spec.account),
        calls=ScVec(tuple(_call_value(call) for call in spec.calls)),
        caps=ScVec(tuple(_cap_value(cap) for cap in spec.caps)),
        delegate=ScBytes(ScKind.BYTES, spec.delegate),
        interval=_u64(spec.interval_s),
        max_uses=_u32(spec.max_uses),
        mode=symbol_of(spec.mode),
        not_after=_u64(spec.not_after),
        not_before=_u64(spec.not_before),
        version=_u32(VERSION),
    )


def write_spec(spec: SessionSpec) -> bytes:
    """The XDR of a spec."""
    return write_value(spec_value(spec))


def read_spec(raw: bytes) -> SessionSpec:
    """Read the XDR of a spec; strictly: what it returns has these bytes and no others.

    Raises:
        Malformed: it is no spec of the one version.
    """
    if len(raw) > MAX_SPEC_BYTES:
        raise Malformed
    reader = XdrReader(raw, max_items=_MAX_ITEMS)
    value = read_value(reader)
    reader.finish()
    spec = _read_spec_value(value)
    if write_spec(spec) != raw:
        raise Malformed
    return spec


def _read_spec_value(value: ScValue) -> SessionSpec:
    members = members_in(value)
    if members.get("version") != _u32(VERSION):
        raise Malformed
    mode = symbol_in(members.get("mode"))
    if mode not in set(AuthorityMode):
        raise Malformed
    return SessionSpec(
        account=address_in(members.get("account")),
        mode=AuthorityMode(mode),
        delegate=bytes_in(members.get("delegate")),
        calls=tuple(_read_call(each) for each in items_in(members.get("calls"))),
        caps=tuple(_read_cap(each) for each in items_in(members.get("caps"))),
        interval_s=number_in(members.get("interval"), ScKind.U64),
        max_uses=number_in(members.get("max_uses"), ScKind.U32),
        not_before=number_in(members.get("not_before"), ScKind.U64),
        not_after=number_in(members.get("not_after"), ScKind.U64),
    )


def _call_value(call: SessionCall) -> ScMap:
    return struct_of(
        amount=_optional(call.amount),
        args=ScVec(tuple(_rule_value(rule) for rule in call.rules)),
        contract=address_of(call.contract),
        function=symbol_of(call.function),
        rows=ScVec(tuple(ScVec(row) for row in call.rows)),
        under=_optional(call.under),
    )


def _read_call(value: ScValue) -> SessionCall:
    members = members_in(value)
    return SessionCall(
        contract=address_in(members.get("contract")),
        function=symbol_in(members.get("function")),
        rules=tuple(_read_rule(each) for each in items_in(members.get("args"))),
        amount=_read_optional(members.get("amount")),
        rows=tuple(items_in(row) for row in items_in(members.get("rows"))),
        under=_read_optional(members.get("under")),
    )


def _cap_value(cap: TokenCap) -> ScMap:
    return struct_of(
        per_run=_i128(cap.per_run), token=address_of(cap.token), total=_i128(cap.total)
    )


def _read_cap(value: ScValue) -> TokenCap:
    members = members_in(value)
    return TokenCap(
        token=address_in(members.get("token")),
        per_run=BaseUnits(number_in(members.get("per_run"), ScKind.I128)),
        total=BaseUnits(number_in(members.get("total"), ScKind.I128)),
    )


def _rule_value(rule: ArgumentRule) -> ScVec:
    name, *values = _rule_parts(rule)
    return ScVec((symbol_of(name), *values))


def _rule_parts(rule: ArgumentRule) -> "tuple[str, *tuple[ScValue, ...]]":
    match rule:
        case AnyValue() | IsAccount() | IsActor():
            return (_PLAIN_RULES[type(rule)],)
        case EqualTo(value):
            return "Eq", value
        case RowColumn(column):
            return "Row", _u32(column)
        case InRange(least, most):
            return "Range", _i128(least), _i128(most)
        case TimeWithin(seconds):
            return "TimeWithin", _u64(seconds)
        case MinRate(place, numerator, denominator):
            return "MinRate", _u32(place), _i128(numerator), _i128(denominator)
        case OracleFloor():
            return "OracleFloor", _floor_value(rule)
        case _:
            assert_never(rule)


_PLAIN_RULES: Final[Mapping[type[ArgumentRule], str]] = {
    AnyValue: "Any",
    IsAccount: "Account",
    IsActor: "Actor",
}


def _read_rule(value: ScValue) -> ArgumentRule:
    match items_in(value):
        case (ScBytes(ScKind.SYMBOL, b"Any"),):
            return AnyValue()
        case (ScBytes(ScKind.SYMBOL, b"Account"),):
            return IsAccount()
        case (ScBytes(ScKind.SYMBOL, b"Actor"),):
            return IsActor()
        case (ScBytes(ScKind.SYMBOL, b"Eq"), wanted):
            return EqualTo(wanted)
        case (ScBytes(ScKind.SYMBOL, b"OracleFloor"), floor):
            return _read_floor(floor)
        case (ScBytes(ScKind.SYMBOL, name), *numbers):
            return _read_number_rule(name, numbers)
        case _:
            raise Malformed


def _read_number_rule(name: bytes, values: list[ScValue]) -> ArgumentRule:
    match name, values:
        case b"Row", [ScNumber(ScKind.U32, column)]:
            return RowColumn(column)
        case b"Range", [ScNumber(ScKind.I128, least), ScNumber(ScKind.I128, most)]:
            return InRange(least, most)
        case b"TimeWithin", [ScNumber(ScKind.U64, seconds)]:
            return TimeWithin(seconds)
        case b"MinRate", [
            ScNumber(ScKind.U32, place),
            ScNumber(ScKind.I128, numerator),
            ScNumber(ScKind.I128, denominator),
        ]:
            return MinRate(place, numerator, denominator)
        case _:
            raise Malformed


def _floor_value(floor: OracleFloor) -> ScMap:
    return struct_of(
        bps=_u32(floor.bps),
        buy=address_of(floor.buy),
        in_arg=_u32(floor.in_argument),
        max_age=_u64(floor.max_age_s),
        oracle=address_of(floor.oracle),
        scale_den=_i128(floor.scale_denominator),
        scale_num=_i128(floor.scale_numerator),
        sell=address_of(floor.sell),
    )


def _read_floor(value: ScValue) -> OracleFloor:
    members = members_in(value)
    return OracleFloor(
        in_argument=number_in(members.get("in_arg"), ScKind.U32),
        oracle=address_in(members.get("oracle")),
        sell=address_in(members.get("sell")),
        buy=address_in(members.get("buy")),
        bps=number_in(members.get("bps"), ScKind.U32),
        max_age_s=number_in(members.get("max_age"), ScKind.U64),
        scale_numerator=number_in(members.get("scale_num"), ScKind.I128),
        scale_denominator=number_in(members.get("scale_den"), ScKind.I128),
    )


def _u32(value: int) -> ScNumber:
    return ScNumber(ScKind.U32, value)


def _u64(value: int) -> ScNumber:
    return ScNumber(ScKind.U64, value)


def _i128(value: int) -> ScNumber:
    return ScNumber(ScKind.I128, value)


def _optional(value: int | None) -> ScValue:
    return VOID if value is None else _u32(value)


def _read_optional(value: ScValue | None) -> int | None:
    return None if value == VOID else number_in(value, ScKind.U32)
