"""A service with automation on testnet, and plans of signed-in wallets, for tests over HTTP."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from stellar_sdk import Keypair, xdr
from stellar_sdk.auth import authorize_entry

from farebox.automation.authority.stored_calls import RunCalls, encode_calls
from farebox.automation.lifecycle.operator_plans import close_plans
from farebox.automation.lifecycle.operator_store import OperatorFilter
from farebox.automation.plans.session_spec import AuthorityMode, SessionSpec
from farebox.automation.plans.session_spec_xdr import write_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.local.devnet import Party, Scene
from support.asgi import Answer
from support.automation import (
    DELEGATES,
    PlanDraft,
    draft_plan,
    lock,
    open_calls,
    put_plan,
    read_plan,
    waive_price,
)
from support.automation_world import runs_seen
from support.callers import Wallet, send_request, sign_in_wallet
from support.command import Ran, run_farebox
from support.plan_stage import PlanStage, opened_plan_stage, until_paid_for
from support.presigned_plans import Leg, calls_of
from support.stage import Stage
from testing.entries import by_keys, last_ledger
from testing.waiting import until

AUTOMATIONS: Final = "/v1/automations"
_CATCH_UP: Final = LatenessRule(MissedRuns.CATCH_UP_ALL, timedelta(seconds=30))


@dataclass(slots=True)
class PlanService(PlanStage):
    """A running service with a paymaster, its database and the devnet behind it."""

    async def wallet(self, address: str | None = None) -> Wallet:
        """Sign a wallet in."""
        return await sign_in_wallet(self.database, address=address)

    async def call(
        self,
        wallet: Wallet | None,
        method: str,
        path: str,
        value: object = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request below `/v1/automations`."""
        sent = (wallet.headers if wallet else {}) | dict(headers or {})
        url = f"{AUTOMATIONS}/{path}" if path else AUTOMATIONS
        return await send_request(self.client, method, url, sent, value)

    async def post(
        self, wallet: Wallet, plan: StoredPlan, verb: str, value: object = None
    ) -> dict[str, Any]:
        """Change a plan; the response's body with its status under `http`."""
        answer = await self.call(wallet, "POST", f"{plan.terms.id}/{verb}", value or {})
        return answer.json() | {"http": answer.status}

    async def get(self, wallet: Wallet, plan: StoredPlan, rest: str) -> dict[str, Any]:
        """Read about a plan: 200."""
        answer = await self.call(wallet, "GET", f"{plan.terms.id}/{rest}")
        assert answer.status == 200, answer.body
        return answer.json()

    async def count(self, keeper: str) -> int:
        """How many runs a keeper has seen."""
        return await runs_seen(self.stage.ledger(), keeper)

    async def open_plan(
        self, wallet: Wallet, keeper: str, *, check: bool = True, runs: int = 3, **changes: Any
    ) -> StoredPlan:
        """A paid plan of a keeper that runs every minute from now on, all missed runs caught up."""
        now = datetime.now(UTC)
        calls = open_calls(Address(keeper), check=check)
        draft = draft_plan(
            now=now, owner=wallet.owner, account=Address(wallet.caller.address or "")
        )
        terms = {"calls": encode_calls(calls), "rule": _CATCH_UP} | changes
        return await self._paid(draft.but(**terms), calls, runs)

    async def presigned_plan(
        self,
        wallet: Wallet,
        scene: Scene,
        payer: Party,
        legs: list[Leg],
        *,
        runs: int = 3,
        **changes: Any,
    ) -> StoredPlan:
        """A paid plan of transfers that the payer signs in advance."""
        now = datetime.now(UTC)
        draft = draft_plan(now=now, owner=wallet.owner, account=payer.address)
        calls: RunCalls = calls_of(scene.asset, legs)
        terms: dict[str, Any] = {
            "mode": AuthorityMode.PRESIGNED,
            "calls": encode_calls(calls),
            "rule": _CATCH_UP,
            "legs": len(legs),
            "run_limit": runs,
            "auth_limit": runs * len(legs),
            "window": replace(draft.terms.window, not_after=now + timedelta(hours=1)),
        }
        return await self._paid(draft.but(**terms | changes), calls, runs)

    async def issued(self, wallet: Wallet, plan: StoredPlan) -> list[bytes]:
        """The entries that the plan asks its owner for, by the cadence the service observes."""
        session = await self.get(wallet, plan, "session")
        return [base64.b64decode(each["entryXdr"]) for each in session["install"]["entries"]]

    async def sign_all(self, wallet: Wallet, plan: StoredPlan, *signers: Keypair) -> list[str]:
        """Every entry that the plan asks for, signed by the public SDK."""
        return [sign_entry(each, *signers) for each in await self.issued(wallet, plan)]

    async def _paid(self, draft: PlanDraft, calls: RunCalls, runs: int) -> StoredPlan:
        terms, now = draft.terms, datetime.now(UTC)
        assert terms.account is not None
        public, sealed = DELEGATES.make(terms.owner, terms.id)
        spec = SessionSpec(
            account=terms.account,
            mode=terms.mode,
            delegate=public,
            calls=calls.planned.allowed,
            caps=(),
            interval_s=1,
            max_uses=terms.auth_limit,
            not_before=int(terms.window.not_before.timestamp()),
            not_after=int(terms.window.not_after.timestamp()),
        )
        draft = draft.but(delegate=public, session_spec=write_spec(spec))
        draft = replace(draft, sealed_key=sealed, runs=runs)
        async with self.database.transaction() as db:
            plan = await put_plan(db, draft, now=now)
        return await self.pay_for(terms.id, runs=runs) if runs else plan

    async def pay_for(self, proposal_id: str, *, runs: int) -> StoredPlan:
        """Waive the price of a plan that was proposed."""
        async with self.database.transaction() as db:
            plan = await lock(db, proposal_id)
            return await waive_price(db, plan, runs, now=datetime.now(UTC))

    async def state(self, plan: StoredPlan) -> StoredPlan:
        """The plan as its row is now."""
        return await read_plan(self.database, plan)

    async def until_consumed(self, plan: StoredPlan, count: int, *, within_s: float = 30) -> None:
        """Wait until so many runs have used their credit."""

        async def is_met() -> bool:
            return (await self.state(plan)).counters.runs_consumed >= count

        await until(is_met, within_s)

    async def make_due(self, plan: StoredPlan) -> None:
        """Let the plan's next run be due now."""
        await self.stage.query(
            "UPDATE automation_runs SET due_at = now() WHERE proposal_id = $1"
            " AND due_at IS NOT NULL",
            plan.terms.id,
        )

    async def until_available(self) -> None:
        """Wait until the network can be used, and its paymaster pays."""
        await until_paid_for(self.client)

    async def end_all(self) -> None:
        """Cancel every open plan, and wait until no run of one is under way."""
        await close_plans(self.database, SystemClock(), OperatorFilter(Network.TESTNET))

        async def is_quiet() -> bool:
            rows = await self.stage.query("SELECT sum(running) AS n FROM automation_owners")
            return not rows[0]["n"]

        await until(is_quiet, 30)

    async def farebox(self, *words: str) -> Ran:
        """Run a command with the service's settings."""
        return await asyncio.to_thread(run_farebox, *words, settings=self.environment)


@contextlib.asynccontextmanager
async def plan_service(stage: Stage, **settings: str) -> AsyncIterator[PlanService]:
    """Start a service with a funded paymaster and two channels; what it wrote is removed."""
    async with opened_plan_stage(stage, 2, **settings) as opened:
        yield PlanService(stage, opened.client, opened.database, opened.environment)


def sign_entry(unsigned: bytes, *signers: Keypair, passphrase: str | None = None) -> str:
    """Sign an entry as a wallet does: base64 of its XDR."""
    entry = xdr.SorobanAuthorizationEntry.from_xdr_bytes(unsigned)
    ordered = sorted(signers, key=lambda key: key.raw_public_key())
    network = passphrase or Network.TESTNET.passphrase
    return authorize_entry(entry, by_keys(ordered), last_ledger(entry), network).to_xdr()
