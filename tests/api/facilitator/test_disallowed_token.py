"""A pending payment finishes after the operator has changed what is settled."""

from collections.abc import AsyncIterator
from typing import Final

import pytest

from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support.asgi import AsgiClient
from support.payments import Json
from support.promises import promise
from support.stage import Stage, environment_for, own_relayer, service, until_ready
from support.stage_fixtures import Networks

PENDING: Final = (
    "UPDATE settlements SET state = 'submitted', answered_at = NULL, finished_at = NULL"
)
UNANSWERED: Final = "UPDATE settlements SET answered_at = NULL, answered_by = NULL"


@pytest.fixture(scope="module")
async def kept_narrowed(
    stage_client: AsgiClient, stage_networks: Networks, stage_database: str
) -> AsyncIterator[Stage]:
    """A service that settles another token and not that of the scene."""
    other = stage_networks[Network.PUBNET].scene.asset
    environment = environment_for(stage_networks, stage_database, FAREBOX_ASSETS_TESTNET=other)
    environment |= await own_relayer(Stage(stage_client, stage_networks, environment))
    async with service(environment) as client:
        yield Stage(client, stage_networks, environment)


@pytest.fixture
async def narrowed(stage: Stage, kept_narrowed: Stage) -> Stage:
    """That service, with honest nodes and an empty journal."""
    del stage
    await until_ready(kept_narrowed.client)
    return kept_narrowed


async def _settled(stage: Stage) -> tuple[Json, str]:
    body = (await stage.draft()).request()
    return body, await stage.assert_settles(body)


@promise("settle:timeout-is-indeterminate")
@pytest.mark.parametrize("statement", [PENDING, UNANSWERED], ids=["pending", "confirmed"])
async def test_pending_payment_finishes_after_its_token_is_disallowed(
    stage: Stage, narrowed: Stage, statement: str
) -> None:
    """Control: a payment that has no row is refused for its token, before a node is asked."""
    body, tx_hash = await _settled(stage)
    await stage.query(statement)
    stage.node().calls.clear()
    assert (await narrowed.verify(body))["isValid"] is True
    outcome = await narrowed.settle(body)
    assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
    assert stage.node().counts()["sendTransaction"] == 0
    fresh = (await narrowed.draft()).request()
    await narrowed.assert_refused(fresh, Reason.UNSUPPORTED_ASSET, by_rule=True)


async def test_settled_payment_is_a_duplicate_after_its_token_is_disallowed(
    stage: Stage, narrowed: Stage
) -> None:
    body, tx_hash = await _settled(stage)
    verdict, outcome = await narrowed.verify(body), await narrowed.settle(body)
    assert verdict["invalidReason"] == outcome["errorReason"] == Reason.DUPLICATE_SETTLEMENT
    assert verdict["extra"]["transaction"] == outcome["transaction"] == tx_hash


async def test_pending_payment_finishes_while_sponsoring_is_stopped(stage: Stage) -> None:
    """Control: a payment that has no row is refused."""
    body, tx_hash = await _settled(stage)
    await stage.query(PENDING)
    environment = stage.environment | await own_relayer(stage)
    environment |= {"FAREBOX_BUDGET_TOTAL_STROOPS_TESTNET": "1"}
    async with service(environment) as client:
        stopped = Stage(client, stage.networks, environment)
        fresh = (await stopped.draft()).request()
        await stopped.assert_refused(fresh, Reason.SPONSOR_BUDGET_EXHAUSTED)
        outcome = await stopped.settle(body)
    assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
