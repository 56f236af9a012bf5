"""Effects of a run against those that were declared, and the receipt of a run."""

import hashlib
import json
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.runs.effects_check import (
    EffectFault,
    EffectsMeasured,
    EffectsRefused,
    judge_effects,
)
from farebox.automation.runs.receipt import (
    ExecutedBy,
    RunReceipt,
    list_changes,
    receipt_bytes,
    receipt_digest,
)
from farebox.automation.runs.run_state import RunState
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.events import ContractEvent, EventKind
from farebox.stellar.scval import ScKind, ScNumber, ScValue, ScVec
from farebox.stellar.scval_writer import address_of, symbol_of
from support.plans import EURC, PAIR, PAYEES, START, USDC, WALLET, XLM

OTHER: Final = PAYEES[0]
DECLARED: Final = Effects((TokenAmount(USDC, BaseUnits(100)),), (TokenAmount(XLM, BaseUnits(5)),))
GAIN: Final = ("transfer", XLM, PAIR, WALLET, 5)


def event(name: str, token: Address, source: Address, to: Address, amount: int) -> ContractEvent:
    """An event of a token; `burn` and `mint` have one of the addresses."""
    parties = {"burn": (source,), "clawback": (source,), "mint": (to,)}.get(name, (source, to))
    data: ScValue = ScNumber(ScKind.I128, amount)
    if name == "approve":
        data = ScVec((data, ScNumber(ScKind.U32, 9)))
    topics: tuple[ScValue, ...] = (symbol_of(name), *map(address_of, parties))
    return ContractEvent(token, EventKind.CONTRACT, topics, data, True)


def judged(*moves: tuple[str, Address, Address, Address, int]) -> EffectsMeasured | EffectsRefused:
    """The judgement of some events."""
    return judge_effects([event(*move) for move in moves], WALLET, DECLARED)


def test_declared_effects_are_measured_net_of_each_token() -> None:
    found = judged(
        ("transfer", USDC, WALLET, PAIR, 120),
        ("transfer", USDC, PAIR, WALLET, 20),
        ("transfer", EURC, OTHER, PAIR, 999),
        GAIN,
    )
    assert found == EffectsMeasured(((USDC, -100), (XLM, 5)))


@pytest.mark.parametrize(
    ("move", "fault", "token", "amount"),
    [
        (("transfer", USDC, WALLET, PAIR, 101), EffectFault.DEBIT_TOO_HIGH, USDC, 101),
        (("transfer", EURC, WALLET, PAIR, 1), EffectFault.UNDECLARED_DEBIT, EURC, 1),
        (("burn", EURC, WALLET, PAIR, 1), EffectFault.UNDECLARED_DEBIT, EURC, 1),
        (("clawback", EURC, WALLET, PAIR, 1), EffectFault.UNDECLARED_DEBIT, EURC, 1),
        (("transfer", XLM, WALLET, PAIR, 6), EffectFault.UNDECLARED_DEBIT, XLM, 1),
        (("approve", USDC, WALLET, OTHER, 1), EffectFault.APPROVAL, USDC, 1),
    ],
)
def test_effect_outside_the_declaration_is_refused(
    move: tuple[str, Address, Address, Address, int],
    fault: EffectFault,
    token: Address,
    amount: int,
) -> None:
    assert judged(move, GAIN) == judged(GAIN, move) == EffectsRefused(fault, token, amount)


def test_credit_below_the_declaration_and_negative_amount_are_refused() -> None:
    too_low = EffectFault.CREDIT_TOO_LOW
    assert judged(("transfer", XLM, PAIR, WALLET, 4)) == EffectsRefused(too_low, XLM, 4)
    assert judged() == EffectsRefused(too_low, XLM, 0)
    negative = judged(("transfer", USDC, WALLET, PAIR, -1), GAIN)
    assert negative == EffectsRefused(EffectFault.UNREADABLE, USDC)


def test_minted_tokens_and_approvals_of_zero_or_of_others_are_allowed() -> None:
    found = judged(
        ("mint", XLM, OTHER, WALLET, 7),
        ("approve", USDC, WALLET, OTHER, 0),
        ("approve", USDC, OTHER, WALLET, 10),
    )
    assert found == EffectsMeasured(((XLM, 7),))


def test_events_of_failed_calls_and_of_the_network_move_nothing() -> None:
    failed = replace(event("transfer", EURC, WALLET, PAIR, 1), in_successful_call=False)
    system = replace(event("burn", EURC, WALLET, PAIR, 1), kind=EventKind.SYSTEM)
    found = judge_effects([failed, system, event(*GAIN)], WALLET, DECLARED)
    assert found == EffectsMeasured(((XLM, 5),))


def test_movement_of_an_unknown_form_is_refused() -> None:
    odd = replace(event("transfer", EURC, OTHER, PAIR, 1), data=ScNumber(ScKind.U64, 1))
    found = judge_effects([event(*GAIN), odd], WALLET, DECLARED)
    assert found == EffectsRefused(EffectFault.UNREADABLE, EURC)


moves = st.tuples(
    st.sampled_from(["transfer", "mint", "burn", "clawback"]),
    st.sampled_from([USDC, XLM, EURC]),
    st.sampled_from([WALLET, PAIR]),
    st.sampled_from([WALLET, PAIR]),
    st.integers(0, 60),
)


@given(st.lists(moves, max_size=8))
def test_measured_effects_are_those_of_a_ledger_of_balances(
    made: list[tuple[str, Address, Address, Address, int]],
) -> None:
    held = {USDC: 0, XLM: 0, EURC: 0}
    for name, token, source, to, amount in made:
        if to == WALLET and name in ("transfer", "mint"):
            held[token] += amount
        if source == WALLET and name in ("transfer", "burn", "clawback"):
            held[token] -= amount
    is_declared = held[USDC] >= -100 and held[XLM] >= 5 and held[EURC] >= 0
    found = judged(*made)
    assert isinstance(found, EffectsMeasured) == is_declared
    if isinstance(found, EffectsMeasured):
        assert dict(found.changes) == {token: net for token, net in held.items() if net}


RECEIPT: Final = RunReceipt(
    version=1,
    proposal="auto_x",
    policy_id="ab" * 32,
    network=Network.TESTNET,
    account=WALLET,
    run_index=3,
    leg_index=0,
    scheduled_for=START,
    state=RunState.SUCCEEDED,
    attempts=2,
    executed_by=ExecutedBy.SERVICE,
    transaction="cd" * 32,
    ledger=1_000,
    closed_at=START,
    changes=list_changes(((USDC, -100), (XLM, 5))),
    fee_stroops="23000",
    reason=None,
)


def test_receipt_has_one_encoding_with_its_members_in_order() -> None:
    encoded = receipt_bytes(RECEIPT)
    read = json.loads(encoded)
    assert list(read) == sorted(read)
    assert read["changes"] == [{"amount": "-100", "token": USDC}, {"amount": "5", "token": XLM}]
    assert read["closedAt"] == "2026-11-25T12:00:00Z"
    assert read["state"] == "succeeded"
    assert receipt_bytes(replace_struct(RECEIPT)) == encoded


def replace_struct(receipt: RunReceipt) -> RunReceipt:
    """An equal receipt."""
    return RunReceipt(**{name: getattr(receipt, name) for name in receipt.__struct_fields__})


def test_digest_of_a_receipt_has_its_label() -> None:
    encoded = receipt_bytes(RECEIPT)
    wanted = hashlib.sha256(b"x402.automation.receipt.v1\0" + encoded).digest()
    assert receipt_digest(encoded) == wanted
    assert receipt_digest(encoded + b" ") != wanted
