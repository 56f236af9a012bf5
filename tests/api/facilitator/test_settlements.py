"""`GET /v1/settlements/{transaction}`: what became of it, for whoever knows the hash."""

import pytest

from support import node
from support.promises import promise
from support.stage import Stage


@promise("settle:reconciles-by-hash")
async def test_a_settled_payment_is_shown_whole(stage: Stage) -> None:
    draft = await stage.draft()
    tx_hash = await stage.settled(draft.request())
    answer = await stage.client.get(f"/v1/settlements/{tx_hash}")
    assert (answer.status, answer.json()) == (
        200,
        {
            "transaction": tx_hash,
            "network": draft.network.value,
            "status": "confirmed",
            "payer": draft.payer,
            "payTo": draft.pay_to,
            "asset": draft.asset,
            "amount": str(draft.amount),
        },
    )


async def test_one_on_its_way_is_pending(hasty: Stage) -> None:
    draft = await hasty.draft()
    node.lose_sight(hasty.node())
    pending = await hasty.settle(draft.request())
    told = (await hasty.client.get(f"/v1/settlements/{pending['transaction']}")).json()
    assert told["status"] == "pending"


@pytest.mark.parametrize("name", ["0" * 64, "A" * 64, "0" * 63, "0" * 65, "%00", "x", "'--"])
async def test_any_other_name_is_not_found(stage: Stage, name: str) -> None:
    answer = await stage.client.get(f"/v1/settlements/{name}")
    assert answer.status == 404
    assert answer.json()["error"]["code"] == "not_found"
