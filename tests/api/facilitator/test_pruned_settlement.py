"""A settlement whose envelope was pruned is answered as before, by every route."""

from datetime import UTC, datetime, timedelta

from farebox.facilitator.journal.retention import EnvelopeRetention
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerReading
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support.payments import Json
from support.stage import Stage


class Later:
    """The ledger clock when everything has expired for days."""

    def now(self) -> LedgerReading:
        return LedgerReading(2**31 - 1, datetime.now(UTC) + timedelta(days=9), 5.0, 0.0)


async def prune(stage: Stage) -> int:
    url = Secret(stage.environment["FAREBOX_DATABASE_URL"])
    async with Database(url, connections=1) as database, database.connection() as db:
        return await EnvelopeRetention(Network.TESTNET, Later()).prune(db, 1_000)


async def get_settlement(stage: Stage, tx_hash: str) -> Json:
    return (await stage.client.get(f"/v1/settlements/{tx_hash}")).json()


async def test_settled_payment_is_answered_alike_after_envelope_is_pruned(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    tx_hash = await stage.assert_settles(draft.request())
    before = (await get_settlement(stage, tx_hash), await stage.settle(draft.request()))
    assert await prune(stage) >= 1
    left = "SELECT count(*) AS n FROM settlements WHERE envelope <> '' OR discovery IS NOT NULL"
    assert (await stage.query(left))[0]["n"] == 0
    assert (await get_settlement(stage, tx_hash), await stage.settle(draft.request())) == before
    assert before[1]["errorReason"] == Reason.DUPLICATE_SETTLEMENT
    assert before[1]["transaction"] == tx_hash


async def test_uncollected_success_is_returned_after_envelope_is_pruned(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    tx_hash = await stage.assert_settles(draft.request())
    await stage.query("UPDATE settlements SET answered_at = NULL")
    assert await prune(stage) >= 1
    outcome = await stage.settle(draft.request())
    assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
