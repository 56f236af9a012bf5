"""A token that is not an asset contract is marked in every success."""

from typing import Final

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support import node_proxy
from support.contracts import token
from support.payments import Draft, Json
from support.stage import Stage
from testing.waiting import until

MARK: Final = {"warnings": ["token_unverified"]}


async def _draft(stage: Stage) -> Draft:
    made = await token(stage.networks[Network.TESTNET])
    draft = await stage.draft(asset=made.address)
    await made.give(draft.payer, 100_000)
    return draft


async def test_success_and_replay_carry_unverified_token_mark(stage: Stage) -> None:
    draft = await _draft(stage)
    assert (await stage.verify(draft.request()))["extra"] == MARK
    headers = {"idempotency-key": "order-1"}
    first = await stage.client.post("/settle", draft.request(), headers)
    assert (first.json()["success"], first.json()["extra"]) == (True, MARK)
    assert (await stage.client.post("/settle", draft.request(), headers)).body == first.body


async def test_success_found_later_carries_unverified_token_mark(hasty: Stage) -> None:
    draft = await _draft(hasty)
    node_proxy.hide_transactions(hasty.node())
    outcome = await hasty.settle(draft.request())
    assert outcome["errorReason"] == Reason.SETTLEMENT_PENDING
    assert "extra" not in outcome
    hasty.node().reset()

    async def success() -> Json | None:
        outcome = await hasty.settle(draft.request())
        return outcome if outcome["success"] else None

    found = await until(success)
    assert found["extra"] == MARK


async def test_success_in_asset_contract_carries_no_mark(stage: Stage) -> None:
    outcome = await stage.settle((await stage.draft()).request())
    assert outcome["success"] is True
    assert "extra" not in outcome
