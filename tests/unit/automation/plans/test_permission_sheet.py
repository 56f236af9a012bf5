"""The permission sheet: a sentence for each rule, from the very XDR."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given

from farebox.automation.plans.permission_sheet import write_permission_sheet
from farebox.automation.plans.session_spec import (
    AnyValue,
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
from farebox.automation.plans.session_spec_xdr import write_spec
from farebox.automation.plans.value_text import show_value
from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import NATIVE
from farebox.stellar.scval import ScBytes, ScKind, ScNumber, ScOther, ScValue, ScVec
from farebox.stellar.scval_writer import VOID, address_of, struct_of
from farebox.stellar.xdr_reader import Malformed
from support.plans import DELEGATE, ORACLE, OWNER, PAIR, ROUTER, USDC, WALLET, session_specs, values

XLM: Final = NATIVE[Network.TESTNET].contract
ONE: Final = ScNumber(ScKind.I128, 1)
SPEC: Final = SessionSpec(
    account=WALLET,
    mode=AuthorityMode.SESSION,
    delegate=DELEGATE,
    calls=(
        SessionCall(
            ROUTER,
            "swap",
            (
                EqualTo(ONE),
                MinRate(0, 2, 1),
                InRange(1, 9),
                IsAccount(),
                IsActor(),
                TimeWithin(600),
                AnyValue(),
                OracleFloor(0, ORACLE, XLM, USDC, 100, 60, 3, 4),
            ),
        ),
        SessionCall(
            XLM,
            "transfer",
            (IsActor(), RowColumn(0), RowColumn(1)),
            amount=2,
            rows=((address_of(PAIR), ONE), (address_of(OWNER), ONE)),
            under=0,
        ),
    ),
    caps=(
        TokenCap(XLM, BaseUnits(10_000_000), BaseUnits(50_000_000)),
        TokenCap(USDC, BaseUnits(0), BaseUnits(0)),
    ),
    interval_s=3_600,
    max_uses=1,
    not_before=1_800_000_000,
    not_after=1_800_003_600,
)


def sheet(spec: SessionSpec = SPEC) -> tuple[str, ...]:
    """The sentences about a spec on testnet."""
    return write_permission_sheet(Network.TESTNET, write_spec(spec))


def test_sheet_has_a_sentence_for_each_rule_and_the_worst_case() -> None:
    assert sheet() == (
        (
            f"The key {account_address(DELEGATE)} may make the calls below"
            f" for the account {WALLET} on stellar:testnet."
        ),
        "It may do so from 2027-01-15 08:00:00 UTC until 2027-01-15 09:00:00 UTC.",
        "It may start 1 call in all.",
        "The same call starts once in 3600 seconds at most.",
        f"Call 1: swap of the contract {ROUTER}, with 8 arguments.",
        "Call 1, argument 1: exactly 1.",
        "Call 1, argument 2: at least 2 for each 1 of argument 1.",
        "Call 1, argument 3: a number from 1 to 9.",
        f"Call 1, argument 4: the account {WALLET}.",
        "Call 1, argument 5: the caller: the account.",
        "Call 1, argument 6: a time at most 600 seconds after that of the ledger.",
        "Call 1, argument 7: anything.",
        (
            f"Call 1, argument 8: at least argument 1 (token {XLM}) in token {USDC} by the prices"
            f" of the oracle {ORACLE}, not older than 60 seconds, times 3/4 and less 100 of 10000"
            " parts."
        ),
        (
            f"Call 2: transfer of the contract {XLM}, with 3 arguments, only inside call 1 and once"
            " in it."
        ),
        "Call 2, argument 1: the caller: the account.",
        "Call 2, argument 2: value 1 of one of the alternatives, the same for all of them.",
        "Call 2, argument 3: value 2 of one of the alternatives, the same for all of them.",
        f"Call 2, alternative 1: {PAIR}, 1.",
        f"Call 2, alternative 2: {OWNER}, 1.",
        (
            f"At most 10000000 base units of the token {XLM} (1 XLM) leave in one run,"
            f" and 50000000 base units of the token {XLM} (5 XLM) in all."
        ),
        f"Nothing of the token {USDC} is paid; what comes in goes to the account.",
        "Nothing else is allowed: no other contract, function, argument or token.",
        (
            "Worst case, if the key is stolen: the calls above are made as early as they may be,"
            f" and 10000000 base units of the token {XLM} (1 XLM) leave the account on the terms"
            " above."
        ),
    )


def test_worst_case_of_calls_without_tokens_is_the_calls() -> None:
    calls = (SessionCall(ROUTER, "poke", ()),)
    *_, last = sheet(replace(SPEC, calls=calls, caps=()))
    assert last == "Worst case, if the key is stolen: the calls above are made; no token leaves."


@pytest.mark.parametrize("mode", AuthorityMode)
def test_sheet_says_who_makes_the_calls(mode: AuthorityMode) -> None:
    callers = {
        AuthorityMode.SESSION: "the account",
        AuthorityMode.PRESIGNED: "the account",
        AuthorityMode.MANDATE: "the mandate's own contract",
        AuthorityMode.OPEN: "the service's executor",
    }
    assert f"Call 1, argument 5: the caller: {callers[mode]}." in sheet(replace(SPEC, mode=mode))


@given(session_specs)
def test_every_spec_has_a_sheet_with_each_of_its_rules(spec: SessionSpec) -> None:
    lines = sheet(spec)
    rules = sum(len(call.rules) + len(call.rows) for call in spec.calls)
    assert len(lines) == 6 + len(spec.calls) + rules + len(spec.caps)
    assert all(line.isprintable() for line in lines)
    assert all(line.endswith(".") for line in lines)


@pytest.mark.parametrize(
    "change",
    [
        {"account": OWNER},
        {"delegate": bytes(32)},
        {"interval_s": 3_601},
        {"max_uses": 2},
        {"not_before": 1_800_000_001},
        {"not_after": 1_800_003_601},
        {"calls": SPEC.calls[:1]},
        {"caps": SPEC.caps[:1]},
    ],
)
def test_every_member_of_a_spec_is_in_its_sheet(change: dict[str, Any]) -> None:
    assert sheet(replace(SPEC, **change)) != sheet()


def test_bytes_that_are_no_spec_have_no_sheet() -> None:
    with pytest.raises(Malformed):
        write_permission_sheet(Network.TESTNET, write_spec(SPEC)[:-4])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (ScNumber(ScKind.I128, -5), "-5"),
        (address_of(OWNER), OWNER),
        (ScBytes(ScKind.BYTES, b"\0\xff"), "bytes 00ff"),
        (ScBytes(ScKind.STRING, b'a"b\nc\\'), '"a\\"b\\nc\\\\"'),
        (ScBytes(ScKind.STRING, "é\u202e".encode()), '"\\xe9\\u202e"'),
        (ScBytes(ScKind.STRING, b"\xff"), '"\\\\xff"'),
        (ScVec((ONE, VOID)), "[1, nothing]"),
        (struct_of(a=ONE), '{"a": 1}'),
        (ScOther(ScKind.BOOL, b"\0\0\0\1"), "true"),
        (ScOther(ScKind.BOOL, bytes(4)), "false"),
        (ScOther(ScKind.ERROR, bytes(8)), "a value of kind error"),
    ],
)
def test_value_is_shown_as_text(value: ScValue, shown: str) -> None:
    assert show_value(value) == shown


@given(values)
def test_every_value_is_shown_in_one_short_line(value: ScValue) -> None:
    shown = show_value(value)
    assert shown.isprintable()
    assert shown.isascii() or shown[200] == "…"
    assert len(shown) < 230


def test_sheets_of_the_vectors_are_read_from_their_xdr() -> None:
    path = Path(__file__).parents[4] / "contracts" / "policy_id_vectors.json"
    vectors = json.loads(path.read_text())
    sheets = {
        write_permission_sheet(Network.TESTNET, base64.b64decode(each["spec_xdr"]))
        for each in vectors
    }
    assert len(sheets) == len({each["spec_xdr"] for each in vectors})
