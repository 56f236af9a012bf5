"""The life of one plan over HTTP: propose, pay, install, activate, run, pause, resume, cancel."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from stellar_sdk import Keypair, scval

from e2e.automation_calls import Delegate
from e2e.automation_stage import AutomationStage
from farebox.automation.plans import proposal_store
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.run_state import FINAL_RUN_STATES, RunState
from farebox.automation.sealed_columns import DELEGATE_PURPOSE, DELEGATES
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.kernel.secret import Secret
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.storage.pool import Database
from farebox.vault.master_keys import MasterKeys, read_master_keys
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import Sealer
from testing.automation_cases import (
    INTERVAL_S,
    LEGS,
    OPEN,
    PRESIGNED,
    RUNS,
    Case,
    Place,
    Timing,
    plan_body,
)
from testing.automation_owners import Client, Json
from testing.machine import RunFailed, wait_until

_POLL_S: Final = 1.0
_ACTIVE_S: Final = 60.0
T = TypeVar("T")


@dataclass(slots=True)
class ActivePlan:
    """A plan that its owner has activated."""

    case: Case
    place: Place
    client: Client
    id: str
    entries: list[str] = field(default_factory=list)  # that the owner signed ahead
    runs: list[Json] = field(default_factory=list)  # that came due, as the service shows them

    @property
    def succeeded(self) -> int:
        """How many runs succeeded with every leg."""
        return sum(each["succeeded"] for each in self.runs)


class PlanDesk:
    """Opens plans of owners, and knows the service's own keys."""

    def __init__(self, stage: AutomationStage, database: Database, node: SorobanRpc) -> None:
        self.stage, self._database, self._node = stage, database, node
        keys = read_master_keys(stage.settings["FAREBOX_MASTER_KEYS"])
        if not isinstance(keys, MasterKeys):
            raise RunFailed("the master keys of the stage cannot be read")
        self._sealer = ByteSealer(Sealer(keys, domain=DELEGATES))

    async def open(
        self,
        case: Case,
        place: Place,
        client: Client,
        timing: Timing,
        *,
        title: str,
        payer: Secret[str],
    ) -> ActivePlan:
        """Propose a plan, pay for it, install its session and activate it."""
        account = client.owner.account
        body = plan_body(case, place, account, timing, title)
        proposed = await client.post("", body, 201)
        plan = ActivePlan(case, place, client, str(proposed["proposal"]["id"]))
        paid = await client.pay(plan.id, payer, self._node)
        expect(case, "paid", paid["proposal"]["status"], "paid")
        expect(case, "credited", paid["proposal"]["runsCredited"], timing.runs)
        activation = await self._authorize(plan)
        await client.post(f"/{plan.id}/activate", activation, 200, 202)
        await _wait(lambda: self._is(plan, "active"), f"{case.name}: active", _ACTIVE_S)
        return plan

    async def _authorize(self, plan: ActivePlan) -> Json:
        """Sign what the plan asks its owner for; the body of the activation."""
        if plan.case.mode is OPEN:
            return {}
        session = await plan.client.get(f"/{plan.id}/session")
        unsigned = [each["entryXdr"] for each in session["install"]["entries"]]
        signed = [plan.client.owner.sign(each) for each in unsigned]
        if plan.case.mode is PRESIGNED:
            plan.entries = signed
            return {"presignedEntriesXdr": signed}
        return {"signedEntriesXdr": signed}

    async def delegate(self, plan: ActivePlan) -> Delegate:
        """The key of a plan, unsealed from its row, and what it may use on the ledger."""
        async with self._database.connection() as db:
            stored = await proposal_store.find_plan(db, plan.id)
        if stored is None or stored.delegate_key is None:
            raise RunFailed(f"{plan.case.name}: the plan has no delegate key")
        terms = stored.terms
        seed = self._sealer.open(
            stored.delegate_key.reveal(),
            owner=terms.owner,
            purpose=DELEGATE_PURPOSE,
            record=terms.id,
        )
        key = Keypair.from_raw_ed25519_seed(seed.reveal())
        expect(plan.case, "delegate", key.raw_public_key(), terms.delegate)
        owner, policy = plan.client.owner, bytes(terms.policy_id)
        if not owner.generation:
            return Delegate(owner, key, policy, mandate=await self._mandate(policy))
        return Delegate(owner, key, policy, rules=await self._rules(stored))

    async def _mandate(self, policy: bytes) -> str:
        factory = self.stage.contract(ServiceContract.FACTORY)
        found = await self.stage.chain.read(factory, "address_of", scval.to_bytes(policy))
        return scval.from_address(found).address

    async def _rules(self, stored: StoredPlan) -> dict[str, int]:
        guard, terms = self.stage.contract(ServiceContract.GUARD), stored.terms
        named = scval.to_address(str(terms.account)), scval.to_bytes(bytes(terms.policy_id))
        session = scval.from_struct(await self.stage.chain.read(guard, "session", *named))
        rules = session["rules"].map
        if rules is None:
            raise RunFailed("the guard names no rules")
        return {
            scval.from_address(each.key).address: scval.from_uint32(each.val)
            for each in rules.sc_map
        }

    async def live(self, plan: ActivePlan) -> None:
        """Let a plan make its runs on schedule, paused and resumed after the first, and cancel it.

        Raises:
            RunFailed: it does not do what it must.
        """
        client, case = plan.client, plan.case
        await self._until_runs(plan, 1)
        for verb, status in (("pause", "paused"), ("resume", "active")):
            changed = await self._change(plan, verb)
            expect(case, verb, changed["proposal"]["status"], status)
        await self._until_runs(plan, RUNS)
        cancelled = await self._change(plan, "cancel")
        expect(case, "cancel", cancelled["proposal"]["status"], "cancelled")
        if case.has_delegate:
            await _wait(lambda: self._is_closed(plan), f"{case.name}: closed", _ACTIVE_S)
        shown = (await client.get(f"/{plan.id}"))["proposal"]
        expect(case, "runs consumed", shown["runsConsumed"], RUNS)

    async def _change(self, plan: ActivePlan, verb: str) -> Json:
        """Change a plan; a run that is under way is left to end first."""

        async def changed() -> Json | None:
            status, body, _ = await plan.client.send("POST", path, {"reason": "end-to-end"})
            if status != 200:
                raise RunFailed(f"{plan.case.name}: {verb}: {status} {str(body)[:400]}")
            return None if body["proposal"]["status"] == "executing" else body

        path = f"/{plan.id}/{verb}"
        return await _wait(changed, f"{plan.case.name}: {verb}", _ACTIVE_S)

    async def _until_runs(self, plan: ActivePlan, count: int) -> None:
        """Wait until so many runs have ended; fail at the first that did not succeed."""

        async def is_met() -> bool:
            page = await plan.client.get(f"/{plan.id}/runs?limit=50")
            plan.runs = ended_runs(page, _legs(plan.case))
            failed = [each for each in plan.runs if not each["succeeded"]]
            if failed:
                raise RunFailed(f"{plan.case.name}: a run did not succeed: {failed[0]['legs']}")
            return len(plan.runs) >= count

        patience = INTERVAL_S * (count + 2) + _ACTIVE_S
        await _wait(is_met, f"{plan.case.name}: {count} runs", patience)

    async def _is(self, plan: ActivePlan, status: str) -> bool:
        shown = (await plan.client.get(f"/{plan.id}"))["proposal"]["status"]
        return bool(shown == status)

    async def _is_closed(self, plan: ActivePlan) -> bool:
        session = await plan.client.get(f"/{plan.id}/session")
        return bool(session["state"] == "closed_by_service")


def ended_runs(page: Json, count: int) -> list[Json]:
    """The runs of a page that have ended, each with its `count` legs, or fewer if one failed."""
    runs: dict[int, list[Json]] = {}
    for each in page["items"]:
        runs.setdefault(each["runIndex"], []).append(each)
    ended = []
    for index, legs in sorted(runs.items()):
        states = [RunState(leg["state"]) for leg in legs]
        succeeded = all(state is RunState.SUCCEEDED for state in states)
        if not succeeded and not FINAL_RUN_STATES.issuperset(states):
            continue
        if not succeeded or len(legs) == count:
            ended.append({"index": index, "legs": legs, "succeeded": succeeded})
    return ended


async def _wait(met: Callable[[], Awaitable[T | None]], what: str, within_s: float) -> T:
    return await wait_until(met, what, within_s=within_s, pause_s=_POLL_S)


def _legs(case: Case) -> int:
    return len(LEGS) if case.kind is PlanKind.DISBURSEMENT else 1


def expect(case: Case, what: str, found: object, wanted: object) -> None:
    """Hold a value against the one that it must be.

    Raises:
        RunFailed: it is another one.
    """
    if found != wanted:
        raise RunFailed(f"{case.name}: {what}: found {found!r}, expected {wanted!r}")
