"""`/verify` of a payment in the journal: collectable, settled or of another request."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest

from farebox.x402.reasons import Reason
from support import node_proxy
from support.asgi import AsgiClient
from support.payments import Json
from support.stage import Stage, environment_for, own_relayer, service
from support.stage_fixtures import Networks
from testing.waiting import until

SIMULATE: Final = "simulateTransaction"


@pytest.fixture(scope="module")
async def kept_alone(
    stage_client: AsgiClient, stage_networks: Networks, stage_database: str
) -> AsyncIterator[Stage]:
    """A service whose budget of a payer a test can exhaust."""
    environment = environment_for(
        stage_networks, stage_database, FAREBOX_BUDGET_PAYER_STROOPS_TESTNET="20000000"
    )
    environment |= await own_relayer(Stage(stage_client, stage_networks, environment))
    async with service(environment) as client:
        yield Stage(client, stage_networks, environment)


@pytest.fixture
async def alone(stage: Stage, kept_alone: Stage) -> Stage:
    """That service, once it has read that no test before this one stops anything any more."""
    body = (await stage.draft()).request()
    await until(lambda: _is_accepted(kept_alone, body))
    return kept_alone


async def _landed_unanswered(stage: Stage) -> tuple[Json, str]:
    """A confirmed payment whose success was returned to no caller."""
    body = (await stage.draft()).request()
    tx_hash = (await stage.settle(body))["transaction"]
    await stage.query("UPDATE settlements SET answered_at = NULL, answered_by = NULL")
    return body, tx_hash


async def test_uncollected_success_verifies_and_settles_without_sending(
    stage: Stage,
) -> None:
    body, tx_hash = await _landed_unanswered(stage)
    stage.node().calls.clear()
    verdict = await stage.verify(body)
    assert verdict == {"isValid": True, "payer": verdict["payer"]}
    outcome = await stage.settle(body)
    assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
    assert stage.node().counts()["sendTransaction"] == 0
    again = await stage.verify(body)
    assert (again["isValid"], again["invalidReason"]) == (False, Reason.DUPLICATE_SETTLEMENT)
    assert again["extra"] == {"transaction": tx_hash}


async def _stop_network(stage: Stage) -> None:
    await stage.query("INSERT INTO sponsor_stops VALUES ('stellar:testnet', now())")


async def _exhaust_payer(stage: Stage) -> None:
    await stage.query("UPDATE sponsor_spend SET stroops = 20000000 WHERE scope = 'payer'")


async def _stop_payer(stage: Stage) -> None:
    await stage.query(
        "INSERT INTO sponsor_spend (network, day, scope, name, stroops)"
        " SELECT network, day, 'payer_loss', name, 10^12 FROM sponsor_spend WHERE scope = 'payer'"
    )


async def _lose_node(stage: Stage) -> None:
    stage.node().on(SIMULATE, node_proxy.http(500))


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (_stop_network, Reason.SPONSOR_STOPPED),
        (_exhaust_payer, Reason.SPONSOR_BUDGET_EXHAUSTED),
        (_stop_payer, Reason.PAYER_STOPPED),
        (_lose_node, Reason.NETWORK_UNAVAILABLE),
    ],
)
async def test_uncollected_success_verifies_as_it_settles_after_a_stop(
    stage: Stage, alone: Stage, stop: Callable[[Stage], Awaitable[None]], reason: Reason
) -> None:
    """Control: a look in the journal after refusals by the ledger alone."""
    body, tx_hash = await _landed_unanswered(alone)
    await stop(alone)
    other = (await alone.draft()).request()
    await until(lambda: _is_refused(alone, other, reason))
    verdict = await alone.verify(body)
    assert verdict == {"isValid": True, "payer": verdict["payer"]}
    outcome = await alone.settle(body)
    assert (outcome["success"], outcome["transaction"]) == (True, tx_hash)
    again = await alone.verify(body)
    assert (again["isValid"], again["invalidReason"]) == (False, Reason.DUPLICATE_SETTLEMENT)
    stage.node().reset()
    await stage.delete_rows()
    await until(lambda: _is_accepted(stage, other))  # the other service has read the stop too


async def _is_accepted(stage: Stage, body: Json) -> bool:
    return (await stage.verify(body))["isValid"] is True


async def _is_refused(stage: Stage, body: Json, reason: Reason) -> bool:
    return (await stage.verify(body)).get("invalidReason") == reason


async def test_verify_of_settled_payment_in_another_request_is_a_duplicate(stage: Stage) -> None:
    draft = await stage.draft()
    tx_hash = await stage.assert_settles(draft.request())
    await stage.query("UPDATE settlements SET answered_at = NULL, answered_by = NULL")
    verdict = await stage.verify(draft.request(maxTimeoutSeconds=901))
    assert (verdict["isValid"], verdict["invalidReason"]) == (False, Reason.DUPLICATE_SETTLEMENT)
    assert verdict["extra"] == {"transaction": tx_hash}


async def test_verify_of_failed_payment_returns_its_reason(stage: Stage) -> None:
    body, tx_hash = await _landed_unanswered(stage)
    failed = Reason.TRANSACTION_FAILED.value
    await stage.query("UPDATE settlements SET state = 'failed', reason = $1", failed)
    verdict = await stage.verify(body)
    assert (verdict["isValid"], verdict["invalidReason"]) == (False, failed)
    assert verdict["extra"] == {"transaction": tx_hash}


async def test_verify_of_unknown_payment_keeps_simulation_reason(
    stage: Stage,
) -> None:
    body = (await stage.draft()).request()
    refusal = {"error": "HostError: Error(Auth, InvalidAction)", "latestLedger": 10**9}
    stage.node().on(SIMULATE, node_proxy.fixed(refusal))
    verdict = await stage.verify(body)
    assert (verdict["isValid"], verdict["invalidReason"]) == (False, Reason.SIMULATION_FAILED)
    assert "extra" not in verdict
