"""The spec of a session as JSON: every rule of it, and no other."""

import base64
from dataclasses import replace

import pytest
from stellar_sdk import xdr

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
    TokenCap,
)
from farebox.automation.session_body import limits_body, spec_json
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.scval import ScKind, ScNumber
from support.plans import DELEGATE, EURC, ORACLE, OWNER, TARGET, USDC, XLM

FLOOR = OracleFloor(0, ORACLE, USDC, XLM, 50, 300)
RULES: list[tuple[ArgumentRule, dict[str, object]]] = [
    (AnyValue(), {"rule": "any"}),
    (IsAccount(), {"rule": "account"}),
    (IsActor(), {"rule": "actor"}),
    (RowColumn(1), {"rule": "row", "column": 1}),
    (InRange(-5, 2**100), {"rule": "range", "least": "-5", "most": str(2**100)}),
    (TimeWithin(600), {"rule": "timeWithin", "seconds": 600}),
    (
        MinRate(0, 20, 10),
        {"rule": "minRate", "ofArgument": 0, "numerator": "20", "denominator": "10"},
    ),
    (
        FLOOR,
        {
            "rule": "oracleFloor",
            "ofArgument": 0,
            "oracle": ORACLE,
            "sell": USDC,
            "buy": XLM,
            "bps": 50,
            "maxAgeSeconds": 300,
            "scaleNumerator": "1",
            "scaleDenominator": "1",
        },
    ),
]


def spec_with(rule: ArgumentRule) -> SessionSpec:
    call = SessionCall(TARGET, "feed", (rule,), under=None)
    cap = TokenCap(EURC, BaseUnits(7), BaseUnits(70))
    return SessionSpec(OWNER, AuthorityMode.MANDATE, DELEGATE, (call,), (cap,), 60, 10, 100, 900)


@pytest.mark.parametrize(("rule", "shown"), RULES)
def test_rule_is_shown_with_all_its_members(rule: ArgumentRule, shown: dict[str, object]) -> None:
    (call,) = spec_json(spec_with(rule))["calls"]
    assert call["arguments"] == [shown]
    assert (call["contract"], call["function"]) == (TARGET, "feed")


def test_value_is_shown_as_text_and_as_the_xdr_that_the_sdk_reads() -> None:
    (call,) = spec_json(spec_with(EqualTo(ScNumber(ScKind.I128, 500))))["calls"]
    (rule,) = call["arguments"]
    assert (rule["rule"], rule["value"]) == ("equal", "500")
    read = xdr.SCVal.from_xdr_bytes(base64.b64decode(rule["xdr"]))
    assert read.i128 is not None
    assert read.i128.lo.uint64 == 500


def test_frame_of_the_spec_is_shown() -> None:
    spec = spec_with(AnyValue())
    shown = spec_json(spec)
    assert shown["delegate"] == DELEGATE.hex()
    assert shown["caps"] == [{"token": EURC, "perRun": "7", "total": "70"}]
    frame = ("version", "account", "mode", "intervalSeconds", "maxUses", "notBefore", "notAfter")
    assert [shown[name] for name in frame] == [1, OWNER, "mandate", 60, 10, 100, 900]
    assert spec_json(replace(spec, max_uses=11)) != shown
    limits = limits_body(spec, 5, valid_until_ledger=8)
    assert (limits.run_limit, limits.authorization_limit) == (5, 10)
    assert limits.valid_until_ledger == 8
    assert limits.not_after.timestamp() == 900
