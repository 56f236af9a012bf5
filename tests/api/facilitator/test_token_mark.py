"""A token that is no asset contract is marked in every success about it, now and later."""

import asyncio
from typing import Final

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node
from support.contracts import token
from support.payments import Draft
from support.stage import Stage

MARK: Final = {"warnings": ["token_unverified"]}


async def _draft(stage: Stage) -> Draft:
    made = await token(stage.networks[Network.TESTNET])
    draft = await stage.draft(asset=made.address)
    await made.give(draft.payer, 100_000)
    return draft


async def test_a_success_and_its_replay_carry_the_mark(stage: Stage) -> None:
    draft = await _draft(stage)
    assert (await stage.verify(draft.request()))["extra"] == MARK
    headers = {"idempotency-key": "order-1"}
    first = await stage.client.post("/settle", draft.request(), headers)
    assert (first.json()["success"], first.json()["extra"]) == (True, MARK)
    assert (await stage.client.post("/settle", draft.request(), headers)).body == first.body


async def test_a_success_found_later_carries_the_mark_too(hasty: Stage) -> None:
    draft = await _draft(hasty)
    node.lose_sight(hasty.node())
    outcome = await hasty.settle(draft.request())
    assert outcome["errorReason"] == Reason.SETTLEMENT_PENDING
    assert "extra" not in outcome
    hasty.node().reset()
    for _ in range(200):
        outcome = await hasty.settle(draft.request())
        if outcome["success"]:
            break
        await asyncio.sleep(0.05)
    assert outcome["extra"] == MARK


async def test_a_success_in_an_asset_contract_carries_none(stage: Stage) -> None:
    outcome = await stage.settle((await stage.draft()).request())
    assert outcome["success"] is True
    assert "extra" not in outcome
