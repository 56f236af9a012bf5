"""`GET /v1/settlements/{transaction}`: the settlement's status by its hash."""

from support import node_proxy
from support.promises import promise
from support.stage import Stage


@promise("settle:reconciles-by-hash")
async def test_settlement_route_returns_confirmed_settlement(stage: Stage) -> None:
    draft = await stage.draft()
    tx_hash = await stage.assert_settles(draft.request())
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


async def test_settlement_route_returns_pending_settlement(hasty: Stage) -> None:
    draft = await hasty.draft()
    node_proxy.hide_transactions(hasty.node())
    pending = await hasty.settle(draft.request())
    settlement = (await hasty.client.get(f"/v1/settlements/{pending['transaction']}")).json()
    assert settlement["status"] == "pending"


async def test_settlement_route_returns_404_for_other_hashes(stage: Stage) -> None:
    for name in ("0" * 64, "A" * 64, "0" * 63, "0" * 65, "%00", "x", "'--"):
        answer = await stage.client.get(f"/v1/settlements/{name}")
        assert answer.status == 404, name
        assert answer.json()["error"]["code"] == "not_found", name
