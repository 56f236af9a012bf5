"""A staged service with a funded paymaster, its keepers, and the removal of what it wrote."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from stellar_sdk import scval

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.command import run_farebox
from support.contracts import wasm_of
from support.planted_secrets import plant_secret
from support.stage import Stage, own_relayer, service
from support.vault import VAULT_SETTING
from testing.waiting import WITHIN_S, until

TABLES: Final = (
    "automation_leases",
    "automation_attempts",
    "automation_channels",
    "automation_sponsored",
    "automation_events",
    "automation_outages",
    "automation_presigned",
    "automation_sessions",
    "run_credits",
    "automation_payments",
    "automation_runs",
    "automation_proposals",
    "automation_owners",
    "automation_spend",
    "automation_stops",
    "audit_trail",
    "api_keys",
    "sessions",
    "users",
)


@dataclass(slots=True)
class PlanStage:
    """A running service with a paymaster, its database, and the stage behind it."""

    stage: Stage
    client: AsgiClient
    database: Database
    environment: dict[str, str]

    async def keeper(self, *, demands: bool = False, gap: int = 0) -> str:
        """Deploy a keeper: its counter rises by one with each run."""
        ledger = self.stage.ledger()
        arguments = (scval.to_bool(demands), scval.to_uint64(gap))
        return await ledger.deploy(await ledger.account(), wasm_of("keeper"), *arguments)

    async def some_keeper(self) -> str:
        """The keeper of plans whose runs nobody counts, which tests share."""
        return await some_keeper(self.stage)

    async def faulty_keeper(self, fault: int) -> str:
        """A keeper that breaks the convention, which tests share: it keeps no state."""
        return await faulty_keeper(self.stage, fault)


async def some_keeper(stage: Stage) -> str:
    """The keeper of plans whose runs nobody counts, deployed once."""
    arguments = scval.to_bool(False), scval.to_uint64(0)
    return await stage.ledger().kept(wasm_of("keeper"), *arguments)


async def faulty_keeper(stage: Stage, fault: int) -> str:
    """The keeper that breaks the convention in this way, deployed once."""
    return await stage.ledger().kept(wasm_of("faulty_keeper"), scval.to_uint32(fault))


@asynccontextmanager
async def opened_plan_stage(
    stage: Stage, channels: int, **settings: str
) -> AsyncIterator[PlanStage]:
    """Start a service whose paymaster has so many channels; what it wrote is removed."""
    environment = {
        **stage.environment,
        **await own_relayer(stage),
        **await own_paymaster(stage),
        **VAULT_SETTING,
        **settings,
    }
    await create_channels(environment, channels)
    url = Secret(environment["FAREBOX_DATABASE_URL"])
    try:
        async with service(environment) as client, Database(url, connections=4) as database:
            await until_paid_for(client)
            yield PlanStage(stage, client, database, environment)
    finally:
        await stage.delete_rows(*TABLES)


async def own_paymaster(stage: Stage, network: Network = Network.TESTNET) -> dict[str, str]:
    """A setting that gives a service a paymaster of its own."""
    paymaster = await stage.ledger(network).account()
    plant_secret(paymaster.secret)
    return {f"FAREBOX_PAYMASTER_SECRET_{network.label.upper()}": paymaster.secret}


async def create_channels(
    environment: dict[str, str], count: int, network: Network = Network.TESTNET
) -> None:
    """Create channels of the paymaster, by the operator's command."""
    words = ("--for", "automation", "--count", str(count), "--network", network.label)
    await operate(environment, "channels", "create", *words)


async def operate(environment: dict[str, str], *words: str) -> str:
    """Run a command of the operator that succeeds; what it prints."""
    ran = await asyncio.to_thread(run_farebox, *words, settings=environment)
    assert ran.code == 0, ran.err
    return ran.out


async def until_paid_for(
    client: AsgiClient, *networks: Network, within_s: float = WITHIN_S
) -> None:
    """Wait until nothing of automation is amiss on testnet or on these networks.

    Plans can then be proposed.
    """

    async def is_paid_for() -> bool:
        parts = (await client.get("/health/ready")).json()["parts"]
        named = networks or (Network.TESTNET,)
        reasons = [each for name in named for each in parts[name.value].get("reasons", ())]
        return not [each for each in reasons if each.startswith(("auto", "paym"))]

    await until(is_paid_for, within_s)
