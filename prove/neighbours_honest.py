"""The honest neighbours of a case: a seller, its buyer, an agent and an owner of runs.

Each sends its requests at a pace of its own, whatever the service does: a slow answer to one does
not keep the next one from being sent.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import aiohttp
import msgspec

from farebox.kernel.caller import OwnerId
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party
from prove.auth_caller import ApiClient
from prove.automation_world import key_of, owners_of
from prove.delivery_payments import PaymentMaker
from prove.delivery_upstream import NAME
from prove.environment import AMOUNT, Replica
from prove.owner_case import HonestOwner
from prove.owner_desk import keeper_body
from prove.owner_stage import OwnerStage
from prove.world import NETWORK
from testing.machine import RunFailed

SLUG: Final = "honest-weather"
WORDS: Final = "quixotic weather of the harbour"
PUBLIC_URL: Final = "http://127.0.0.1:8402"  # as of a load balancer
WRAPPERS: Final = "/v1/wrappers"
# places of the honest wrapper: enough for its buyers, and few enough that lost ones show
LIMITS: Final = {"requestsPerMinute": 240, "maxConcurrentRequests": 24}
_ANSWER_S: Final = 30.0
BUYERS: Final = slice(1, 13)  # of the owners of the scene
_PURCHASE_S: Final = 0.4  # between two purchases
_AGENT_S: Final = 0.25
_READ_S: Final = 0.4
_RUN_S: Final = 12.0  # the longest wait for a run that is due
_LOOK_S: Final = 0.05
HOUR: Final = timedelta(hours=1)
SEARCH: Final = "agent's search"  # a kind of request
BUYER: Final = "buyer"  # another
_CALLS: Final = 3  # of an agent in turn: a search, a price, a paid call

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request of a client at an address; a proxy that the service trusts names the address."""

    method: str
    path: str
    address: str
    body: object = None
    token: Secret[str] | None = None
    payment: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """All of its headers."""
        named = {"X-Forwarded-For": self.address}
        if self.token is not None:
            named["Authorization"] = f"Bearer {self.token.reveal()}"
        if self.payment:
            named["PAYMENT-SIGNATURE"] = self.payment
        if self.body is not None:
            named["Content-Type"] = "application/json"
        return named

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else msgspec.json.encode(self.body)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response; status 0 when none came in time."""

    status: int
    body: bytes = b""
    took_s: float = 0.0

    @property
    def json(self) -> Json:
        """The body, where it is a JSON object."""
        try:
            return msgspec.json.decode(self.body, type=dict[str, Any])
        except msgspec.DecodeError:
            return {}

    def __str__(self) -> str:
        return f"{self.status} {self.body[:160]!r}"


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends requests to the replicas in turn."""

    web: aiohttp.ClientSession
    replicas: Sequence[Replica]
    turns: Iterator[int] = field(default_factory=itertools.count)

    def url(self) -> str:
        """The URL of the next replica."""
        return self.replicas[next(self.turns) % len(self.replicas)].url

    async def send(self, request: HttpRequest, *, within_s: float = _ANSWER_S) -> HttpAnswer:
        """Send a request and read the whole response."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with self.web.request(
                request.method,
                self.url() + request.path,
                headers=request.headers,
                data=request.content,
                timeout=aiohttp.ClientTimeout(total=within_s),
            ) as response:
                body = await response.read()
                return HttpAnswer(response.status, body, loop.time() - began)
        except (aiohttp.ClientError, TimeoutError) as error:
            return HttpAnswer(0, type(error).__name__.encode(), loop.time() - began)


def tool_call(name: str, arguments: Json) -> Json:
    """Return the message to `/mcp` that calls a tool."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def open_sender(stack: AsyncExitStack, replicas: Sequence[Replica]) -> Sender:
    """Open a sender with connections of its own."""
    connector = aiohttp.TCPConnector(limit=0)
    web = aiohttp.ClientSession(connector=connector, trust_env=False)
    return Sender(await stack.enter_async_context(web), replicas)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """An owner with an account on the ledger, and its session."""

    owner: OwnerId
    token: Secret[str]
    party: Party


async def sign_in(stage: OwnerStage, party: Party) -> SignedIn:
    """Sign in with an account of the scene.

    Raises:
        RunFailed: it is refused.
    """
    api, url = ApiClient(stage.environment.web), stage.replicas[0].url
    holder = await api.sign_in(url, key_of(party))
    return SignedIn(holder.owner, holder.session, party)


@dataclass(frozen=True, slots=True)
class Served:
    """The result of one honest request; `refusal` is empty where it was served."""

    kind: str
    took_s: float
    refusal: str = ""


@dataclass(eq=False, slots=True)
class Neighbours:
    """The honest neighbours, and what became of their requests."""

    stage: OwnerStage
    sender: Sender
    payments: PaymentMaker
    seller: SignedIn
    owner: HonestOwner
    keeper: str = ""  # a contract that a plan may run
    wrapper: str = ""  # its id
    numbers: Iterator[int] = field(default_factory=itertools.count)
    of_agent: Iterator[int] = field(default_factory=itertools.count)  # its turns
    of_owner: Iterator[int] = field(default_factory=itertools.count)
    listed: list[str] = field(default_factory=list)  # slugs that must be listed
    lost: list[str] = field(default_factory=list)  # of those, as somebody found out

    async def begin(self, keeper: str, other: str) -> None:
        """Sell the honest wrapper, open the plan, and buy once."""
        self.wrapper = await self._open_wrapper(SLUG, WORDS)
        self.keeper = other
        await self.owner.begin(keeper, other)
        for answer in (await self._buy(), await self._search()):
            if answer.refusal:
                raise RunFailed(f"an honest request is refused before all attacks: {answer}")

    async def keep_pace(self, seconds: float) -> list[Served]:
        """Let all of them send their requests for so long; return once all are answered."""
        pauses: Sequence[tuple[Callable[[], Awaitable[Served]], float]] = (
            (self._buy, _PURCHASE_S),
            (self._use_as_agent, _AGENT_S),
            (self._read_as_seller, _READ_S),
            (self._read_as_owner, _READ_S),
        )
        until = asyncio.get_running_loop().time() + seconds
        pacing = asyncio.gather(*(self._pace(act, pause_s, until) for act, pause_s in pauses))
        served, sold, run = await asyncio.gather(pacing, self._sell_more(), self._await_run())
        return [each for group in served for each in group] + [sold, run]

    async def _pace(
        self, act: Callable[[], Awaitable[Served]], pause_s: float, until: float
    ) -> list[Served]:
        running = []
        loop = asyncio.get_running_loop()
        while loop.time() < until:
            running.append(asyncio.ensure_future(act()))
            await asyncio.sleep(pause_s)
        return list(await asyncio.gather(*running))

    # --- seller

    async def _open_wrapper(self, slug: str, name: str) -> str:
        scene = self.stage.scene
        term = {
            "network": NETWORK.value,
            "asset": scene.asset,
            "amount": str(AMOUNT),
            "payTo": scene.payees[0].address,
        }
        body = {
            "name": name[:32],
            "description": name,
            "slug": slug,
            "upstreamUrl": f"https://{NAME}/honest",
            "accepts": [term],
            **LIMITS,
        }
        made = await self._manage("POST", "", body)
        if made.status != 201:
            raise RunFailed(f"an honest wrapper is refused: {made}")
        wrapper = str(made.json["id"])
        enabled = await self._manage("POST", f"/{wrapper}/enable", {})
        if enabled.status != 200:
            raise RunFailed(f"an honest wrapper is not enabled: {enabled}")
        self.listed.append(slug)
        return wrapper

    async def _manage(self, method: str, path: str, body: object = None) -> HttpAnswer:
        address = "198.51.100.1"
        token = self.seller.token
        return await self.sender.send(
            HttpRequest(method, WRAPPERS + path, address, body=body, token=token)
        )

    async def _sell_more(self) -> Served:
        """Create and enable another wrapper; its listing must be there afterwards."""
        loop = asyncio.get_running_loop()
        began, slug = loop.time(), f"honest-{next(self.numbers)}"
        try:
            await self._open_wrapper(slug, f"weather {slug}")
        except RunFailed as refused:
            self.lost.append(slug)
            return Served("sell", loop.time() - began, str(refused))
        return Served("sell", loop.time() - began)

    async def _read_as_seller(self) -> Served:
        return _expect("seller", await self._manage("GET", f"/{self.wrapper}"), 200)

    async def count_lost(self) -> int:
        """Count the listings that are gone, or that could not be made or found."""
        rows = await self.stage.environment.query(
            "SELECT s.slug FROM unnest($1::text[]) AS s (slug) WHERE NOT EXISTS ("
            " SELECT FROM listings l JOIN wrappers w ON w.id = l.wrapper_id"
            " WHERE w.slug = s.slug AND l.removed_at IS NULL)",
            self.listed,
        )
        return len({*self.lost, *(row["slug"] for row in rows)})

    # --- buyer and agent

    async def _sign(self) -> str:
        parties = owners_of(self.stage.scene)[BUYERS]
        payer = parties[next(self.numbers) % len(parties)]
        pay_to = self.stage.scene.payees[0].address
        return (await self.payments.sign("buyer", payer=payer, pay_to=pay_to)).header

    async def _buy(self) -> Served:
        payment = await self._sign()
        path = f"/gateway/{SLUG}/item?n={next(self.numbers)}"
        request = HttpRequest("GET", path, "198.51.100.2", payment=payment)
        return _expect(BUYER, await self.sender.send(request), 200)

    async def _use_as_agent(self) -> Served:
        match next(self.of_agent) % _CALLS:
            case 0:
                return await self._search()
            case 1:
                return await self._call(None)
            case _:
                return await self._call(await self._sign())

    async def _search(self) -> Served:
        body = tool_call("search_services", {"query": WORDS})
        answer = await self.sender.send(HttpRequest("POST", "/mcp", "198.51.100.3", body=body))
        served = _expect(SEARCH, answer, 200)
        if answer.json.get("result", {}).get("isError") is not False:
            return Served(served.kind, served.took_s, f"{SEARCH}: {answer}")
        if not served.refusal and f"/gateway/{SLUG}".encode() not in answer.body:
            self.lost.append(SLUG)
        return served

    async def _call(self, payment: str | None) -> Served:
        arguments: Json = {"url": f"{PUBLIC_URL}/gateway/{SLUG}", "method": "GET"}
        if payment is not None:
            arguments["paymentSignature"] = payment
        body = tool_call("paid_call", arguments)
        answer = await self.sender.send(HttpRequest("POST", "/mcp", "198.51.100.3", body=body))
        content = answer.json.get("result", {}).get("structuredContent", {})
        if payment is None:
            kind, is_right = "agent's price", "accepts" in content
        else:
            kind, is_right = "agent's call", content.get("isPaid") is True
        return Served(kind, answer.took_s, "" if is_right else f"{kind}: {answer}")

    # --- owner of runs

    async def _read_as_owner(self) -> Served:
        loop = asyncio.get_running_loop()
        began, owner = loop.time(), self.owner.owner
        if next(self.of_owner) % 2:
            answer, _ = await owner.ask("GET", f"/{self.owner.plan}")
            kind = "owner"
        else:
            start = self.stage.minute()
            body = keeper_body("p", self.keeper, start=start, end=start + HOUR, runs=2)
            answer, _ = await owner.ask("POST", "/preview", body)
            kind = "owner's preview"
        return Served(kind, loop.time() - began, "" if answer.is_ok else f"{kind}: {answer}")

    async def make_due(self) -> None:
        """Let the next run be due now, and not at the end of the shortest interval."""
        await self.stage.environment.query(
            "UPDATE automation_runs SET due_at = now()"
            " WHERE proposal_id = $1 AND state = 'scheduled' AND due_at IS NOT NULL",
            self.owner.plan,
        )

    async def _await_run(self) -> Served:
        """Wait until the run that is due was made."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() < began + _RUN_S:
            (row,) = await self.stage.environment.query(
                "SELECT count(*) AS n FROM automation_runs"
                " WHERE proposal_id = $1 AND state <> 'succeeded' AND due_at <= now()",
                self.owner.plan,
            )
            if not row["n"]:
                return Served("run", loop.time() - began)
            await asyncio.sleep(_LOOK_S)
        return Served("run", _RUN_S, f"a run is not made within {_RUN_S:g} s")


def _expect(kind: str, answer: HttpAnswer, status: int) -> Served:
    refusal = "" if answer.status == status else f"{kind}: {answer}"
    return Served(kind, answer.took_s, refusal)
