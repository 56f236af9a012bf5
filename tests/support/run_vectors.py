"""Runs of plans that are signed ahead, for the vectors of the console's readers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from farebox.automation.plans.session_spec import (
    AnyValue,
    AuthorityMode,
    EqualTo,
    IsAccount,
    RowColumn,
    SessionCall,
    SessionSpec,
    TokenCap,
)
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar import known_tokens
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from support.plans import DELEGATE, OWNER, PAIR, PAYEES, TARGET, USDC, WALLET
from support.sheet_rules import VALUES

_LAST_LEDGER: Final = 54_900_000
_XLM: Final = known_tokens.NATIVE[Network.TESTNET].contract
_PAID: Final = 12_500_000
_PAID_XLM: Final = Invocation(
    _XLM, "transfer", (address_of(WALLET), address_of(PAIR), ScNumber(ScKind.I128, _PAID))
)
_APPROVAL: Final = Invocation(
    _XLM, "approve", (*_PAID_XLM.arguments, ScNumber(ScKind.U32, _LAST_LEDGER))
)
LEGS: Final = SessionSpec(
    account=WALLET,
    mode=AuthorityMode.PRESIGNED,
    delegate=DELEGATE,
    calls=(
        SessionCall(
            _XLM,
            "transfer",
            (IsAccount(), RowColumn(0), RowColumn(1)),
            amount=2,
            rows=tuple(
                (address_of(payee), ScNumber(ScKind.I128, 100 * number))
                for number, payee in enumerate(PAYEES, start=1)
            ),
        ),
    ),
    caps=(TokenCap(_XLM, BaseUnits(300), BaseUnits(1_800)),),
    interval_s=60,
    max_uses=9,
    not_before=1_800_000_000,
    not_after=1_800_003_600,
)


def signed_runs() -> Iterator[tuple[str, SessionSpec, Invocation]]:
    """Runs that are signed ahead, of the account of the spec that each of them keeps."""
    for number, leg in enumerate(_paid_legs(), start=1):
        yield f"leg {number} of a disbursement", LEGS, leg
    wide = replace(
        LEGS,
        calls=(
            SessionCall(TARGET, "feed", (*map(EqualTo, VALUES), AnyValue())),
            _call_of(_PAID_XLM, under=0),
            _call_of(replace(_PAID_XLM, contract=USDC), under=0),
            SessionCall(TARGET, "poke", ()),
            _call_of(_APPROVAL),
        ),
        caps=tuple(
            TokenCap(token, BaseUnits(_PAID), BaseUnits(_PAID * 2)) for token in (_XLM, USDC)
        ),
    )
    inner = replace(_PAID_XLM, contract=USDC)
    fed = Invocation(
        TARGET, "feed", (*VALUES, address_of(USDC)), (replace(_PAID_XLM, nested=(inner,)),)
    )
    yield "a call with transfers", wide, fed
    yield "a call without arguments", wide, Invocation(TARGET, "poke", ())
    yield "an approval", wide, _APPROVAL


def _call_of(call: Invocation, under: int | None = None) -> SessionCall:
    """The rule of exactly this call of a token."""
    rules = tuple(map(EqualTo, call.arguments[1:]))
    return SessionCall(call.contract, call.function, (IsAccount(), *rules), amount=2, under=under)


def _paid_legs() -> tuple[Invocation, ...]:
    return tuple(
        Invocation(_XLM, "transfer", (address_of(WALLET), *row)) for row in LEGS.calls[0].rows
    )


def refused_runs() -> Iterator[tuple[str, Invocation]]:
    """Runs that are none of LEGS."""
    leg, second, _ = _paid_legs()
    payer, to, _ = leg.arguments
    target = Invocation(TARGET, "feed", ())
    other = replace(leg, arguments=(address_of(OWNER), *leg.arguments[1:]))
    yield "a call of the account", replace(target, contract=WALLET)
    yield "a transfer from another account below it", replace(target, nested=(other,))
    yield "an approval below it", replace(target, nested=(_APPROVAL,))
    yield "an approval below a transfer", replace(leg, nested=(_APPROVAL,))
    yield "a leg of another account", other
    yield "the amount of another leg", replace(leg, arguments=(payer, to, second.arguments[2]))
    yield "another token", replace(leg, contract=USDC)
    yield "another leg below it", replace(leg, nested=(second,))
    yield "another function", replace(leg, function="burn_from")
    yield "an argument less", replace(leg, arguments=leg.arguments[:2])
