"""A token that does other than it says: refused where money has value, marked where it has none."""

from collections.abc import AsyncIterator
from typing import Final

import pytest
from stellar_sdk import scval

from farebox.x402.reasons import Reason
from support import node
from support.contracts import Errand, Manners, Token, move, token, wasm_of
from support.payments import Draft, Json
from support.promises import case, promise
from support.stage import NetworkStage, Stage, key_of

HELD: Final = 100_000
TREASURE: Final = 70
MARK: Final = {"warnings": ["token_unverified"]}
HONEST: Final = Manners()

# What the events of a transfer cannot show: only who made the token can be judged.
UNSEEN: Final = {
    "honest": HONEST,
    "moves nothing and says all": Manners(taken=0, given=0),
    "says more than it moves": Manners(taken=50, given=50),
    "says less than it takes": Manners(taken=200),
    "keeps a fee of the recipient's": Manners(given=90),
}
# What they do show.
SEEN: Final = {
    "moves all and says less": (Manners(told=50), Reason.EVENT_WRONG_AMOUNT),
    "moves all and says more": (Manners(told=200), Reason.EVENT_WRONG_AMOUNT),
    "says it twice": (Manners(times=2), Reason.MULTIPLE_TRANSFERS),
    "says nothing": (Manners(times=0), Reason.NO_TRANSFER_EVENTS),
}


@pytest.fixture(scope="module")
async def _made(testnet: NetworkStage) -> Token:
    made = await token(testnet)
    await made.give(testnet.scene.payers[0].address, HELD)
    return made


@pytest.fixture
async def mannered(_made: Token, testnet: NetworkStage) -> AsyncIterator[Token]:
    """The token, of which the usual payer holds some; whatever it was told is forgotten."""
    holder = testnet.scene.payers[0].address
    yield _made
    await _made.behave(HONEST)
    lacking = HELD - await testnet.ledger.balance(_made.address, holder)
    await _made.give(holder, lacking)


@case("PV-126", "PV-127")
@pytest.mark.parametrize("manners", UNSEEN.values(), ids=UNSEEN)
async def test_a_token_nobody_vouches_for_is_marked_where_any_may_be_paid(
    stage: Stage, mannered: Token, manners: Manners
) -> None:
    await mannered.behave(manners)
    draft = await stage.draft(asset=mannered.address)
    verdict = await stage.verify(draft.request())
    assert verdict == {"isValid": True, "payer": draft.payer, "extra": MARK}


@case("PV-126", "PV-127")
@pytest.mark.parametrize("manners", UNSEEN.values(), ids=UNSEEN)
async def test_what_such_a_token_says_is_settled_whatever_it_moves(
    stage: Stage, mannered: Token, manners: Manners
) -> None:
    ledger, draft = stage.ledger(), await stage.draft(asset=mannered.address)
    await mannered.behave(manners)
    had = await ledger.balance(mannered.address, draft.pay_to)
    await stage.settled(draft.request())
    left = await ledger.balance(mannered.address, draft.payer)
    has = await ledger.balance(mannered.address, draft.pay_to)
    assert HELD - left == draft.amount * manners.taken // 100
    assert has - had == draft.amount * manners.given // 100


@case("PV-126", "PV-127")
async def test_no_token_but_an_asset_contract_is_taken_where_money_has_value(
    asset_contracts_only: Stage, mannered: Token
) -> None:
    stage = asset_contracts_only
    draft = await stage.draft(asset=mannered.address)
    for manners in UNSEEN.values():
        await mannered.behave(manners)
        await stage.refused(draft.but().request(), Reason.UNSUPPORTED_ASSET, payer=draft.payer)
    for manners, reason in SEEN.values():
        await mannered.behave(manners)
        await stage.refused(draft.but().request(), reason, payer=draft.payer)


@case("PV-119", "PV-120", "PV-121")
@pytest.mark.parametrize(("manners", "reason"), SEEN.values(), ids=SEEN)
async def test_a_token_whose_events_are_not_the_payment_is_refused_everywhere(
    stage: Stage, mannered: Token, manners: Manners, reason: Reason
) -> None:
    await mannered.behave(manners)
    draft = await stage.draft(asset=mannered.address)
    await stage.refused(draft.request(), reason, payer=draft.payer)


@case("PV-126")
async def test_a_token_that_says_it_is_the_scenes_asset_is_not_believed(
    asset_contracts_only: Stage, stage: Stage, mannered: Token, testnet: NetworkStage
) -> None:
    name = f"{testnet.scene.code}:{testnet.scene.issuer}"
    await mannered.behave(Manners(posing_as=name))
    draft = await stage.draft(asset=mannered.address)
    assert (await stage.verify(draft.request()))["extra"] == MARK
    body = draft.but().request()
    await asset_contracts_only.refused(body, Reason.UNSUPPORTED_ASSET, payer=draft.payer)


@case("PV-120")
async def test_a_token_that_moves_a_second_one_of_its_own_is_refused(
    stage: Stage, mannered: Token, testnet: NetworkStage
) -> None:
    native, giver = testnet.scene.native, await testnet.ledger.account()
    await move(testnet, native, giver, mannered.address, TREASURE)
    draft = await stage.draft(asset=mannered.address)
    parties = (scval.to_address(mannered.address), scval.to_address(giver.public_key))
    spend = Errand(native, "transfer", (*parties, scval.to_int128(TREASURE)))
    await mannered.behave(Manners(errand=spend))
    await stage.refused(draft.request(), Reason.MULTIPLE_TRANSFERS, payer=draft.payer)


@case("PV-120")
async def test_a_token_that_takes_the_payers_real_money_with_it_is_refused(
    stage: Stage, mannered: Token, testnet: NetworkStage
) -> None:
    """The payer once let the token's contract spend; nothing more is signed for the theft."""
    thief = testnet.scene.payees[1].address
    draft = await stage.draft(asset=mannered.address)
    await _approve(testnet, draft, spender=mannered.address)
    parties = (mannered.address, draft.payer, thief)
    steal = (*(scval.to_address(each) for each in parties), scval.to_int128(TREASURE))
    theft = Errand(testnet.scene.asset, "transfer_from", steal)
    had = await testnet.ledger.balance(testnet.scene.asset, draft.payer)
    await mannered.behave(Manners(errand=theft))
    await stage.refused(draft.request(), Reason.MULTIPLE_TRANSFERS, payer=draft.payer)
    assert await testnet.ledger.balance(testnet.scene.asset, draft.payer) == had


@case("PV-128")
@promise("settle:verifies-again")
async def test_a_token_that_changes_its_manners_after_verify_is_noticed_by_settle(
    stage: Stage, mannered: Token
) -> None:
    draft = await stage.draft(asset=mannered.address)
    assert (await stage.verify(draft.request()))["isValid"] is True
    await mannered.behave(Manners(times=2))
    outcome = await stage.settle(draft.request())
    assert outcome["errorReason"] == Reason.MULTIPLE_TRANSFERS
    assert outcome["transaction"] == ""


@case("PV-128")
@promise("settle:verifies-again")
async def test_a_token_whose_code_is_replaced_after_verify_is_noticed_by_settle(
    stage: Stage, testnet: NetworkStage
) -> None:
    draft = await stage.draft()
    other = await token(testnet)
    await other.give(draft.payer, HELD)
    draft = draft.but(asset=other.address)
    assert (await stage.verify(draft.request()))["isValid"] is True
    await other.become(wasm_of("smart_wallet"))
    await stage.refused(draft.request(), Reason.SIMULATION_FAILED, payer=draft.payer)


async def test_a_transfer_that_lands_without_its_event_is_no_payment(
    stage: Stage, mannered: Token
) -> None:
    draft = await stage.draft(asset=mannered.address)

    async def fall_silent_first(call: node.Call, forward: node.Forward) -> Json:
        del call
        await mannered.behave(Manners(times=0))
        return await forward()

    stage.node().on("sendTransaction", fall_silent_first)
    outcome = await stage.settle(draft.request())
    assert outcome["errorReason"] == Reason.TRANSACTION_FAILED
    assert (await stage.ledger().found(outcome["transaction"]))["status"] == "SUCCESS"


async def _approve(testnet: NetworkStage, draft: Draft, *, spender: str) -> None:
    """The payer lets somebody spend some of the scene's asset for a while."""
    owner = testnet.scene.payers[0]
    parties = (scval.to_address(owner.address), scval.to_address(spender))
    until = scval.to_uint32(draft.expires_at_ledger)
    arguments = (*parties, scval.to_int128(TREASURE), until)
    await testnet.ledger.invoke(key_of(owner), testnet.scene.asset, "approve", *arguments)
