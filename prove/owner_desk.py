"""An owner of plans who uses the service over HTTP, by any of its replicas."""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party
from prove.ask_node import read_newest
from prove.automation_world import key_of, owners_of
from prove.owner_stage import OwnerStage
from prove.world import NETWORK
from testing.automation_owners import Client, Json, open_http
from testing.machine import RunFailed
from testing.smart_accounts import Owner

_PENDING: Final = 202
_FAILED: Final = "transaction_failed"  # two sessions of one account cannot be installed at once
_UNSEEN: Final = "are not available on"  # contracts
_LOOKS: Final = 30
_LOOK_S: Final = 0.5
_MODES: Final = len(AuthorityMode)


@dataclass(frozen=True, slots=True)
class OwnerAnswer:
    """What the service has answered; `code` names a refusal."""

    status: int
    body: Json

    @property
    def is_ok(self) -> bool:
        """Whether it did what was asked."""
        return self.status in (200, 201)

    @property
    def code(self) -> str:
        """The code of a refusal, with its sentence."""
        error = self.body.get("error", {})
        return f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else error

    def __str__(self) -> str:
        return str(self.status) if self.is_ok else f"{self.status} {self.code}"[:200]


@dataclass(slots=True)
class PlanOwner:
    """A signed-in owner, and the account that pays for the runs."""

    stage: OwnerStage
    clients: list[Client]
    payer: Secret[str]
    _turns: Iterator[int] = field(default_factory=itertools.count)

    @property
    def account(self) -> str:
        """The account of the plans."""
        return self.clients[0].owner.account

    async def ask(self, method: str, path: str, body: object = None) -> tuple[OwnerAnswer, str]:
        """Ask the next replica; its answer, and the offer of a 402."""
        client = self.clients[next(self._turns) % len(self.clients)]
        status, found, offer = await client.send(method, path, body)
        return OwnerAnswer(status, found), offer

    async def propose(self, body: Json) -> OwnerAnswer:
        """Propose a plan; again while a replica has not seen the contracts of the mode yet."""
        answer, _ = await self.ask("POST", "", body)
        for _ in range(_LOOKS):
            if _UNSEEN not in answer.code:
                break
            await asyncio.sleep(_LOOK_S)
            answer, _ = await self.ask("POST", "", body)
        return answer

    async def buy(self, plan: str, runs: int, *, is_top_up: bool = False) -> OwnerAnswer:
        """Pay for runs of a plan, again while the service answers 503 for some seconds."""
        answer = await self._buy(plan, runs, is_top_up=is_top_up)
        for _ in range(_LOOKS):
            if answer.status != 503:
                break
            await asyncio.sleep(_LOOK_S)
            answer = await self._buy(plan, runs, is_top_up=is_top_up)
        return answer

    async def _buy(self, plan: str, runs: int, *, is_top_up: bool) -> OwnerAnswer:
        """Pay with the credit that is there and with money."""
        path, body = f"/{plan}/{'topup' if is_top_up else 'payment'}", {"runs": runs}
        answer, offer = await self.ask("POST", path, body)
        if answer.status != 402:
            return answer
        client = self.clients[next(self._turns) % len(self.clients)]
        paid = await client.pay_offer(path, body, offer, self.payer, self.stage.node)
        return OwnerAnswer(*paid)

    async def authorize(self, plan: str, mode: AuthorityMode) -> Json | OwnerAnswer:
        """Sign what the plan asks for; the body of the activation, or why there is none."""
        if mode is AuthorityMode.OPEN:
            return {}
        answer, _ = await self.ask("GET", f"/{plan}/session")
        if not answer.is_ok:
            return answer
        unsigned = [each["entryXdr"] for each in answer.body["install"]["entries"]]
        signed = [self.clients[0].owner.sign(each) for each in unsigned]
        is_ahead = mode is AuthorityMode.PRESIGNED
        return {"presignedEntriesXdr" if is_ahead else "signedEntriesXdr": signed}

    async def activate(self, plan: str, mode: AuthorityMode) -> OwnerAnswer:
        """Sign and activate a plan, once more where its installation has failed on the ledger."""
        answer = await self._activate(plan, mode)
        has_failed = answer.status == 409 and _FAILED in answer.code
        return await self._activate(plan, mode) if has_failed else answer

    async def _activate(self, plan: str, mode: AuthorityMode) -> OwnerAnswer:
        given = await self.authorize(plan, mode)
        if isinstance(given, OwnerAnswer):
            return given
        answer, _ = await self.ask("POST", f"/{plan}/activate", given)
        for _ in range(_LOOKS):
            is_busy = answer.status == 503  # nothing was sent: a channel, or the budget of the day
            if answer.status != _PENDING and not is_busy:
                break
            await asyncio.sleep(_LOOK_S)
            shown, _ = await self.ask("GET", f"/{plan}")
            if shown.is_ok and shown.body["proposal"]["status"] in ("active", "executing"):
                return shown
            answer, _ = await self.ask("POST", f"/{plan}/activate", given)
        return answer

    async def change(self, plan: str, verb: str) -> OwnerAnswer:
        """Pause, resume or cancel a plan."""
        return (await self.ask("POST", f"/{plan}/{verb}", {}))[0]

    async def status(self, plan: str) -> tuple[str, str]:
        """The state of a plan, and its reason."""
        answer, _ = await self.ask("GET", f"/{plan}")
        shown = answer.body.get("proposal", {})
        return str(shown.get("status")), str(shown.get("statusReason"))


class OwnerDesk:
    """Signs owners in: classic accounts of their own, and the smart account."""

    def __init__(self, stage: OwnerStage) -> None:
        self._stage = stage
        self._parties = iter(owners_of(stage.scene))
        self._keepers = iter(stage.scenery.keepers)

    async def classic(self) -> PlanOwner:
        """Sign in a classic account that has no plan yet."""
        party = next(self._parties)
        key = key_of(party)
        return await self._sign_in(Owner(key.public_key, key), party)

    async def smart(self) -> PlanOwner:
        """Sign in the smart account; a classic one pays for its plans."""
        account = self._stage.scenery.account
        if account is None:
            raise RunFailed("the network has no smart account")
        return await self._sign_in(account, next(self._parties))

    def take_keeper(self) -> str:
        """A keeper that no other plan runs."""
        return next(self._keepers)

    async def _sign_in(self, owner: Owner, payer: Party) -> PlanOwner:
        stage = self._stage
        http = await stage.environment.stack.enter_async_context(open_http())
        first, *others = (each.url for each in stage.replicas)
        client = Client(http, first, owner)
        ledger, _ = await read_newest(stage.environment)
        await client.sign_in(ledger)
        clients = [client, *(client.through(url) for url in others)]
        await asyncio.gather(*(_wait_until_open(each) for each in clients))
        return PlanOwner(stage, clients, payer.secret)


async def _wait_until_open(client: Client) -> None:
    """Wait until a replica has seen the contracts of every mode, and a funded paymaster."""
    offered: list[Json] = []
    for _ in range(_LOOKS):
        offered = (await client.get("/limits"))["networks"]
        if any(each["isAvailable"] and len(each["modes"]) == _MODES for each in offered):
            return
        await asyncio.sleep(_LOOK_S)
    raise RunFailed(f"plans are not open: {offered}")


def keeper_body(
    title: str, keeper: str, *, start: datetime, end: datetime, runs: int, every_s: int = 60
) -> Json:
    """A plan of mode `open` that runs a keeper."""
    spec = {"contract": keeper, "autolayer": True, "effects": {}}
    return open_body(title, spec, start=start, end=end, runs=runs, every_s=every_s)


def open_body(
    title: str, spec: Json, *, start: datetime, end: datetime, runs: int, every_s: int = 60
) -> Json:
    """A plan that makes a call for which nobody signs."""
    return {
        "kind": "contract_call",
        "network": NETWORK.value,
        "title": title,
        "schedule": {"type": "interval", "everySeconds": every_s, "startAt": moment(start)},
        "spec": spec,
        "runLimit": runs,
        "authorityMode": AuthorityMode.OPEN.value,
        "expiresAt": moment(end),
        "allowDuplicate": True,
    }


def moment(at: datetime) -> str:
    """A moment as requests have it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
