"""The facilitator while its node or its database is unavailable."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from stellar_sdk import Keypair

from farebox.facilitator.settle_http import SETTLE
from farebox.facilitator.verify_http import VERIFY
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.web.error_responses import Failure
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node_proxy
from support.payments import Draft
from support.promises import promise
from support.stage import Stage, environment_for, own_relayer, service, until_ready
from testing.waiting import until

RPC: Final = ("getLatestLedger", "simulateTransaction", "getNetwork", "getVersionInfo", "getHealth")


@promise("health:live", "health:ready")
async def test_service_is_live_and_ready_with_all_components(stage: Stage) -> None:
    live, ready = [await stage.client.get(f"/health/{probe}") for probe in ("live", "ready")]
    assert (live.status, live.json()) == (200, {"status": "ok"})
    assert (ready.status, ready.json()) == (
        200,
        {
            "status": "ok",
            "parts": {
                "database": {"status": "ok"},
                "stellar:testnet": {"status": "ok"},
                "stellar:pubnet": {"status": "ok"},
            },
        },
    )


@promise("error:one-network-away", "error:other-network-stays", "health:ready")
async def test_unavailable_network_is_named_and_other_network_settles(stage: Stage) -> None:
    draft = await stage.draft()
    for method in RPC:
        stage.node().on(method, node_proxy.http(503))
    await stage.assert_refused(draft.request(), Reason.NETWORK_UNAVAILABLE, payer=draft.payer)
    await stage.assert_settles((await stage.draft(Network.PUBNET)).request())
    stage.node().reset()
    await stage.assert_settles(draft.but().request())


@promise("error:one-network-away", "error:other-network-stays", "health:ready")
async def test_ready_names_unavailable_network_and_recovers(stage: Stage) -> None:
    for method in RPC:
        stage.node().on(method, node_proxy.http(503))
    async with service(stage.environment, is_ready=False) as client:
        other = Stage(client, stage.networks, stage.environment)
        pubnet = await other.draft(Network.PUBNET)
        await _until_known(other, pubnet)
        ready = await client.get("/health/ready")
        parts = ready.json()["parts"]
        assert (ready.status, ready.json()["status"]) == (503, "unavailable")
        assert parts["stellar:pubnet"] == parts["database"] == {"status": "ok"}
        assert parts["stellar:testnet"] == {
            "status": "unavailable",
            "reasons": ["rpc_unavailable"],
        }
        kinds = (await client.get("/supported")).json()["kinds"]
        assert [kind["network"] for kind in kinds] == [network.value for network in Network]
        stage.node().reset()
        await until_ready(client)


def _server_in(folder: str) -> EmbeddedPostgres:
    """A server of this folder, which the system's user for it may enter."""
    Path(folder).chmod(0o711)
    return EmbeddedPostgres(Path(folder), is_throwaway=True)


class _Mortal:
    def __init__(self, stage: Stage, server: EmbeddedPostgres) -> None:
        self.stage, self._server = stage, server

    async def lose_its_database(self) -> None:
        """The server is gone from here on."""
        await asyncio.to_thread(self._server.__exit__, None, None, None)


@pytest.fixture
async def mortal(stage: Stage) -> AsyncIterator[_Mortal]:
    """A service over a database server of its own, which the test may stop."""
    with tempfile.TemporaryDirectory(prefix="fbx-test-") as folder, _server_in(folder) as server:
        await migrate(server.url, packaged_migrations())
        environment = environment_for(stage.networks, server.url.reveal())
        environment |= await own_relayer(stage)
        async with service(environment) as client:
            yield _Mortal(Stage(client, stage.networks, environment), server)


@promise("error:database-away-fails-readiness", "error:database-away-stops-writes")
async def test_service_verifies_but_does_not_settle_without_database(mortal: _Mortal) -> None:
    stage = mortal.stage
    draft = await stage.draft()
    await stage.assert_settles(draft.request())
    await mortal.lose_its_database()
    await until_ready(stage.client, 503)
    parts = (await stage.client.get("/health/ready")).json()["parts"]
    assert parts["database"]["status"] == "unavailable"
    assert parts["stellar:testnet"] == {"status": "ok"}
    other = draft.but()
    stage.node().calls.clear()
    assert (await stage.verify(other.request()))["isValid"] is True
    answer = await stage.client.post("/settle", other.request())
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    outcome = answer.json()
    assert (outcome["success"], outcome["errorReason"], outcome["transaction"]) == (
        False,
        Reason.SERVICE_UNAVAILABLE,
        "",
    )
    assert REGISTRY[Reason(outcome["errorReason"])].retry is Retry.LATER
    assert stage.node().counts()["sendTransaction"] == 0
    assert (await stage.client.get("/health/live")).status == 200


@promise("operator:account-needs-native-coin")
async def test_unfunded_operator_account_is_not_ready_and_settles_nothing(
    stage: Stage,
) -> None:
    poor = stage.environment | {"FAREBOX_RELAYER_SECRET_TESTNET": Keypair.random().secret}
    async with service(poor, is_ready=False) as client:
        other = Stage(client, stage.networks, poor)
        await until_ready(client, 503)
        await _until_known(other, await other.draft())
        parts = (await client.get("/health/ready")).json()["parts"]
        assert parts["stellar:testnet"]["status"] == "unavailable"
        draft = await other.draft()
        answer = await client.post("/settle", draft.request())
        assert answer.json()["success"] is False
        assert answer.json()["transaction"] == ""
    assert stage.node().counts()["sendTransaction"] == 0


async def _until_known(stage: Stage, draft: Draft) -> None:
    """Return once the draft's network is judged by more than its absence."""

    async def is_judged() -> bool:
        verdict = await stage.verify(draft.request())
        return bool(verdict.get("invalidReason") != Reason.NETWORK_UNAVAILABLE)

    await until(is_judged)


_PLANTED: Final = """
    CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'relation "settlements" is planted'; END $$
"""


@promise("error:no-internals")
async def test_internal_error_response_holds_no_internal_detail(
    stage: Stage, module_database: str
) -> None:
    environment = stage.environment | await own_relayer(stage)
    environment |= {"FAREBOX_DATABASE_URL": module_database}
    async with service(environment) as client:
        planted = Stage(client, stage.networks, environment)
        # the loops go on: they insert nothing
        await planted.query(_PLANTED)
        await planted.query(
            "CREATE TRIGGER planted BEFORE INSERT ON settlements EXECUTE FUNCTION planted()"
        )
        draft = await stage.draft()
        answer = await client.post("/settle", draft.request())
    outcome = answer.json()
    assert (answer.status, outcome["success"], outcome["transaction"]) == (500, False, "")
    assert outcome["errorReason"] == Reason.UNEXPECTED_SETTLE_ERROR
    for inside in (b"settlements", b"asyncpg", b"Traceback", b".py", b"relation"):
        assert inside not in answer.body
    assert stage.node().counts()["sendTransaction"] == 0


@promise("error:no-internals")
@pytest.mark.parametrize(
    ("code", "verify", "settle"),
    [
        (ErrorCode.INTERNAL_ERROR, Reason.UNEXPECTED_VERIFY_ERROR, Reason.UNEXPECTED_SETTLE_ERROR),
        (ErrorCode.REQUEST_TIMEOUT, Reason.REQUEST_TIMEOUT, Reason.REQUEST_TIMEOUT),
        (ErrorCode.BODY_TOO_LARGE, Reason.BODY_TOO_LARGE, Reason.BODY_TOO_LARGE),
    ],
)
def test_error_without_verdict_has_body_of_a_refusal(
    code: ErrorCode, verify: Reason, settle: Reason
) -> None:
    failure = Failure(code, "planted words of the inside", "id")
    bodies = {
        route.path: json.loads(route.failure.render(failure))
        for route in (VERIFY, SETTLE)
        if route.failure is not None
    }
    assert bodies == {
        "/verify": {
            "isValid": False,
            "invalidReason": verify,
            "invalidMessage": REGISTRY[verify].sentence,
        },
        "/settle": {
            "success": False,
            "errorReason": settle,
            "errorMessage": REGISTRY[settle].sentence,
            "transaction": "",
            "network": "",
        },
    }
