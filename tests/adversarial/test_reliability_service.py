"""Cases 6.3 of the service: its database, its disk, its log and its callers."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import asyncpg
import orjson
import pytest
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.app.configuration import read_settings
from farebox.app.logging import configure_logging
from farebox.app.services import build_services
from farebox.app.setting_rules import LogLevel
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.web.endpoint import Endpoint
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node_proxy
from support.asgi import AsgiClient
from support.command import run_farebox
from support.faulty_database import ping
from support.payments import Json
from support.promises import case
from support.stage import HASH, Stage, own_relayer, service, until_ready
from testing.waiting import until

SEND: Final = "sendTransaction"


NOWHERE: Final = "postgresql://farebox@127.0.0.1:1/farebox"


@case("RL-032")
async def test_service_started_without_database_is_live_and_settles_nothing(
    stage: Stage,
) -> None:
    environment = stage.environment | await own_relayer(stage)
    environment["FAREBOX_DATABASE_URL"] = NOWHERE
    draft = await stage.draft()
    async with service(environment, is_ready=False) as client:
        await until_ready(client, 503)
        ready = (await client.get("/health/ready")).json()
        assert ready["parts"]["database"] == {"status": "unavailable", "reasons": ["unavailable"]}
        assert (await client.get("/health/live")).status == 200
        answer = await client.post("/settle", draft.request())
        assert (answer.status, answer.json()["errorReason"]) == (503, Reason.SERVICE_UNAVAILABLE)
        assert (answer.json()["success"], answer.json()["transaction"]) == (False, "")
    assert stage.node().counts()[SEND] == 0


@case("RL-032")
async def test_serve_exits_with_a_sentence_without_database(stage: Stage) -> None:
    settings = stage.environment | {"FAREBOX_DATABASE_URL": NOWHERE, "FAREBOX_PORT": "0"}
    ran = await asyncio.to_thread(run_farebox, "serve", settings=settings)
    assert (ran.code, ran.out) == (1, "")
    assert "database" in ran.err
    assert "farebox@" not in ran.err


@case("RL-036")
async def test_database_failover_that_loses_a_record_charges_once_and_recovers_it(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    tx_hash = await stage.assert_settles(draft.request())
    await stage.query("DELETE FROM settlements")
    stage.node().calls.clear()
    outcomes = [await stage.settle(draft.request()) for _ in range(2)]
    assert [(each["success"], each["errorReason"]) for each in outcomes] == [
        (False, Reason.DUPLICATE_SETTLEMENT)
    ] * 2
    assert {each["transaction"] for each in outcomes} == {tx_hash}
    assert stage.node().counts()[SEND] == 0
    shown = (await stage.client.get(f"/v1/settlements/{tx_hash}")).json()
    assert (shown["status"], shown["amount"]) == ("confirmed", str(draft.amount))
    assert await stage.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


@case("RL-036")
async def test_record_lost_with_envelope_in_flight_makes_no_second_payment(
    hasty: Stage,
) -> None:
    """The new primary knows nothing of an envelope that lands while the payment is asked again."""
    draft = await hasty.draft()
    before = await hasty.ledger().balance(draft.asset, draft.pay_to)
    kept: list[Json] = []

    async def lose_the_record(
        call: node_proxy.Call, forward: node_proxy.Forward
    ) -> node_proxy.Json:
        del call
        kept.append(await forward())
        await hasty.query("DELETE FROM settlements")
        await hasty.ledger().wait_past(await hasty.ledger().latest() + 1)
        return kept[-1]

    hasty.node().on(SEND, lose_the_record)
    first = await hasty.settle(draft.request())
    hasty.node().reset()
    again = await hasty.settle(draft.request())
    assert again["success"] is False
    assert again["errorReason"] == Reason.DUPLICATE_SETTLEMENT
    assert HASH.match(first["transaction"])
    assert again["transaction"] == first["transaction"]
    assert await hasty.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


@case("RL-037")
async def test_read_only_database_server_is_unavailable(
    empty_database_url: Secret[str],
) -> None:
    """A standby answers about the past; a connection to one is refused before its first answer."""
    async with Database(empty_database_url) as database:
        await ping(database)
    db = await asyncpg.connect(empty_database_url.reveal())
    name = await db.fetchval("SELECT current_database()")
    await db.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await db.close()
    async with Database(empty_database_url) as database:
        with pytest.raises(DatabaseUnavailable):
            await ping(database)


@asynccontextmanager
async def failing(stage: Stage, event: str, sqlstate: str) -> AsyncIterator[None]:
    """The database answers such a change of a settlement with an error."""
    await stage.query(
        f"""
        CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '{sqlstate}'; END $$
        """
    )
    await stage.query(
        f"CREATE TRIGGER fault BEFORE {event} ON settlements FOR EACH ROW EXECUTE FUNCTION fault()"
    )
    try:
        yield
    finally:
        await stage.query("DROP TRIGGER fault ON settlements")
        await stage.query("DROP FUNCTION fault()")


NO_ROOM = "53100"


SERVERS_FAULT = "XX000"


NOBODY_EXPECTS = "P0001"


@case("RL-042")
async def test_full_database_sends_no_payment(stage: Stage) -> None:
    draft = await stage.draft()
    async with failing(stage, "INSERT", NO_ROOM):
        answer = await stage.client.post("/settle", draft.request())
        assert (answer.status, answer.json()["errorReason"]) == (503, Reason.SERVICE_UNAVAILABLE)
        assert (await stage.verify(draft.request()))["isValid"] is True
    assert stage.node().counts()[SEND] == 0
    await stage.assert_settles(draft.request())


@case("RL-042")
async def test_full_database_at_confirmation_leaves_payment_pending(hasty: Stage) -> None:
    draft = await hasty.draft()
    async with failing(hasty, "UPDATE OF finished_at", NO_ROOM):
        outcome = await hasty.settle(draft.request())
        assert outcome["errorReason"] == Reason.SETTLEMENT_PENDING
    final = await _until_final(hasty, draft.request())
    assert (final["success"], final["transaction"]) == (True, outcome["transaction"])
    assert hasty.node().counts()[SEND] == 1


@case("RL-042")
@pytest.mark.parametrize(("sqlstate", "status"), [(SERVERS_FAULT, 503), (NOBODY_EXPECTS, 500)])
async def test_payment_is_free_when_envelope_cannot_be_recorded(
    stage: Stage, sqlstate: str, status: int
) -> None:
    draft = await stage.draft()
    async with failing(stage, "UPDATE OF tx_hash", sqlstate):
        answer = await stage.client.post("/settle", draft.request())
        assert answer.status == status
        assert ("retry-after" in answer.headers) is (status == 503)
        assert await stage.query("SELECT FROM settlements WHERE nonce = $1", draft.nonce) == []
    assert stage.node().counts()[SEND] == 0
    await stage.assert_settles(draft.request())


@pytest.fixture
def stuck_log() -> Iterator[int]:
    """The reading end of a pipe that is full, and that the process logs to."""
    kept = structlog.get_config()
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writer, True)
    configure_logging(LogLevel.DEBUG, writer)
    yield reader
    structlog.configure(**kept)
    os.close(reader)
    os.close(writer)


@case("RL-042")
async def test_blocked_log_delays_no_payment_and_reports_lost_lines(
    stage: Stage, stuck_log: int
) -> None:
    await stage.assert_settles((await stage.draft()).request())
    _drained(stuck_log)
    await stage.assert_settles((await stage.draft()).request())
    lines = [orjson.loads(line) for line in _drained(stuck_log).splitlines()]
    assert lines[0]["event"] == "log.lines_lost"
    assert lines[0]["lines"] > 0
    assert "settlement.finalized" in {line["event"] for line in lines}


def _drained(reader: int) -> bytes:
    """Everything that waits in the pipe."""
    read = bytearray()
    with suppress(BlockingIOError):
        while True:
            read += os.read(reader, 1 << 16)
    return bytes(read)


class _Broken:
    """A handler with a fault of its own, until it is mended."""

    def __init__(self, handler: ASGIApp) -> None:
        self._handler = handler
        self.is_mended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.is_mended:
            raise LookupError("planted words of the inside: settlements.tx_hash")
        await self._handler(scope, receive, send)


@case("RL-046")
async def test_route_error_is_a_500_without_detail_and_next_request_works(
    stage: Stage,
) -> None:
    services = build_services(read_settings(stage.environment))
    routes = [each.route for each in services.endpoints]
    assert {route.path for route in routes} >= {"/supported", "/verify", "/settle", "/v1/errors"}
    broken = [_Broken(services.protect(each)) for each in services.endpoints]
    endpoints = [Endpoint(route, each) for route, each in zip(routes, broken, strict=True)]
    client = AsgiClient(Application(Services(endpoints), stop=lambda: None))
    for route, each in zip(routes, broken, strict=True):
        path = re.sub(r"\{\w+\}", "0" * 64, route.path)
        answer = await client.request(route.method, path, body=b"[]")
        assert answer.status == 500, route.path
        assert b"planted" not in answer.body
        failure = answer.json()
        if route.path == "/mcp":
            assert failure["error"]["data"]["reason"] == "internal_error"
        elif route.failure is not None:
            assert failure.get("success", failure.get("isValid")) is False
        else:
            assert failure["error"]["code"] == "internal_error"
            assert re.fullmatch(r"[0-9a-f]{16}", failure["error"]["requestId"])
        if path not in ("/v1/errors", "/supported"):
            continue
        each.is_mended = True
        assert (await client.request(route.method, path)).status == 200


@case("RL-046")
async def test_error_after_sending_returns_hash_and_repeat_returns_outcome(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    async with _mistake_at_the_end(stage):
        answer = await stage.client.post("/settle", draft.request())
        outcome = answer.json()
        assert (answer.status, outcome["success"]) == (500, False)
        assert outcome["errorReason"] == Reason.UNEXPECTED_SETTLE_ERROR
        assert REGISTRY[Reason(outcome["errorReason"])].retry is Retry.RECONCILE
        (row,) = await stage.query("SELECT tx_hash FROM settlements")
        assert outcome["transaction"] == row["tx_hash"].hex()
    final = await _until_final(stage, draft.request())
    assert (final["success"], final["transaction"]) == (True, outcome["transaction"])
    assert stage.node().counts()[SEND] == 1


@asynccontextmanager
async def _mistake_at_the_end(stage: Stage) -> AsyncIterator[None]:
    """The statement that ends a settlement has a fault that is no outage."""
    await stage.query(_PLANTED)
    await stage.query(
        """
        CREATE TRIGGER planted BEFORE UPDATE ON settlements FOR EACH ROW
        WHEN (NEW.state = 'confirmed') EXECUTE FUNCTION planted()
        """
    )
    try:
        yield
    finally:
        await stage.query("DROP FUNCTION planted CASCADE")


_PLANTED: Final = """
    CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'a planted fault'; END $$
"""


@case("RL-048")
async def test_constant_repeats_get_one_transaction_and_one_success(
    hasty: Stage,
) -> None:
    """Many minutes of a repeat a second, at a hundred times the speed."""
    draft = await hasty.draft()
    before = await hasty.ledger().balance(draft.asset, draft.pay_to)
    node_proxy.hide_transactions(hasty.node())
    tasks = []
    for number in range(300):
        tasks.append(asyncio.create_task(hasty.settle(draft.request())))
        if number == 200:
            hasty.node().on("getTransaction", _seeing)
            hasty.node().on("getTransactions", _seeing)
        await asyncio.sleep(0.01)  # the pace of the repeats
    outcomes = await asyncio.gather(*tasks)
    assert sum(each["success"] for each in outcomes) == 1
    assert len({each["transaction"] for each in outcomes}) == 1
    allowed = {Reason.SETTLEMENT_PENDING, Reason.DUPLICATE_SETTLEMENT}
    assert {each["errorReason"] for each in outcomes if not each["success"]} == allowed
    is_final = [each.get("errorReason") != Reason.SETTLEMENT_PENDING for each in outcomes]
    assert is_final[-1]
    envelopes = {c.params["transaction"] for c in hasty.node().calls if c.method == SEND}
    assert len(envelopes) == 1
    assert await hasty.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


async def _seeing(call: node_proxy.Call, forward: node_proxy.Forward) -> node_proxy.Json:
    del call
    return await forward()


async def _until_final(stage: Stage, body: Any) -> Json:
    async def final() -> Json | None:
        outcome = await stage.settle(body)
        return None if outcome.get("errorReason") == Reason.SETTLEMENT_PENDING else outcome

    return await until(final)
