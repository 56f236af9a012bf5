"""Cases 6.3 about the service itself: its database, its disk, its versions, its callers."""

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
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.app.configuration import read_settings
from farebox.app.logging import configure_logging
from farebox.app.services import build_services
from farebox.app.setting_rules import LogLevel
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Ending, SettlementState
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support import node
from support.asgi import AsgiClient
from support.command import run_farebox
from support.payments import Json
from support.promises import case
from support.stage import HASH, Stage, own_relayer, service, until_ready

SEND: Final = "sendTransaction"
NOWHERE: Final = "postgresql://farebox@127.0.0.1:1/farebox"


@case("RL-032")
async def test_a_service_whose_database_is_down_at_the_start_is_live_and_changes_nothing(
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
async def test_the_command_ends_with_a_sentence_and_never_listens(stage: Stage) -> None:
    settings = stage.environment | {"FAREBOX_DATABASE_URL": NOWHERE, "FAREBOX_PORT": "0"}
    ran = await asyncio.to_thread(run_farebox, "serve", settings=settings)
    assert (ran.code, ran.out) == (1, "")
    assert "database" in ran.err
    assert "farebox@" not in ran.err


@case("RL-036")
async def test_a_failover_that_lost_the_record_never_charges_twice_and_gets_it_back(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    before = await stage.ledger().balance(draft.asset, draft.pay_to)
    tx_hash = await stage.settled(draft.request())
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
async def test_a_record_lost_while_its_envelope_is_out_is_no_second_payment(
    hasty: Stage,
) -> None:
    """The new primary knows nothing of an envelope that lands while the payment is asked again."""
    draft = await hasty.draft()
    before = await hasty.ledger().balance(draft.asset, draft.pay_to)
    kept: list[Json] = []

    async def lose_the_record(call: node.Call, forward: node.Forward) -> node.Json:
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
async def test_a_server_that_may_only_read_is_no_database_of_ours(
    empty_database_url: Secret[str],
) -> None:
    """A standby answers about the past; a connection to one is refused before its first answer."""
    async with Database(empty_database_url) as database:
        await database.ping()
    db = await asyncpg.connect(empty_database_url.reveal())
    name = await db.fetchval("SELECT current_database()")
    await db.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await db.close()
    async with Database(empty_database_url) as database:
        with pytest.raises(DatabaseUnavailable):
            await database.ping()


@asynccontextmanager
async def full_disk(stage: Stage, event: str) -> AsyncIterator[None]:
    """The database has no room for such a change of a settlement."""
    await stage.query(
        """
        CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$
        """
    )
    await stage.query(
        f"CREATE TRIGGER no_room BEFORE {event} ON settlements"
        " FOR EACH ROW EXECUTE FUNCTION no_room()"
    )
    try:
        yield
    finally:
        await stage.query("DROP TRIGGER no_room ON settlements")
        await stage.query("DROP FUNCTION no_room()")


@case("RL-042")
async def test_a_database_without_room_for_a_payment_sends_none(stage: Stage) -> None:
    draft = await stage.draft()
    async with full_disk(stage, "INSERT"):
        answer = await stage.client.post("/settle", draft.request())
        assert (answer.status, answer.json()["errorReason"]) == (503, Reason.SERVICE_UNAVAILABLE)
        assert (await stage.verify(draft.request()))["isValid"] is True
    assert stage.node().counts()[SEND] == 0
    await stage.settled(draft.request())


@case("RL-042")
async def test_a_database_without_room_for_the_end_leaves_it_pending(hasty: Stage) -> None:
    draft = await hasty.draft()
    async with full_disk(hasty, "UPDATE OF finished_at"):
        outcome = await hasty.settle(draft.request())
        assert outcome["errorReason"] == Reason.SETTLEMENT_PENDING
    final = await _until_final(hasty, draft.request())
    assert (final["success"], final["transaction"]) == (True, outcome["transaction"])
    assert hasty.node().counts()[SEND] == 1


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
async def test_a_log_that_nobody_reads_holds_up_no_payment_and_tells_what_it_lost(
    stage: Stage, stuck_log: int
) -> None:
    await stage.settled((await stage.draft()).request())
    _drained(stuck_log)
    await stage.settled((await stage.draft()).request())
    lines = [orjson.loads(line) for line in _drained(stuck_log).splitlines()]
    assert lines[0]["event"] == "log.lines_lost"
    assert lines[0]["lines"] > 0
    assert "settlement.ended" in {line["event"] for line in lines}


def _drained(reader: int) -> bytes:
    """Everything that waits in the pipe."""
    read = bytearray()
    with suppress(BlockingIOError):
        while True:
            read += os.read(reader, 1 << 16)
    return bytes(read)


class _Broken:
    """An endpoint with a fault of its own, until it is mended."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self.is_mended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.is_mended:
            raise LookupError("planted words of the inside: settlements.tx_hash")
        await self._route.app(scope, receive, send)


@case("RL-046")
async def test_a_fault_in_any_route_is_a_500_that_tells_nothing_and_the_next_request_is_fine(
    stage: Stage,
) -> None:
    services = build_services(read_settings(stage.environment))
    routes = [route for route in services.routes if isinstance(route, Route)]
    assert {route.path for route in routes} >= {"/supported", "/verify", "/settle", "/v1/errors"}
    broken = [_Broken(route) for route in routes]
    made: list[BaseRoute] = [
        Route(route.path, each, methods=list(route.methods or ()))
        for route, each in zip(routes, broken, strict=True)
    ]
    app = Application(Services(made, failure_bodies=services.failure_bodies), stop=lambda: None)
    client = AsgiClient(app)
    for route, each in zip(routes, broken, strict=True):
        (method,) = (route.methods or set()) - {"HEAD"}
        path = re.sub(r"\{\w+\}", "0" * 64, route.path)
        answer = await client.request(method, path, body=b"[]")
        assert answer.status == 500, route.path
        assert b"planted" not in answer.body
        told = answer.json()
        if path in services.failure_bodies:
            assert told.get("success", told.get("isValid")) is False
        else:
            assert told["error"]["code"] == "internal_error"
            assert re.fullmatch(r"[0-9a-f]{16}", told["error"]["requestId"])
        if path not in ("/v1/errors", "/supported"):
            continue
        each.is_mended = True
        assert (await client.request(method, path)).status == 200


@case("RL-046")
async def test_a_fault_after_sending_tells_the_hash_and_the_repeat_the_outcome(
    stage: Stage,
) -> None:
    draft = await stage.draft()
    async with _mistake_at_the_end(stage):
        answer = await stage.client.post("/settle", draft.request())
        told = answer.json()
        assert (answer.status, told["success"]) == (500, False)
        assert told["errorReason"] == Reason.UNEXPECTED_SETTLE_ERROR
        assert REGISTRY[Reason(told["errorReason"])].retry is Retry.RECONCILE
        (row,) = await stage.query("SELECT tx_hash FROM settlements")
        assert told["transaction"] == row["tx_hash"].hex()
    final = await _until_final(stage, draft.request())
    assert (final["success"], final["transaction"]) == (True, told["transaction"])
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
async def test_a_caller_that_repeats_all_the_time_gets_one_transaction_and_one_success(
    hasty: Stage,
) -> None:
    """Many minutes of a repeat a second, at a hundred times the speed."""
    draft = await hasty.draft()
    before = await hasty.ledger().balance(draft.asset, draft.pay_to)
    node.lose_sight(hasty.node())
    asked = []
    for number in range(300):
        asked.append(asyncio.create_task(hasty.settle(draft.request())))
        if number == 200:
            hasty.node().on("getTransaction", _seeing)
            hasty.node().on("getTransactions", _seeing)
        await asyncio.sleep(0.01)
    outcomes = await asyncio.gather(*asked)
    assert sum(each["success"] for each in outcomes) == 1
    assert len({each["transaction"] for each in outcomes}) == 1
    allowed = {Reason.SETTLEMENT_PENDING, Reason.DUPLICATE_SETTLEMENT}
    assert {each["errorReason"] for each in outcomes if not each["success"]} == allowed
    is_final = [each.get("errorReason") != Reason.SETTLEMENT_PENDING for each in outcomes]
    assert is_final[-1]
    envelopes = {c.params["transaction"] for c in hasty.node().calls if c.method == SEND}
    assert len(envelopes) == 1
    assert await hasty.ledger().balance(draft.asset, draft.pay_to) == before + draft.amount


async def _seeing(call: node.Call, forward: node.Forward) -> node.Json:
    del call
    return await forward()


async def _until_final(stage: Stage, body: Any) -> Json:
    outcome = await stage.settle(body)
    for _ in range(200):
        if outcome.get("errorReason") != Reason.SETTLEMENT_PENDING:
            return outcome
        await asyncio.sleep(0.05)
        outcome = await stage.settle(body)
    raise TimeoutError("it stays pending")


# What a process of the version before this schema says to it: it knows none of the new columns.
_OLD_CLAIM: Final = """
    INSERT INTO settlements (network, payer, nonce, claim_id, request_digest, claimed_at,
                             asset, amount, pay_to, expires_at_ledger)
    VALUES ('stellar:testnet', 'P', $1, gen_random_uuid(), sha256('r'), now(), 'A', 7, 'S', 900)
    ON CONFLICT (network, payer, nonce) DO NOTHING
    RETURNING true
"""
_OLD_SENDING: Final = """
    UPDATE settlements
    SET state = 'sending', tx_hash = $2, envelope = 'e', source = $3, source_sequence = 8,
        max_time = now(), fee_limit = 10, sent_after_ledger = 11, inner_hash = NULL
    WHERE network = 'stellar:testnet' AND payer = 'P' AND nonce = $1 AND state = 'claimed'
    RETURNING true
"""
_OLD_SUBMITTED: Final = """
    UPDATE settlements SET state = 'submitted' WHERE tx_hash = $1 AND state = 'sending'
    RETURNING true
"""
_OLD_END: Final = """
    UPDATE settlements
    SET state = 'confirmed', reason = NULL, detail = 'd', ledger = 12, fee_charged = 9,
        finished_at = now()
    WHERE tx_hash = $1 AND state IN ('sending', 'submitted')
    RETURNING true
"""
_OLD_SUCCESS: Final = """
    UPDATE settlements SET answered_at = now()
    WHERE tx_hash = $1 AND state = 'confirmed' AND answered_at IS NULL
    RETURNING true
"""
_OLD_SCHEMA: Final = 2  # the last step such a process knows


@case("RL-043")
async def test_a_process_of_the_version_before_works_on_while_and_after_the_schema_changes(
    empty_database_url: Secret[str],
) -> None:
    steps = packaged_migrations()
    await migrate(empty_database_url, steps[:_OLD_SCHEMA])
    old = await asyncpg.connect(empty_database_url.reveal())
    try:
        first, second = b"1" * 32, b"2" * 32
        assert await old.fetchval(_OLD_CLAIM, 1)
        assert await old.fetchval(_OLD_SENDING, 1, first, "C1")
        applied = await asyncio.gather(*(migrate(empty_database_url, steps) for _ in range(2)))
        assert sorted(len(each) for each in applied) == [0, len(steps) - _OLD_SCHEMA]
        assert await old.fetchval(_OLD_SUBMITTED, first)
        assert await old.fetchval(_OLD_END, first)
        assert await old.fetchval(_OLD_SUCCESS, first)
        assert await old.fetchval(_OLD_CLAIM, 2)
        assert await old.fetchval(_OLD_SENDING, 2, second, "C2")
        async with Database(empty_database_url) as database:
            journal = SettlementJournal(database, SystemClock())
            rows = [await journal.find_by_hash(each) for each in (first, second)]
            assert [row.state if row else None for row in rows] == ["confirmed", "sending"]
            ending = Ending(SettlementState.CONFIRMED, ledger=13, fee_charged=8)
            assert await journal.end(second, ending)
        assert await old.fetchval(_OLD_SUCCESS, second)
    finally:
        await old.close()


@case("RL-043")
def test_no_step_takes_anything_away_from_a_process_that_runs() -> None:
    for step in packaged_migrations():
        statements = re.sub(r"--[^\n]*", "", step.sql).upper()
        statements = re.sub(r"\$\$.*?\$\$|AFTER TRUNCATE", "", statements, flags=re.DOTALL)
        taken = re.findall(
            r"\b(DROP|RENAME|TRUNCATE|SET NOT NULL|DELETE FROM"
            r"|ALTER COLUMN \w+ (?:SET DATA )?TYPE)\b",
            statements,
        )
        assert taken == [], step.name
        for column in re.findall(r"ADD COLUMN ([^,;]+)", statements):
            assert "NOT NULL" not in column or "DEFAULT" in column, (step.name, column)
        assert "SET LOCAL LOCK_TIMEOUT" in statements, "a step never queues behind a long reader"
