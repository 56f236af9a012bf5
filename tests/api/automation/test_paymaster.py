"""The paymaster through the whole service: its channels, its switch, and a run it pays for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from stellar_sdk import scval

from farebox.automation.authority.stored_calls import encode_calls
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.automation import activate, draft_plan, open_calls, read_plan
from support.automation_world import runs_seen
from support.command import Ran, run_farebox
from support.contracts import wasm_of
from support.planted_secrets import plant_secret
from support.stage import Stage, own_relayer, service
from support.vault import VAULT_SETTING
from testing.waiting import until

TABLES = (
    "run_credits",
    "automation_payments",
    "automation_leases",
    "automation_attempts",
    "automation_channels",
    "automation_events",
    "automation_runs",
    "automation_proposals",
    "automation_owners",
    "automation_spend",
    "automation_stops",
)


@pytest.fixture
async def environment(stage: Stage) -> AsyncIterator[dict[str, str]]:
    """The settings of a service with a funded paymaster; what it wrote is removed."""
    paymaster = await stage.ledger().account()
    plant_secret(paymaster.secret)
    own = {"FAREBOX_PAYMASTER_SECRET_TESTNET": paymaster.secret}
    yield stage.environment | await own_relayer(stage) | own | VAULT_SETTING
    for table in TABLES:
        await stage.query(f"DELETE FROM {table}")


async def farebox(environment: dict[str, str], *words: str) -> Ran:
    command = (*words, "--network", "testnet")
    ran = await asyncio.to_thread(run_farebox, *command, settings=environment)
    assert ran.code == 0, ran.err
    return ran


async def warnings(client: AsgiClient) -> set[str]:
    ready = await client.get("/health/ready")
    assert ready.status == 200, "automation makes nothing unready"
    return set(ready.json()["parts"][Network.TESTNET.value].get("reasons", []))


async def until_warned(client: AsgiClient, *codes: str) -> None:
    async def is_met() -> bool:
        found = {each for each in await warnings(client) if each.startswith(("auto", "paym"))}
        return found == set(codes)

    await until(is_met)


@contextlib.asynccontextmanager
async def database_of(environment: dict[str, str]) -> AsyncIterator[Database]:
    async with Database(Secret(environment["FAREBOX_DATABASE_URL"]), connections=2) as database:
        yield database


async def test_paymaster_pays_for_a_run_until_the_operator_stops_it(
    stage: Stage, environment: dict[str, str]
) -> None:
    ledger = stage.ledger()
    arguments = (scval.to_bool(False), scval.to_uint64(0))
    keeper = await ledger.deploy(await ledger.account(), wasm_of("keeper"), *arguments)
    calls = encode_calls(open_calls(Address(keeper), check=True))
    async with service(environment) as client, database_of(environment) as database:
        await until_warned(client, "automation_channels_missing")
        created = await farebox(
            environment, "channels", "create", "--for", "automation", "--count", "2"
        )
        assert created.out.startswith("2 channels are active on testnet: 2 made now")
        await until_warned(client)
        now = datetime.now(UTC)  # its first run may be half a minute late
        plan = await activate(database, draft_plan(now=now).but(calls=calls), now=now)

        async def has_run() -> bool:
            return (await read_plan(database, plan)).counters.runs_consumed == 1

        await until(has_run)
        assert await runs_seen(ledger, keeper) == 1
        await farebox(environment, "sponsor", "stop", "--for", "automation")
        await until_warned(client, "automation_stopped")
        status = (await farebox(environment, "sponsor", "status")).out
        assert "automation on testnet is stopped since" in status
        assert "testnet is paid for" in status, "settlement goes on"
        started = await farebox(environment, "sponsor", "start", "--for", "automation")
        assert started.out == "automation on testnet is paid for\n"
        await until_warned(client)


async def test_channels_of_automation_are_apart_from_those_of_settlement(
    environment: dict[str, str], stage: Stage
) -> None:
    await farebox(environment, "channels", "create", "--for", "automation", "--count", "1")
    listed = (await farebox(environment, "channels", "list", "--for", "automation")).out
    (address,) = [line.split()[0] for line in listed.splitlines()]
    others = (await farebox(environment, "channels", "list")).out
    assert address not in others
    rows: list[Any] = await stage.query("SELECT address FROM automation_channels")
    assert [row["address"] for row in rows] == [address]
    await farebox(environment, "channels", "drain", "--for", "automation", address)
    retired = await farebox(environment, "channels", "retire", "--for", "automation")
    assert retired.out == f"{address}\n"


async def test_channels_of_automation_need_a_paymaster(stage: Stage) -> None:
    command = ("channels", "create", "--for", "automation", "--count", "1", "--network", "testnet")
    ran = await asyncio.to_thread(run_farebox, *command, settings=stage.environment)
    assert ran.code == 2
    assert "FAREBOX_PAYMASTER_SECRET_TESTNET" in ran.err


async def test_paymaster_without_master_keys_is_a_warning(
    stage: Stage, environment: dict[str, str]
) -> None:
    without = {key: value for key, value in environment.items() if key not in VAULT_SETTING}
    async with service(without) as client:
        await until_warned(client, "automation_master_keys_missing")
