"""Movements of tokens in events, in the forms of SEP-41, CAP-67 and before."""

import pytest
from hypothesis import given

from farebox.stellar.events import ContractEvent, EventKind, looks_like_token_movement
from farebox.stellar.scval import ScBytes, ScKind, ScNumber, ScValue, ScVec
from farebox.stellar.scval_writer import address_of, struct_of, symbol_of
from farebox.stellar.token_events import MovementKind, TokenMovement, read_token_event
from support.plans import OWNER, PAYEES, USDC, WALLET, values

ASSET = ScBytes(ScKind.STRING, b"USDC:G")
AMOUNT = ScNumber(ScKind.I128, 7)
MUXED = struct_of(amount=AMOUNT, to_muxed_id=ScNumber(ScKind.U64, 1))
ME, OTHER, ADMIN = address_of(OWNER), address_of(WALLET), address_of(PAYEES[0])


def event(name: str, *topics: ScValue, data: ScValue = AMOUNT) -> ContractEvent:
    """An event of the token."""
    return ContractEvent(USDC, EventKind.CONTRACT, (symbol_of(name), *topics), data, True)


def movement(kind: MovementKind, source: str | None, to: str | None) -> TokenMovement:
    """A movement of 7."""
    return TokenMovement(kind, USDC, source, to, 7)  # type: ignore[arg-type]  # they are addresses


APPROVAL = ScVec((AMOUNT, ScNumber(ScKind.U32, 100)))


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        (event("transfer", ME, OTHER, ASSET), movement(MovementKind.TRANSFER, OWNER, WALLET)),
        (event("transfer", ME, OTHER), movement(MovementKind.TRANSFER, OWNER, WALLET)),
        (
            event("transfer", ME, OTHER, ASSET, data=MUXED),
            movement(MovementKind.TRANSFER, OWNER, WALLET),
        ),
        (event("mint", ME, ASSET), movement(MovementKind.MINT, None, OWNER)),
        (event("mint", ADMIN, ME, ASSET), movement(MovementKind.MINT, None, OWNER)),
        (event("mint", ME, ASSET, data=MUXED), movement(MovementKind.MINT, None, OWNER)),
        (event("burn", ME, ASSET), movement(MovementKind.BURN, OWNER, None)),
        (event("clawback", ME, ASSET), movement(MovementKind.CLAWBACK, OWNER, None)),
        (event("clawback", ADMIN, ME, ASSET), movement(MovementKind.CLAWBACK, OWNER, None)),
        (
            event("approve", ME, OTHER, ASSET, data=APPROVAL),
            movement(MovementKind.APPROVE, OWNER, WALLET),
        ),
    ],
)
def test_movement_is_read_in_each_form(seen: ContractEvent, wanted: TokenMovement) -> None:
    assert read_token_event(seen) == wanted


@pytest.mark.parametrize(
    "seen",
    [
        event("transfer", ME),
        event("transfer", ME, OTHER, data=ScNumber(ScKind.U64, 7)),
        event("mint"),
        event("burn", ME, OTHER),
        event("approve", ME, OTHER),
        event("approve", ME, data=APPROVAL),
    ],
)
def test_event_with_the_name_of_a_movement_and_another_form_is_not_read(
    seen: ContractEvent,
) -> None:
    assert read_token_event(seen) is None
    assert looks_like_token_movement(seen)


def test_other_events_are_no_movements() -> None:
    assert read_token_event(event("swap", ME, OTHER)) is None
    system = ContractEvent(USDC, EventKind.SYSTEM, (symbol_of("burn"), ME), AMOUNT, True)
    assert read_token_event(system) is None
    assert read_token_event(ContractEvent(None, EventKind.CONTRACT, (), AMOUNT, True)) is None


@given(data=values, topic=values, second=values)
def test_event_of_any_content_is_read_or_not(
    data: ScValue, topic: ScValue, second: ScValue
) -> None:
    for name in MovementKind:
        found = read_token_event(event(name, topic, second, data=data))
        assert found is None or found.kind is name
