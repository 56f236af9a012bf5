"""Plans, session specs and typed values for the tests of automation."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from hypothesis import strategies as st

from farebox.automation.limits import LIMITS
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.plan import Plan
from farebox.automation.plans.plan_rules import read_plan
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
from farebox.automation.plans.wire import SPECS, PlanKind
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.contract_interface import (
    ContractFunction,
    ContractInterface,
    FunctionInput,
)
from farebox.stellar.scval import NUMBER_WIDTHS, ScBytes, ScKind, ScMap, ScNumber, ScOther, ScVec
from farebox.stellar.scval_writer import VOID, address_of
from farebox.stellar.spec_types import (
    EnumType,
    NamedType,
    PlainType,
    StructType,
    UnionType,
    VecType,
)
from support.payments import Json
from support.sdk_values import keys32


def contract(number: int) -> Address:
    """A contract's address."""
    return contract_address(bytes([number]) * 32)


def account(number: int) -> Address:
    """A classic account's address."""
    return account_address(bytes([number]) * 32)


OWNER: Final = account(1)
WALLET: Final = contract(2)
USDC: Final = contract(3)
XLM: Final = contract(4)
EURC: Final = contract(5)
ROUTER: Final = contract(6)
PAIR: Final = contract(7)
TARGET: Final = contract(8)
MANDATE: Final = contract(9)
ORACLE: Final = contract(10)
PAYEES: Final = (account(21), account(22), contract(23))
DELEGATE: Final = bytes([77]) * 32
START: Final = datetime(2026, 11, 25, 12, tzinfo=UTC)
WINDOW: Final = PlanWindow(START, START + timedelta(days=30))

CALL: Final[Json] = {
    "contract": TARGET,
    "function": "feed",
    "args": [
        {"type": "address", "value": "$account"},
        {"type": "address", "value": USDC},
        {"type": "i128", "value": "500"},
    ],
    "effects": {"maxDebit": [{"token": USDC, "amount": "500"}], "minCredit": []},
}
KEEPER: Final[Json] = {"contract": TARGET, "autolayer": True, "effects": {}}
DCA: Final[Json] = {
    "venue": "soroswap",
    "tokenIn": USDC,
    "tokenOut": XLM,
    "amountIn": "50000000",
    "slippageBps": 100,
    "minRate": {"num": "20", "den": "10"},
}
AQUARIUS: Final[Json] = DCA | {
    "venue": "aquarius",
    "path": [USDC, EURC, XLM],
    "pools": ["ab" * 32, "cd" * 32],
}
REBALANCE: Final[Json] = {
    "assets": [{"token": USDC, "weightBps": 6_000}, {"token": XLM, "weightBps": 4_000}],
    "driftBps": 100,
    "maxTradePerRun": [{"token": USDC, "amount": "1000"}, {"token": XLM, "amount": "2000"}],
    "oracle": ORACLE,
    "maxSlippageBps": 100,
    "venue": "soroswap",
}
DISBURSEMENT: Final[Json] = {
    "token": USDC,
    "legs": [
        {"to": PAYEES[0], "amount": "100"},
        {"to": PAYEES[1], "amount": "250", "ref": "rent"},
        {"to": PAYEES[2], "amount": "50"},
    ],
}


def plan_of(kind: PlanKind | str, body: Json, owner: Address = WALLET) -> Plan:
    """The plan of a payload."""
    return read_plan(msgspec.convert(body, SPECS[PlanKind(kind)]), owner, LIMITS)


def changed(body: Mapping[str, object], **members: object) -> Json:
    """A payload with other members."""
    return {**body, **members}


ADDRESS: Final = PlainType("Address")
# a target: a function of plain types, and one of every other form
INTERFACE: Final = ContractInterface(
    (
        ContractFunction(
            "feed",
            (
                FunctionInput("from", ADDRESS),
                FunctionInput("token", ADDRESS),
                FunctionInput("amount", PlainType("i128")),
            ),
            PlainType("u32"),
        ),
        ContractFunction(
            "forms",
            (
                FunctionInput("way", VecType(ADDRESS)),
                FunctionInput("step", NamedType("Step")),
                FunctionInput("asset", NamedType("Asset")),
                FunctionInput("level", NamedType("Level")),
                FunctionInput("index", PlainType("u32")),
                FunctionInput("until", PlainType("u64")),
                FunctionInput("least", PlainType("u128")),
            ),
            None,
        ),
        ContractFunction("autolayer_check", (), PlainType("bool")),
        ContractFunction("autolayer_run", (FunctionInput("executor", ADDRESS),), PlainType("u32")),
    ),
    {
        "Step": StructType((("protocol", PlainType("u32")), ("path", VecType(ADDRESS)))),
        "Pair": StructType((("0", PlainType("u32")), ("1", ADDRESS))),
        "Asset": UnionType((("Stellar", (ADDRESS,)), ("Other", ()))),
        "Level": EnumType((("Low", 1), ("High", 7))),
    },
)


numbers: Final = st.sampled_from([*NUMBER_WIDTHS]).flatmap(
    lambda kind: st.builds(
        ScNumber,
        st.just(kind),
        st.integers(
            -(2 ** (8 * NUMBER_WIDTHS[kind][0] - 1)) if NUMBER_WIDTHS[kind][1] else 0,
            2 ** (8 * NUMBER_WIDTHS[kind][0] - NUMBER_WIDTHS[kind][1]) - 1,
        ),
    )
)
parties: Final = st.one_of(keys32.map(account_address), keys32.map(contract_address))
plain_values: Final = st.one_of(
    numbers,
    parties.map(address_of),
    st.builds(ScBytes, st.just(ScKind.BYTES), st.binary(max_size=40)),
    st.builds(ScBytes, st.just(ScKind.STRING), st.text(max_size=10).map(str.encode)),
    st.builds(
        ScBytes, st.just(ScKind.SYMBOL), st.from_regex(rb"[A-Za-z0-9_]{0,32}", fullmatch=True)
    ),
    st.sampled_from([VOID, ScOther(ScKind.BOOL, b"\0\0\0\1"), ScOther(ScKind.BOOL, bytes(4))]),
)
values: Final = st.recursive(
    plain_values,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: ScVec(tuple(items))),
        st.lists(st.tuples(inner, inner), max_size=3).map(lambda pairs: ScMap(tuple(pairs))),
    ),
    max_leaves=6,
)
i128s: Final = st.integers(-(2**127), 2**127 - 1)
u32s: Final = st.integers(0, 2**32 - 1)
u64s: Final = st.integers(0, 2**64 - 1)
argument_rules: Final = st.one_of(
    st.just(AnyValue()),
    st.just(IsAccount()),
    st.just(IsActor()),
    st.builds(EqualTo, values),
    st.builds(RowColumn, u32s),
    st.builds(InRange, i128s, i128s),
    st.builds(TimeWithin, u64s),
    st.builds(MinRate, u32s, i128s, i128s),
    st.builds(
        OracleFloor,
        in_argument=u32s,
        oracle=parties,
        sell=parties,
        buy=parties,
        bps=u32s,
        max_age_s=u64s,
        scale_numerator=i128s,
        scale_denominator=i128s,
    ),
)
session_calls: Final = st.builds(
    SessionCall,
    contract=parties,
    function=st.from_regex(r"[A-Za-z0-9_]{1,32}", fullmatch=True),
    rules=st.lists(argument_rules, max_size=4).map(tuple),
    amount=st.none() | u32s,
    rows=st.lists(st.lists(values, max_size=2).map(tuple), max_size=2).map(tuple),
    under=st.none() | u32s,
)
session_specs: Final = st.builds(
    SessionSpec,
    account=parties,
    mode=st.sampled_from(AuthorityMode),
    delegate=st.binary(min_size=32, max_size=32),
    calls=st.lists(session_calls, max_size=3).map(tuple),
    caps=st.lists(
        st.builds(TokenCap, parties, i128s.map(BaseUnits), i128s.map(BaseUnits)), max_size=3
    ).map(tuple),
    interval_s=u64s,
    max_uses=u32s,
    not_before=u64s,
    not_after=u64s,
)
