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
from farebox.automation.plans.session_spec_xdr import write_spec
from farebox.automation.plans.value_text import show_value
from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar import known_tokens
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
    usdc = known_tokens.USDC[Network.TESTNET].contract
    assert sheet() == (
        (
            f"The service's key {account_address(DELEGATE)} may act for the account {WALLET} on"
            " stellar:testnet, as written here."
        ),
        (
            "The account makes the calls; the session guard that is installed on it refuses every"
            " other call of the key."
        ),
        "The calls start from 2027-01-15 08:00:00 UTC until 2027-01-15 09:00:00 UTC.",
        "At most 1 call may start in all.",
        "The same call, or the same line of it, may start once in 1 hour.",
        f"Here USDC is the token {usdc}, XLM is the token {XLM}, token 1 is the token {USDC}.",
        f"Call 1: swap of the contract {ROUTER}, with 8 arguments.",
        "Call 1, argument 1: exactly 1.",
        "Call 1, argument 2: at least 2 for each 1 of argument 1.",
        "Call 1, argument 3: a number from 1 up to 9.",
        f"Call 1, argument 4: the account {WALLET}.",
        "Call 1, argument 5: who makes the call, the account.",
        "Call 1, argument 6: a time at most 10 minutes after that of the ledger.",
        "Call 1, argument 7: anything.",
        (
            "Call 1, argument 8: at least what argument 1 of XLM is worth in token 1, by prices of"
            f" the oracle {ORACLE} that are not older than 1 minute, times 3/4 and less 100 of"
            " 10000 parts."
        ),
        (
            "Call 2, only inside call 1 and once in it: send XLM from the account, as one of the"
            " lines of this call says."
        ),
        f"Call 2, line 1: 0.0000001 XLM to {PAIR}.",
        f"Call 2, line 2: 0.0000001 XLM to {OWNER}.",
        "At most 1 XLM may be paid with one call that starts, and 5 XLM in all.",
        "Nothing of token 1 may be paid; what comes in goes to the account.",
        "Nothing else is allowed: no other contract, function, argument or token.",
        (
            "Worst case, if the key is stolen: the calls above are made as early as they may be,"
            " and 1 XLM leave the account on the terms above."
        ),
    )


@pytest.mark.parametrize(
    ("to", "amount", "told"),
    [
        (EqualTo(address_of(PAIR)), EqualTo(ONE), "send exactly 0.0000001 XLM, from the account"),
        (EqualTo(address_of(PAIR)), InRange(0, 5), "send from 0 XLM up to 0.0000005 XLM, from"),
        (AnyValue(), EqualTo(ONE), "transfer of XLM, with 3 arguments, of which argument 3 is the"),
        (EqualTo(address_of(PAIR)), AnyValue(), "transfer of XLM, with 3 arguments"),
        (EqualTo(VOID), EqualTo(ONE), "transfer of XLM, with 3 arguments"),
        (RowColumn(1), RowColumn(0), "transfer of XLM, with 3 arguments"),
    ],
)
def test_transfer_is_one_sentence_where_one_says_all(
    to: ArgumentRule, amount: ArgumentRule, told: str
) -> None:
    call = SessionCall(XLM, "transfer", (IsAccount(), to, amount), amount=2)
    lines = sheet(replace(SPEC, calls=(call,)))
    assert any(line.startswith(f"Call 1: {told}") for line in lines)


def test_amount_of_a_call_and_names_of_arguments_are_told() -> None:
    rules = (IsAccount(), EqualTo(address_of(PAIR)), InRange(0, 5), AnyValue())
    lines = sheet(replace(SPEC, calls=(SessionCall(XLM, "approve", rules, amount=2),)))
    assert "Call 1: approve of XLM, with 4 arguments, of which argument 3 is the amount." in lines
    assert "Call 1, argument 4 (last ledger): anything." in lines


def test_worst_case_of_calls_without_tokens_is_the_calls() -> None:
    calls = (SessionCall(ROUTER, "poke", ()),)
    *_, last = sheet(replace(SPEC, calls=calls, caps=()))
    assert last == (
        "Worst case, if the key is stolen: the calls above are made as early as they may be; no"
        " token may be paid from the account."
    )


@pytest.mark.parametrize("mode", AuthorityMode)
def test_sheet_says_who_makes_the_calls(mode: AuthorityMode) -> None:
    callers = {
        AuthorityMode.SESSION: "the account",
        AuthorityMode.PRESIGNED: "the account",
        AuthorityMode.MANDATE: "the mandate",
        AuthorityMode.OPEN: "the service's executor",
    }
    lines = sheet(replace(SPEC, mode=mode))
    assert f"Call 1, argument 5: who makes the call, {callers[mode]}." in lines
    assert f"Call 2, only inside call 1 and once in it: send XLM from {callers[mode]}," in " ".join(
        lines
    )


def test_every_mode_has_sentences_of_its_own() -> None:
    spec = replace(SPEC, calls=(SessionCall(ROUTER, "poke", ()),))
    assert len({sheet(replace(spec, mode=mode)) for mode in AuthorityMode}) == len(AuthorityMode)


@given(session_specs, session_specs)
def test_every_spec_has_a_sheet_of_its_own_with_each_of_its_rules(
    spec: SessionSpec, other: SessionSpec
) -> None:
    lines = sheet(spec)
    assert (lines == sheet(other)) == (spec == other)
    told = [
        line
        for number, call in enumerate(spec.calls, start=1)
        for line in lines
        if line.startswith((f"Call {number},", f"Call {number}:"))
    ]
    least = sum(1 + len(call.rows) for call in spec.calls)
    most = sum(1 + len(call.rules) + len(call.rows) for call in spec.calls)
    assert least <= len(told) <= most
    assert len(lines) == 8 + len(told) + len(spec.caps)
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
        (ScNumber(ScKind.U32, 5), "5 (u32)"),
        (ScBytes(ScKind.STRING, b'a"b\nc\\'), '"a\\"b\\x0ac\\\\"'),
        (ScBytes(ScKind.STRING, "é\u202e".encode()), '"\\xc3\\xa9\\xe2\\x80\\xae"'),
        (ScBytes(ScKind.STRING, b"\xff"), '"\\xff"'),
        (ScBytes(ScKind.SYMBOL, b"ab"), 'symbol "ab"'),
        (ScVec(None), "the XDR 0000001000000000"),
        (ScVec((ONE, VOID)), "[1, nothing]"),
        (struct_of(a=ONE), '{symbol "a": 1}'),
        (ScOther(ScKind.BOOL, b"\0\0\0\1"), "true"),
        (ScOther(ScKind.BOOL, bytes(4)), "false"),
        (ScOther(ScKind.ERROR, bytes(8)), "the XDR 000000020000000000000000"),
    ],
)
def test_value_is_shown_as_text(value: ScValue, shown: str) -> None:
    assert show_value(value) == shown


@given(values, values)
def test_values_that_differ_have_two_texts_of_one_line(one: ScValue, other: ScValue) -> None:
    shown = show_value(one)
    assert shown.isprintable()
    assert shown.isascii()
    assert (shown == show_value(other)) == (one == other)


def test_sheets_of_the_vectors_are_read_from_their_xdr() -> None:
    path = Path(__file__).parents[4] / "contracts" / "policy_id_vectors.json"
    vectors = json.loads(path.read_text())
    sheets = {
        write_permission_sheet(Network.TESTNET, base64.b64decode(each["spec_xdr"]))
        for each in vectors
    }
    assert len(sheets) == len({each["spec_xdr"] for each in vectors})
