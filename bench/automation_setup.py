"""A measured service with a paymaster, its channels, a keeper, and many stored plans."""

import base64
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from stellar_sdk import Keypair

from bench.automation_rows import fill_plans
from bench.settle_setup import HURRY_S, MeasuredFacilitator, SettleSetup
from farebox.app.vault_services import automation_sealers
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.kernel.addresses import Address
from farebox.storage.pool import Connection
from farebox.vault.master_keys import MasterKeys, read_master_keys
from testing.automation_plans import EVERY, draft_plan, keeper_calls, start_plan
from testing.chain import closing_ledgers
from testing.contracts import ask_friendbot, deploy_keeper
from testing.database import connected
from testing.machine import say, wait_until

CHANNELS: Final = 19
_PER_OWNER: Final = 10
_BUDGET: Final = "100000000000"  # stroops: the bench is not to meet a budget


@dataclass(frozen=True, slots=True)
class AutomationSetup:
    """The paymaster's settings, the keeper, and a connection to the service's database."""

    settle: SettleSetup
    settings: dict[str, str]
    keeper: Address
    db: Connection

    @contextlib.asynccontextmanager
    async def service(self, name: str) -> AsyncIterator[MeasuredFacilitator]:
        """Start the service on its core."""
        async with self.settle.start_farebox(name, self.settings) as side:
            yield side

    async def start_plans(
        self, count: int, *, runs: int, start_at: datetime, apart: timedelta = timedelta()
    ) -> list[str]:
        """Start open plans of different owners, each `apart` later; their ids."""
        keys = read_master_keys(self.settings["FAREBOX_MASTER_KEYS"])
        if not isinstance(keys, MasterKeys):
            raise TypeError(keys)
        sealers, ids = automation_sealers(keys), []
        for number in range(count):
            drafted = draft_plan(
                sealers,
                AuthorityMode.OPEN,
                keeper_calls(self.keeper),
                start_at=start_at + apart * number,
                runs=runs,
            )
            async with self.db.transaction():
                await start_plan(self.db, drafted)
            ids.append(drafted.terms.id)
        return ids

    async def start_working_plans(self, count: int, *, runs: int) -> list[str]:
        """Start plans that are behind by all their runs: one after the other is due at once."""
        return await self.start_plans(
            count, runs=runs, start_at=datetime.now(UTC) - EVERY * (runs - 1)
        )

    async def count_failed(self) -> int:
        """Count the runs that ended without success, and those whose outcome is not known."""
        failed = await self.db.fetchval(
            "SELECT count(*) FROM automation_runs WHERE state IN ('failed', 'missed', 'abandoned')"
        )
        return int(failed)

    async def end_plans(self, ids: Sequence[str]) -> None:
        """Let no further run of these plans begin, and wait for those in progress."""
        await self.db.execute(
            "UPDATE automation_runs SET due_at = NULL WHERE state = 'scheduled' AND due_at < now()"
        )
        await self.db.execute(
            "UPDATE automation_proposals SET status = 'paused' WHERE id = ANY ($1)", ids
        )

        async def are_over() -> bool:
            return not await self.db.fetchval("SELECT count(*) FROM automation_leases")

        await wait_until(are_over, "the end of the runs in progress", within_s=60)


@contextlib.asynccontextmanager
async def open_automation_setup(
    settle: SettleSetup, *, plans: int
) -> AsyncIterator[AutomationSetup]:
    """Add a paymaster with channels, a keeper and stored plans to a bench's environment."""
    paymaster, deployer = Keypair.random(), Keypair.random()
    settings = {
        "FAREBOX_PAYMASTER_SECRET_TESTNET": paymaster.secret,
        "FAREBOX_MASTER_KEYS": f"1:{base64.b64encode(os.urandom(32)).decode()}",
        "FAREBOX_AUTOMATION_BUDGET_TOTAL_STROOPS_TESTNET": _BUDGET,
        "FAREBOX_AUTOMATION_BUDGET_OWNER_STROOPS_TESTNET": _BUDGET,
        "FAREBOX_SEARCH_SEMANTIC": "off",
    }
    rpc_url = settle.devnet.rpc_url
    async with closing_ledgers(settle.devnet, every_s=HURRY_S):
        for each in (paymaster, deployer):
            await ask_friendbot(rpc_url, each.public_key)
        keeper = await deploy_keeper(rpc_url, deployer)
    await settle.create_channels(CHANNELS, purpose="automation", settings=settings)
    async with connected(settle.database) as db:
        say(f"storing {plans:,} plans")
        await fill_plans(db, plans, due=0, now=datetime.now(UTC), per_owner=_PER_OWNER)
        yield AutomationSetup(settle, settings, keeper, db)
