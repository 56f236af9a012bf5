"""A grant, a table or a column that is missing: an outage of the database, and no loop ends."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable
from typing import Final

import asyncpg
import pytest
from structlog.testing import capture_logs

from farebox.app.asgi import Application
from farebox.app.configuration import read_settings
from farebox.app.services import build_services
from farebox.kernel.clock import SystemClock
from farebox.local.postgres import EmbeddedPostgres
from farebox.x402.reasons import Reason
from support.asgi import AsgiClient, started
from support.command import run_farebox
from support.stage import Stage, own_relayer, until_ready
from testing.waiting import until

PAUSE_S: Final = 0.1  # the longest pause of a loop here: shorter ones use the whole processor
LOOKS: Final = 3
# these pause only while there is something to do
IDLE: Final = ("stellar:testnet watch", "stellar:pubnet watch", "claim releases", "plan events")
TABLES: Final = """SELECT relname FROM pg_class
    WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"""


class Fault:
    """What an operator did to the database, and its end."""

    def __init__(self, sqlstate: str, reasons: list[str], *, begin: str, end: str) -> None:
        self.sqlstate, self.reasons, self.begin, self.end = sqlstate, reasons, begin, end


def rename_each_table(name: str) -> str:
    """Rename every table `t` to `name`, an expression of it."""
    return f"""DO $$ DECLARE t text; BEGIN FOR t IN {TABLES}
        LOOP EXECUTE format('ALTER TABLE %I RENAME TO %I', t, {name}); END LOOP; END $$"""


FAULTS: Final = {
    "grants": Fault(
        "42501",
        ["statement_refused"],
        begin="REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}",
        end="GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}",
    ),
    "tables": Fault(
        "42P01",
        ["statement_refused"],
        begin=rename_each_table("'gone_' || t"),
        end=rename_each_table("substr(t, 6)"),
    ),
    "column": Fault(
        "42703",
        [],
        begin="ALTER TABLE settlements RENAME state TO gone",
        end="ALTER TABLE settlements RENAME gone TO state",
    ),
}


class OwnDatabase:
    """A migrated database and a role with grants alone, by which the service connects."""

    def __init__(self, url: str, role: str) -> None:
        self._admin, self.role = url, role
        self.url = f"{url}&role={role}"

    async def execute(self, statement: str) -> None:
        """Execute a statement beside a running service, with which it may deadlock."""
        db = await asyncpg.connect(self._admin)
        try:
            while True:
                with contextlib.suppress(asyncpg.DeadlockDetectedError):
                    await db.execute(statement.replace("{role}", self.role))
                    return
        finally:
            await db.close()


@pytest.fixture
async def own_database(
    postgres_server: EmbeddedPostgres, postgres_template: str
) -> AsyncIterator[OwnDatabase]:
    url, name = postgres_server.url.reveal(), f"farebox_{os.urandom(6).hex()}"
    db = await asyncpg.connect(url)
    await db.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    await db.execute(f"CREATE ROLE {name}")
    own = OwnDatabase(url.replace("/postgres?", f"/{name}?"), name)
    await own.execute(FAULTS["grants"].end)
    await own.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}")
    yield own
    await db.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await db.execute(f"DROP ROLE {name}")
    await db.close()


class QuickLoops:
    """Shortens the pauses of the loops and counts them."""

    def __init__(self, names: Iterable[str], patch: pytest.MonkeyPatch) -> None:
        self._pauses = dict.fromkeys((name for name in names if name not in IDLE), 0)
        patch.setattr(SystemClock, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        task = asyncio.current_task()
        name = task.get_name() if task is not None else ""
        if name in self._pauses:
            self._pauses[name] += 1
            seconds = min(seconds, PAUSE_S)
        await asyncio.sleep(seconds)

    async def until_each_has_looked(self) -> None:
        """Return once every loop has paused some times more."""
        self._pauses = dict.fromkeys(self._pauses, 0)

        def idle() -> list[str]:
            return [name for name, count in self._pauses.items() if count < LOOKS]

        try:
            await until(lambda: not idle())
        except TimeoutError:
            raise AssertionError(idle()) from None


@pytest.mark.parametrize("kind", FAULTS)
async def test_refused_statement_is_an_outage_with_an_alarm_and_ends_no_loop(
    stage: Stage, own_database: OwnDatabase, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    environment = stage.environment | await own_relayer(stage)
    environment["FAREBOX_DATABASE_URL"] = own_database.url
    services = build_services(read_settings(environment))
    loops = QuickLoops((loop.name for loop in services.tasks), monkeypatch)
    app = Application(services, stop=lambda: None)
    fault = FAULTS[kind]
    with capture_logs() as logged:
        async with started(app):
            own = Stage(AsgiClient(app), stage.networks, environment)
            await until_ready(own.client)
            await own.assert_settles((await own.draft()).request())
            await own_database.execute(fault.begin)
            await loops.until_each_has_looked()
            await assert_nothing_settles(own, reasons=fault.reasons)
            await own_database.execute(fault.end)
            await until_ready(own.client)
            await own.assert_settles((await own.draft()).request())
    endings = {"loop.died", "loop.broken", "loop.ended"}
    assert [each for each in logged if each["event"] in endings] == []
    assert app.failure is None
    alarms = [each for each in logged if each.get("alarm") == "statement_refused"]
    assert {each["sqlstate"] for each in alarms} == {fault.sqlstate}
    pools = [each["pool"] for each in alarms]
    assert {"farebox-money", "farebox-background"} <= set(pools)
    assert len(pools) == len(set(pools)), "one a minute of each"


async def assert_nothing_settles(own: Stage, *, reasons: list[str]) -> None:
    """A payment verifies and settles nothing; readiness says why where no payment can."""
    body = (await own.draft()).request()
    assert (await own.verify(body))["isValid"] is True
    answer = await own.client.post("/settle", body)
    assert (answer.status, answer.json()["errorReason"]) == (503, Reason.SERVICE_UNAVAILABLE)
    assert (await own.client.get("/health/live")).status == 200

    async def shows_reasons() -> bool:  # what readiness says may be a second old
        ready = await own.client.get("/health/ready")
        shown = ready.json()["parts"]["database"].get("reasons", [])
        return (ready.status, shown) == (503 if reasons else 200, reasons)

    await until(shows_reasons)


async def test_command_says_that_a_grant_is_missing(own_database: OwnDatabase) -> None:
    await own_database.execute(FAULTS["grants"].begin)
    settings = {"FAREBOX_DATABASE_URL": own_database.url}
    ran = await asyncio.to_thread(run_farebox, "migrate", settings=settings)
    assert (ran.code, ran.out) == (2, "")
    assert "permission denied" in ran.err
    assert "Traceback" not in ran.err
