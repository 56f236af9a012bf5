"""What hostile owners do to make the paymaster spend more than they pay, one class for each way.

An act begins when its plans are made, goes on between the due times of a case, and ends with it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from stellar_sdk import InvokeHostFunction, scval, xdr

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from prove.ask_node import land_operation
from prove.owner_desk import OwnerDesk, PlanOwner, keeper_body, open_body
from prove.owner_stage import OwnerStage
from prove.run_envelopes import read_run_envelope
from prove.run_interceptor import run_interceptor_of
from testing.automation_cases import MANDATE, OPEN, Case, Timing, plan_body
from testing.automation_owners import Json
from testing.contracts import call

T = TypeVar("T")
_FAR: Final = timedelta(hours=2)  # later than every case
_MANY: Final = 60  # runs that a plan may buy in all
_HEAVY_BYTES: Final = 2_000  # that a heavy call writes: some ten times the fee of a light one
_HELD: Final = 1_000  # base units of the token that the pool has


class HostileAct(StrEnum):
    """A way to the paymaster's money."""

    CREDIT = "cheap runs are bought and cancelled, and their credit is spent on a dear plan"
    SETUPS = "plans are installed, repeatedly or while they are cancelled, and never run"
    GROWING = "a contract is cheap when it is quoted and dear when it runs"
    TOP_UPS = "runs are added at a moment of low price, and made at a high one"
    FAILING = "a contract fails on the ledger, whatever its simulation has shown"
    NEW_OWNERS = "many new owners have runs that fail"
    CHANGES = "plans of several legs are cancelled and paused while a leg is being claimed"


class Act(Protocol):
    """The steps of an act; none of them expects that the service does what is asked."""

    async def begin(self) -> None:
        """Make the first plans."""
        ...

    async def prepare(self, number: int) -> None:
        """Act just before a due time."""
        ...

    async def follow(self, number: int) -> None:
        """Act after the runs of a due time."""
        ...


@dataclass(slots=True)
class Deeds:
    """What an act needs, and what the service has answered."""

    stage: OwnerStage
    desk: OwnerDesk
    label: str
    told: list[str] = field(default_factory=list)

    def body(self, spec: Json, runs: int = _MANY) -> Json:
        """A plan of mode `open` that is due each minute."""
        start = self.stage.minute()
        return open_body(self.label, spec, start=start, end=start + _FAR, runs=runs)

    async def open(
        self,
        owner: PlanOwner,
        body: Json,
        *,
        runs: int,
        is_active: bool = True,
        mode: AuthorityMode = OPEN,
    ) -> str:
        """Propose a plan, buy some runs, activate it; its id, or nothing where it is refused."""
        proposed = await owner.propose(body)
        if not proposed.is_ok:
            self.tell(f"proposed {proposed}")
            return ""
        plan = str(proposed.body["proposal"]["id"])
        paid = await owner.buy(plan, runs)
        self.tell(f"paid {paid}")
        if paid.is_ok and is_active:
            self.tell(f"activated {await owner.activate(plan, mode)}")
        return plan

    def tell(self, what: str) -> None:
        """Keep what the service has answered."""
        self.told.append(what)


class HeavyCall:
    """A call for which nobody signs, and whose cost its owner sets at any time.

    A pool gives away a token without manners: the transfer also writes what its owner has told it
    into another contract, little or much.
    """

    def __init__(self, stage: OwnerStage) -> None:
        self._stage = stage
        self._token = self._sink = self._pool = ""

    async def deploy(self) -> None:
        """Put it on the network."""
        chain = self._stage.chain
        self._token, self._sink, other = [await chain.deploy("mannered_token") for _ in range(3)]
        tokens = scval.to_address(self._token), scval.to_address(other)
        self._pool = await chain.deploy("pool", *tokens)
        held = scval.to_address(self._pool), scval.to_int128(_HELD)
        await chain.land(call(self._token, "mint", held))
        await self.weigh(0)

    async def weigh(self, size: int) -> None:
        """Let the next call write about so many bytes."""
        chain = self._stage.chain
        await chain.land(call(self._sink, "behave", (_manners(),)))  # growing is what costs most
        args = scval.to_vec([_manners(posing_as="x" * (size or 1))])
        errand = scval.to_vec([scval.to_address(self._sink), scval.to_symbol("behave"), args])
        await chain.land(call(self._token, "behave", (_manners(errand=errand),)))

    @property
    def spec(self) -> Json:
        """The payload of a plan that makes it."""
        to = {"type": "address", "value": self._stage.scene.payees[1].address}
        return {"contract": self._pool, "function": "skim", "args": [to], "effects": {}}


def _manners(*, posing_as: str = "", errand: xdr.SCVal | None = None) -> xdr.SCVal:
    """A transfer that takes and gives nothing, tells of it, and runs an errand."""
    nothing = scval.to_void()
    return scval.to_struct(
        {
            "taken": scval.to_uint32(0),
            "given": scval.to_uint32(0),
            "told": scval.to_uint32(100),
            "times": scval.to_uint32(1),
            "posing_as": scval.to_string(posing_as) if posing_as else nothing,
            "errand": nothing if errand is None else errand,
        }
    )


class SpendCredit:
    """See `HostileAct.CREDIT`."""

    def __init__(self, deeds: Deeds) -> None:
        self._deeds, self._heavy = deeds, HeavyCall(deeds.stage)
        self._owner: PlanOwner | None = None
        self._dear = ""

    async def begin(self) -> None:
        """Gather credit by cheap plans, then open the dear one with it."""
        deeds = self._deeds
        self._owner = await deeds.desk.classic()
        await self._heavy.deploy()
        self._keeper = deeds.desk.take_keeper()
        for _ in range(3):
            await self._gather()
        await self._heavy.weigh(_HEAVY_BYTES)
        self._dear = await deeds.open(self._owner, deeds.body(self._heavy.spec), runs=6)

    async def _gather(self) -> None:
        deeds, owner = self._deeds, self._owner
        if owner is None:
            return
        start = deeds.stage.minute()
        cheap = keeper_body(deeds.label, self._keeper, start=start, end=start + _FAR, runs=6)
        plan = await deeds.open(owner, cheap, runs=6, is_active=False)
        if plan:
            deeds.tell(f"cancelled {await owner.change(plan, 'cancel')}")

    async def prepare(self, number: int) -> None:
        """Let the run be as dear as it was quoted, each time."""
        await self._heavy.weigh(_HEAVY_BYTES)

    async def follow(self, number: int) -> None:
        """Buy more dear runs with what cheap ones leave."""
        if number % 2 == 0 and self._owner is not None and self._dear:
            await self._gather()
            bought = await self._owner.buy(self._dear, 1, is_top_up=True)
            self._deeds.tell(f"topped up {bought}")


class InstallInVain:
    """See `HostileAct.SETUPS`."""

    def __init__(self, deeds: Deeds) -> None:
        self._deeds = deeds
        self._owner: PlanOwner | None = None

    async def begin(self) -> None:
        """A plan is cancelled while its installation is under way."""
        self._owner = await self._deeds.desk.classic()
        await self._install(cancels="meanwhile")

    async def prepare(self, number: int) -> None:
        """Nothing."""

    async def follow(self, number: int) -> None:
        """Install twice at once, then pay and cancel, then install and cancel."""
        ways = {0: "afterwards", 1: "before", 2: "afterwards"}
        if number in ways:
            await self._install(cancels=ways[number])

    async def _install(self, *, cancels: str) -> None:
        deeds, owner = self._deeds, self._owner
        if owner is None:
            return
        plan = await self._propose(owner)
        if not plan:
            return
        deeds.tell(f"paid {await owner.buy(plan, 1)}")
        if cancels == "meanwhile":
            activating = asyncio.create_task(owner.activate(plan, MANDATE))
            await asyncio.sleep(deeds.stage.rng.random())
            deeds.tell(f"cancelled {await owner.change(plan, 'cancel')}")
            deeds.tell(f"activated {await activating}")
            return
        if cancels == "afterwards":  # asked for twice at once
            both = await asyncio.gather(*(owner.activate(plan, MANDATE) for _ in range(2)))
            deeds.tell(f"activated {both[0]} and {both[1]}")
        deeds.tell(f"cancelled {await owner.change(plan, 'cancel')}")

    async def _propose(self, owner: PlanOwner) -> str:
        stage = self._deeds.stage
        now = stage.now()
        place = stage.scenery.place(stage.scene, stage.scenery.keepers[0])
        case = Case(PlanKind.CONTRACT_CALL, MANDATE)
        timing = Timing(start=now + _FAR / 2, end=now + _FAR, runs=2)
        proposed = await owner.propose(
            plan_body(case, place, owner.account, timing, self._deeds.label)
        )
        if not proposed.is_ok:
            self._deeds.tell(f"proposed {proposed}")
            return ""
        return str(proposed.body["proposal"]["id"])


class GrowLater:
    """See `HostileAct.GROWING`; with `tops_up`, `HostileAct.TOP_UPS`."""

    def __init__(self, deeds: Deeds, *, tops_up: bool = False) -> None:
        self._deeds, self._heavy, self._tops_up = deeds, HeavyCall(deeds.stage), tops_up
        self._owner: PlanOwner | None = None
        self._plan = ""

    async def begin(self) -> None:
        """Buy runs of a light call; or one of a heavy one, and then light ones besides."""
        deeds = self._deeds
        self._owner = await deeds.desk.classic()
        await self._heavy.deploy()
        if self._tops_up:
            await self._heavy.weigh(_HEAVY_BYTES)
        body = deeds.body(self._heavy.spec)
        self._plan = await deeds.open(self._owner, body, runs=1 if self._tops_up else 4)
        if self._tops_up:
            await self._buy_light()

    async def prepare(self, number: int) -> None:
        """Let it be heavy when it runs."""
        await self._heavy.weigh(_HEAVY_BYTES)

    async def follow(self, number: int) -> None:
        """Buy again while it is light, where the plan waits for a new quote or has no run left."""
        if self._owner is None or not self._plan:
            return
        status, reason = await self._owner.status(self._plan)
        if (status, reason) == ("paused", "new_quote") or (self._tops_up and number % 3 == 0):
            await self._buy_light()
        if status == "paused":
            self._deeds.tell(f"resumed {await self._owner.change(self._plan, 'resume')}")

    async def _buy_light(self) -> None:
        if self._owner is None:
            return
        await self._heavy.weigh(0)
        bought = await self._owner.buy(self._plan, 2, is_top_up=True)
        self._deeds.tell(f"topped up {bought}")


class FailOnLedger:
    """See `HostileAct.FAILING` and `HostileAct.NEW_OWNERS`: of `owners` owners."""

    def __init__(self, deeds: Deeds, *, owners: int) -> None:
        self._deeds, self._count = deeds, owners
        self._plans: list[tuple[PlanOwner, str]] = []

    async def begin(self) -> None:
        """Each owner has a plan that runs a keeper of its own."""
        deeds = self._deeds
        for _ in range(self._count):
            keeper = deeds.desk.take_keeper()
            spoil_runs_of(deeds.stage, keeper)
            owner, start = await deeds.desk.classic(), deeds.stage.minute()
            body = keeper_body(deeds.label, keeper, start=start, end=start + _FAR, runs=20)
            self._plans.append((owner, await deeds.open(owner, body, runs=10)))

    async def prepare(self, number: int) -> None:
        """Nothing: the keeper is due again after each run that it has spoilt."""

    async def follow(self, number: int) -> None:
        """Let every plan that has paused go on."""
        for owner, plan in self._plans:
            status, _ = await owner.status(plan) if plan else ("", "")
            if status == "paused":
                self._deeds.tell(f"resumed {await owner.change(plan, 'resume')}")


def spoil_runs_of(stage: OwnerStage, keeper: str) -> None:
    """Let every run of a keeper fail on the ledger: just before it, its condition ends."""
    for replica in stage.replicas:
        interceptor = run_interceptor_of(replica)
        known = interceptor.send_watch
        watch = known if isinstance(known, SpoiledRuns) else SpoiledRuns(stage)
        watch.keepers.add(keeper)
        interceptor.send_watch = watch


class SpoiledRuns:
    """Sees the envelopes of a replica, and spoils those of some keepers."""

    def __init__(self, stage: OwnerStage) -> None:
        self._stage = stage
        self.keepers: set[str] = set()

    async def __call__(self, envelope: str, forward: Callable[[], Awaitable[T]]) -> T:
        """See `SendWatch`."""
        sent = read_run_envelope(envelope)
        if sent is None or sent.contract not in self.keepers:
            return await forward()
        async with self._stage.spoiling:
            await land_arrangement(self._stage, sent.contract, is_due=False)
            answer = await forward()
            await self._stage.environment.devnet.close(2)
            await land_arrangement(self._stage, sent.contract, is_due=True)
            return answer


async def land_arrangement(stage: OwnerStage, keeper: str, *, is_due: bool) -> None:
    """Set the condition of a keeper on the ledger."""
    operation = call(keeper, "arrange", (scval.to_bool(is_due),))
    if not isinstance(operation, InvokeHostFunction):
        raise TypeError(operation)
    await land_operation(stage.environment, operation, stage.world.scenery.stranger)
    await stage.environment.devnet.close()
