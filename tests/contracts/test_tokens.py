"""Tokens that do other than their events say: refused, or accepted with a warning."""

from collections.abc import AsyncIterator
from typing import Final

import pytest
from stellar_sdk import scval

from farebox.x402.reasons import Reason
from support import node_proxy
from support.contracts import SideCall, Token, TokenBehaviour, token, wasm_of
from support.payments import Draft, Json
from support.promises import case, promise
from support.stage import NetworkStage, Stage, key_of
from support.table_rows import in_row

HELD: Final = 100_000
TREASURE: Final = 70
MARK: Final = {"warnings": ["token_unverified"]}
HONEST: Final = TokenBehaviour()

# Behaviour that the events of a transfer do not show.
UNSEEN: Final = {
    "honest": HONEST,
    "moves nothing and says all": TokenBehaviour(taken=0, given=0),
    "says more than it moves": TokenBehaviour(taken=50, given=50),
    "says less than it takes": TokenBehaviour(taken=200),
    "keeps a fee of the recipient's": TokenBehaviour(given=90),
}
# Behaviour that they show.
SEEN: Final = {
    "moves all and says less": (TokenBehaviour(reported=50), Reason.EVENT_WRONG_AMOUNT),
    "moves all and says more": (TokenBehaviour(reported=200), Reason.EVENT_WRONG_AMOUNT),
    "says it twice": (TokenBehaviour(times=2), Reason.MULTIPLE_TRANSFERS),
    "says nothing": (TokenBehaviour(times=0), Reason.NO_TRANSFER_EVENTS),
}


@pytest.fixture(scope="module")
async def _made(testnet: NetworkStage) -> Token:
    made = await token(testnet)
    await made.give(testnet.scene.payers[0].address, HELD)
    return made


@pytest.fixture
async def scripted_token(_made: Token, testnet: NetworkStage) -> AsyncIterator[Token]:
    """The token, of which the usual payer holds some; its behaviour is reset afterwards."""
    holder = testnet.scene.payers[0].address
    yield _made
    await _made.behave(HONEST)
    lacking = HELD - await testnet.ledger.balance(_made.address, holder)
    await _made.give(holder, lacking)


@case("PV-126", "PV-127")
@pytest.mark.parametrize("behaviour", UNSEEN.values(), ids=UNSEEN)
async def test_custom_token_has_a_warning_and_is_settled_by_its_events(
    stage: Stage, scripted_token: Token, behaviour: TokenBehaviour
) -> None:
    """Where any asset is accepted."""
    ledger, draft = stage.ledger(), await stage.draft(asset=scripted_token.address)
    await scripted_token.behave(behaviour)
    verdict = await stage.verify(draft.request())
    assert verdict == {"isValid": True, "payer": draft.payer, "extra": MARK}
    had = await ledger.balance(scripted_token.address, draft.pay_to)
    await stage.assert_settles(draft.request())
    left = await ledger.balance(scripted_token.address, draft.payer)
    has = await ledger.balance(scripted_token.address, draft.pay_to)
    assert HELD - left == draft.amount * behaviour.taken // 100
    assert has - had == draft.amount * behaviour.given // 100


@case("PV-126", "PV-127")
async def test_custom_token_is_refused_where_only_asset_contracts_are_accepted(
    asset_contracts_only: Stage, stage: Stage, scripted_token: Token, testnet: NetworkStage
) -> None:
    """Also one with the name of an asset."""
    strict, name = asset_contracts_only, f"{testnet.scene.code}:{testnet.scene.issuer}"
    posing = TokenBehaviour(posing_as=name)
    unseen = UNSEEN | {"has the name of an asset": posing}
    unsupported = {row: (each, Reason.UNSUPPORTED_ASSET) for row, each in unseen.items()}
    for row, (behaviour, reason) in (SEEN | unsupported).items():
        with in_row(row):
            await scripted_token.behave(behaviour)
            draft = await stage.draft(asset=scripted_token.address)
            await strict.assert_refused(draft.request(), reason, payer=draft.payer)
    draft = await stage.draft(asset=scripted_token.address)
    assert (await stage.verify(draft.request()))["extra"] == MARK, "the one with the name"


@case("PV-119", "PV-120", "PV-121")
async def test_token_whose_events_differ_from_the_payment_is_refused(
    stage: Stage, scripted_token: Token
) -> None:
    for row, (behaviour, reason) in SEEN.items():
        with in_row(row):
            await scripted_token.behave(behaviour)
            draft = await stage.draft(asset=scripted_token.address)
            await stage.assert_refused(draft.request(), reason, payer=draft.payer)


@case("PV-120")
async def test_token_that_moves_a_second_token_is_refused(
    stage: Stage, scripted_token: Token, testnet: NetworkStage
) -> None:
    native, giver = testnet.scene.native, await testnet.ledger.account()
    await testnet.ledger.give(giver, native, scripted_token.address, TREASURE)
    draft = await stage.draft(asset=scripted_token.address)
    parties = (scval.to_address(scripted_token.address), scval.to_address(giver.public_key))
    spend = SideCall(native, "transfer", (*parties, scval.to_int128(TREASURE)))
    await scripted_token.behave(TokenBehaviour(side_call=spend))
    await stage.assert_refused(draft.request(), Reason.MULTIPLE_TRANSFERS, payer=draft.payer)


@case("PV-120")
async def test_token_that_also_moves_the_payers_asset_is_refused(
    stage: Stage, scripted_token: Token, testnet: NetworkStage
) -> None:
    """The payer approved the token's contract before; the theft needs no further signature."""
    thief = testnet.scene.payees[1].address
    draft = await stage.draft(asset=scripted_token.address)
    await _approve(testnet, draft, spender=scripted_token.address)
    parties = (scripted_token.address, draft.payer, thief)
    steal = (*(scval.to_address(each) for each in parties), scval.to_int128(TREASURE))
    theft = SideCall(testnet.scene.asset, "transfer_from", steal)
    had = await testnet.ledger.balance(testnet.scene.asset, draft.payer)
    await scripted_token.behave(TokenBehaviour(side_call=theft))
    await stage.assert_refused(draft.request(), Reason.MULTIPLE_TRANSFERS, payer=draft.payer)
    assert await testnet.ledger.balance(testnet.scene.asset, draft.payer) == had


@case("PV-128")
@promise("settle:verifies-again")
async def test_settle_refuses_a_token_that_changed_its_behaviour_after_verify(
    stage: Stage, scripted_token: Token
) -> None:
    draft = await stage.draft(asset=scripted_token.address)
    assert (await stage.verify(draft.request()))["isValid"] is True
    await scripted_token.behave(TokenBehaviour(times=2))
    outcome = await stage.settle(draft.request())
    assert outcome["errorReason"] == Reason.MULTIPLE_TRANSFERS
    assert outcome["transaction"] == ""


@case("PV-128")
@promise("settle:verifies-again")
async def test_settle_refuses_a_token_whose_code_changed_after_verify(
    stage: Stage, testnet: NetworkStage
) -> None:
    draft = await stage.draft()
    other = await token(testnet)
    await other.give(draft.payer, HELD)
    draft = draft.but(asset=other.address)
    assert (await stage.verify(draft.request()))["isValid"] is True
    await other.become(wasm_of("smart_wallet"))
    await stage.assert_refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)


async def test_settle_fails_when_the_transfer_event_is_missing_on_the_ledger(
    stage: Stage, scripted_token: Token
) -> None:
    draft = await stage.draft(asset=scripted_token.address)

    async def fall_silent_first(call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
        del call
        await scripted_token.behave(TokenBehaviour(times=0))
        return await forward()

    stage.node().on("sendTransaction", fall_silent_first)
    outcome = await stage.settle(draft.request())
    assert outcome["errorReason"] == Reason.TRANSACTION_FAILED
    assert (await stage.ledger().found(outcome["transaction"]))["status"] == "SUCCESS"


async def _approve(testnet: NetworkStage, draft: Draft, *, spender: str) -> None:
    """The payer approves that `spender` spends some of the scene's asset."""
    owner = testnet.scene.payers[0]
    parties = (scval.to_address(owner.address), scval.to_address(spender))
    until = scval.to_uint32(draft.expires_at_ledger)
    arguments = (*parties, scval.to_int128(TREASURE), until)
    await testnet.ledger.invoke(key_of(owner), testnet.scene.asset, "approve", *arguments)
