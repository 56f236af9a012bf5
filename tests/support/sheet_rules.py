"""A session spec with every rule and values of every kind, for permission sheets."""

from typing import Final

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
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import NATIVE
from farebox.stellar.scval import (
    NUMBER_WIDTHS,
    ScBytes,
    ScKind,
    ScMap,
    ScNumber,
    ScOther,
    ScValue,
    ScVec,
)
from farebox.stellar.scval_writer import VOID, address_of, struct_of, symbol_of
from support.plans import DELEGATE, ORACLE, OWNER, PAIR, ROUTER, TARGET, USDC, WALLET

NATIVE_TOKEN: Final = NATIVE[Network.TESTNET].contract
ONE: Final = ScNumber(ScKind.I128, 1)
_LARGEST: Final = 2**127 - 1
VALUES: Final[tuple[ScValue, ...]] = (
    *(
        ScNumber(kind, 2 ** (8 * width - signed) - 1)
        for kind, (width, signed) in NUMBER_WIDTHS.items()
    ),
    *(ScNumber(kind, -7) for kind, (_, signed) in NUMBER_WIDTHS.items() if signed),
    ScBytes(ScKind.BYTES, bytes(range(250, 256))),
    ScBytes(ScKind.STRING, 'say "5", \\ then\nä\u202e'.encode()),
    ScBytes(ScKind.STRING, b"\xff\x7f"),
    symbol_of("a_Symbol_9"),
    symbol_of(""),
    ScVec((ONE, VOID, ScVec(()))),
    ScMap(()),
    struct_of(a=address_of(NATIVE_TOKEN), b=ScVec((address_of(USDC), address_of(OWNER)))),
    ScOther(ScKind.BOOL, b"\0\0\0\1"),
    ScOther(ScKind.BOOL, bytes(4)),
    VOID,
)
EVERY_RULE: Final = SessionSpec(
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
                InRange(-_LARGEST - 1, _LARGEST),
                IsAccount(),
                IsActor(),
                TimeWithin(600),
                AnyValue(),
                OracleFloor(0, ORACLE, NATIVE_TOKEN, USDC, 100, 61, 3, 4),
            ),
        ),
        SessionCall(
            NATIVE_TOKEN,
            "transfer",
            (IsActor(), RowColumn(0), RowColumn(1)),
            amount=2,
            rows=((address_of(PAIR), ONE), (address_of(OWNER), ONE)),
            under=0,
        ),
        SessionCall(
            USDC, "transfer", (IsAccount(), EqualTo(address_of(PAIR)), InRange(0, 70)), amount=2
        ),
        SessionCall(
            NATIVE_TOKEN,
            "transfer",
            (IsAccount(), EqualTo(address_of(PAIR)), EqualTo(ONE)),
            amount=2,
        ),
        SessionCall(
            NATIVE_TOKEN,
            "approve",
            (IsAccount(), EqualTo(address_of(PAIR)), InRange(0, 5), AnyValue()),
            amount=2,
        ),
        SessionCall(
            NATIVE_TOKEN,
            "transfer",
            (IsAccount(), RowColumn(0), InRange(0, 1)),
            amount=2,
            rows=((VOID,),),
        ),
        SessionCall(TARGET, "values", tuple(map(EqualTo, VALUES))),
        SessionCall(TARGET, "rows", (RowColumn(0),), rows=((ONE,), (VALUES[0],), ())),
    ),
    caps=(
        TokenCap(NATIVE_TOKEN, BaseUnits(10_000_000), BaseUnits(51_234_567)),
        TokenCap(USDC, BaseUnits(70), BaseUnits(_LARGEST)),
        TokenCap(ROUTER, BaseUnits(0), BaseUnits(0)),
    ),
    interval_s=172_800,
    max_uses=3,
    not_before=1_800_000_000,
    not_after=2**64 - 1,
)
