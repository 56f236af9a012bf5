"""The attackers of a case, one for each way to take from others what all callers share.

An attacker prepares before anything is measured, and then attacks while the honest neighbours are
served, until it is stopped. Its requests are bounded in number and come at a pace: it is to use up
places, slots and limits, not the machine.
"""

import asyncio
import contextlib
import itertools
import random
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from stellar_sdk import Keypair

from e2e.listing_row import list_resource
from farebox.gateway.wrapper import Upstream, WrapperLimits, WrapperSettings, WrapperTerm
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party
from farebox.web.client_address import site_name
from prove.delivery_payments import PaymentMaker, ShopPayment
from prove.delivery_upstream import NAME
from prove.limits_fair_caller import FreeWallet, free_wallet
from prove.neighbours_honest import (
    HOUR,
    PUBLIC_URL,
    SLUG,
    WRAPPERS,
    Request,
    Sender,
    SignedIn,
    tool_call,
)
from prove.owner_desk import keeper_body
from prove.owner_scenery import owners_of
from prove.owner_stage import OwnerStage
from prove.world import NETWORK

HANGS: Final = "hangs.example"  # names below it are never answered for
_PAYERS: Final = slice(13, None)  # of the owners of the scene: those who attack with money
_WALLETS: Final = 8
_MOST: Final = 4_000  # requests of one attacker in a case
_SIGNED: Final = 30  # payments that are presented again and again
_NAMES: Final = 24
_SOCKETS: Final = 40
_DRIP_S: Final = 0.2
_LARGE_BYTES: Final = 1_000_000
_PLACES: Final = 1_000  # of an owner, for a recipient
_SLOW_MS: Final = 3_000
_SLOWEST_MS: Final = 8_000  # less than its wrappers wait
_CHEAP: Final = BaseUnits(1)
_ANSWER_S: Final = 12.0
_LIMITS: Final = WrapperLimits(requests_per_minute=10_000, concurrent_requests=500, timeout_s=10)

Play = Callable[[], Coroutine[Any, Any, None]]


class Origin(StrEnum):
    """Where the requests of an attacker come from."""

    ONE_KEY = "from one account on the ledger"
    NEW_ACCOUNTS = "from many new accounts"
    SITE = "from a /48"


@dataclass(eq=False, slots=True)
class Ground:
    """What an attacker has."""

    stage: OwnerStage
    sender: Sender
    payments: PaymentMaker
    origin: Origin
    known: SignedIn  # its account on the ledger
    rng: random.Random
    name: str = field(default_factory=lambda: f"attacker-{secrets.token_hex(4)}")
    wallets: Sequence[FreeWallet] = ()
    sent: int = 0
    numbers: Iterator[int] = field(default_factory=itertools.count)

    async def begin(self) -> None:
        """Make its new accounts."""
        if self.origin is not Origin.ONE_KEY:
            made = [await free_wallet(self.stage.environment, keys=0) for _ in range(_WALLETS)]
            self.wallets = made

    def address(self, number: int) -> str:
        """The address that a request comes from."""
        if self.origin is Origin.SITE:
            return f"2001:db8:66:{number % 0xFFFF:x}::1"
        return "203.0.113.7"

    def token(self, number: int) -> Secret[str]:
        """The credential of a request that needs one."""
        if not self.wallets:
            return self.known.token
        return self.wallets[number % len(self.wallets)].session

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        number: int,
        needs_token: bool = False,
        payment: str = "",
    ) -> Request:
        """Make a request of it; one from a /48 has no credential where none is needed."""
        has_token = needs_token or self.origin is not Origin.SITE
        token = self.token(number) if has_token else None
        return Request(method, path, self.address(number), body, token, payment)

    async def flood(
        self,
        make: Callable[[int], Request | Awaitable[Request]],
        *,
        at_once: int,
        pause_s: float = 0.2,
    ) -> None:
        """Send requests from so many workers, until cancelled or the most is sent."""

        async def work() -> None:
            while self.sent < _MOST:
                self.sent += 1
                made = make(next(self.numbers))
                request = made if isinstance(made, Request) else await made
                await self.sender.send(request, within_s=_ANSWER_S)
                await asyncio.sleep(pause_s)

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(work())

    async def open_wrapper(
        self, path: str = "/attacker", *, host: str = NAME, pay_to: Address | None = None
    ) -> str:
        """Have an enabled wrapper of its own, as one whose upstream was well once; its slug."""
        number = next(self.numbers)
        slug = f"{self.name}-{number}"
        wrapper = f"wrp_{secrets.token_hex(11)}"
        owner = self.known.owner if not self.wallets else self._wallet(number).owner
        scene = self.stage.scene
        recipient = pay_to or scene.payees[1].address
        term = WrapperTerm(NETWORK, Address(scene.asset), _CHEAP, Address(recipient))
        upstream = Upstream(f"https://{host}{path}")
        settings = WrapperSettings(name="A", upstream=upstream, terms=(term,), limits=_LIMITS)
        client = site_name(self.address(number)) if self.wallets else None
        await self.stage.environment.query(
            "INSERT INTO wrapper_slugs (slug, owner, client, enabled_at)"
            " VALUES ($1, $2, $3, now())",
            *(slug, owner, client),
        )
        await self.stage.environment.query(
            "INSERT INTO wrappers (id, owner, slug, settings, is_established, is_enabled)"
            " VALUES ($1, $2, $3, $4::text::jsonb, $5, true)",
            *(wrapper, owner, slug, msgspec.json.encode(settings).decode(), not self.wallets),
        )
        return slug

    def _wallet(self, number: int) -> FreeWallet:
        return self.wallets[number % len(self.wallets)]

    async def wrapper_ids(self) -> Sequence[tuple[str, Secret[str]]]:
        """The ids of its wrappers, each with a session of the owner."""
        sessions = {each.owner: each.session for each in self.wallets}
        sessions[self.known.owner] = self.known.token
        rows = await self.stage.environment.query(
            "SELECT id, owner FROM wrappers WHERE slug LIKE $1", f"{self.name}-%"
        )
        return [(row["id"], sessions[row["owner"]]) for row in rows]

    async def sign_real(self) -> str:
        """Sign a payment of the least amount, which the ledger takes."""
        parties = owners_of(self.stage.scene)[_PAYERS]
        payer = parties[next(self.numbers) % len(parties)]
        pay_to = self.stage.scene.payees[1].address
        payment = await self.payments.sign("attacker", payer=payer, amount=_CHEAP, pay_to=pay_to)
        return payment.header

    async def sign_bad(self, make: Callable[[], Party], **more: Any) -> list[ShopPayment]:
        """Sign payments for the honest wrapper that no ledger takes."""
        pay_to = self.stage.scene.payees[0].address
        more = {"pay_to": pay_to, **more}
        return [await self.payments.sign("attacker", payer=make(), **more) for _ in range(_SIGNED)]

    def missing(self) -> Party:
        """An account that is not on the ledger."""
        key = Keypair.random()
        return Party(Address(key.public_key), Secret(key.secret))

    def poor(self) -> Party:
        """An account without the token."""
        key = self.stage.world.scenery.stranger
        return Party(Address(key.public_key), Secret(key.secret))

    def forged(self) -> Party:
        """A buyer's account, and a key that is not its own."""
        buyer = self.rng.choice(owners_of(self.stage.scene)[1:13])
        return Party(buyer.address, Secret(Keypair.random().secret))

    def rich(self) -> Party:
        """One of its accounts with money."""
        return self.rng.choice(owners_of(self.stage.scene)[_PAYERS])


# --- payments that nobody has judged


async def _present(
    ground: Ground, make: Callable[[], Party], *, body: object = None, **more: Any
) -> Play:
    """Present bad payments to the honest wrapper."""
    signed = await ground.sign_bad(make, **more)

    def request(number: int) -> Request:
        path, payment = f"/gateway/{SLUG}/item?a={number}", signed[number % len(signed)].header
        method = "GET" if body is None else "POST"
        return ground.ask(method, path, body, number=number, payment=payment)

    at_once = 6 if body is not None else 24
    return partial(ground.flood, request, at_once=at_once)


async def _settle(ground: Ground, path: str) -> Play:
    """Send payments of accounts that do not exist to a route of the facilitator."""
    signed = await ground.sign_bad(ground.missing)
    bodies = [msgspec.json.decode(each.settle_body) for each in signed]
    return partial(
        ground.flood,
        lambda number: ground.ask("POST", path, bodies[number % len(bodies)], number=number),
        at_once=16,
    )


# --- upstreams of its own


async def _sell(ground: Ground, *targets: str, at_once: int = 6, wrappers: int = 1) -> Play:
    """Buy at wrappers of its own whose upstream is on the host of the honest one."""
    slugs = [await ground.open_wrapper() for _ in range(wrappers)]

    async def request(number: int) -> Request:
        slug, target = slugs[number % len(slugs)], targets[number % len(targets)]
        path = f"/gateway/{slug}/item?n={number}&{target}"
        return ground.ask("GET", path, number=number, payment=await ground.sign_real())

    return partial(ground.flood, request, at_once=at_once)


async def _hang(ground: Ground) -> Play:
    """Present unpayable payments to wrappers of its own whose names are not answered for."""
    hosts = [f"n{number}.{HANGS}" for number in range(_NAMES)]
    slugs = [await ground.open_wrapper(host=host) for host in hosts]
    pay_to = ground.stage.scene.payees[1].address
    signed = await ground.sign_bad(ground.missing, amount=_CHEAP, pay_to=pay_to)

    def request(number: int) -> Request:
        path, payment = f"/gateway/{slugs[number % _NAMES]}/x", signed[number % _SIGNED].header
        return ground.ask("GET", path, number=number, payment=payment)

    return partial(ground.flood, request, at_once=_NAMES)


async def _hang_checks(ground: Ground) -> Play:
    """Check wrappers of its own whose names are not answered for."""
    for number in range(_NAMES):
        await ground.open_wrapper(host=f"c{number}.{HANGS}")
    return await _check_all(ground)


async def _check(ground: Ground) -> Play:
    """Check wrappers of its own whose upstream is slow."""
    for _ in range(_WALLETS):
        await ground.open_wrapper(f"/slow&takes_ms={_SLOW_MS}")
    return await _check_all(ground)


async def _check_all(ground: Ground) -> Play:
    wrappers = await ground.wrapper_ids()

    def request(number: int) -> Request:
        wrapper, token = wrappers[number % len(wrappers)]
        path = f"{WRAPPERS}/{wrapper}/check"
        return Request("POST", path, ground.address(number), {}, token)

    return partial(ground.flood, request, at_once=_NAMES)


async def _validate(ground: Ground, host: str) -> Play:
    """Have URLs validated."""

    def request(number: int) -> Request:
        url = f"https://{host.format(number)}/x"
        return ground.ask("POST", "/v1/discovery/validate", {"url": url}, number=number)

    return partial(ground.flood, request, at_once=16)


# --- places and slugs


async def _fill_places(ground: Ground) -> Play:
    """Have a thousand listings that name the honest recipient."""
    recipient = ground.stage.scene.payees[0].address
    await ground.open_wrapper(pay_to=recipient)
    ((wrapper, _), *_) = await ground.wrapper_ids()
    await ground.stage.environment.query(
        """
        INSERT INTO listings (network, resource_key, pay_to, wrapper_id, type, url, method, source,
            tags, extensions, extension_keys, ownership, bound_at, listed_at, updated_at,
            verified_at)
        SELECT $1, $2 || n, $3, $4, 'http', $2 || n, 'GET', 'wrapper', '{}', '{"bazaar": {}}',
            '{bazaar}', 'verified', now(), now(), now(), now()
        FROM generate_series(1, $5::int) AS n
        """,
        *(NETWORK.value, f"{PUBLIC_URL}/gateway/attack/", recipient, wrapper, _PLACES),
    )
    return await _take_slugs(ground)


async def _take_slugs(ground: Ground) -> Play:
    """Create wrappers that name the honest recipient, one after another."""
    scene = ground.stage.scene
    term = {
        "network": NETWORK.value,
        "asset": scene.asset,
        "amount": "1",
        "payTo": scene.payees[0].address,
    }

    def request(number: int) -> Request:
        body = {
            "name": f"taken {number}",
            "slug": f"{ground.name}-{number}",
            "upstreamUrl": f"https://{NAME}/taken",
            "accepts": [term],
        }
        return ground.ask("POST", WRAPPERS, body, number=number, needs_token=True)

    return partial(ground.flood, request, at_once=6)


# --- slow ones


async def _read_slowly(ground: Ground) -> Play:
    """Ask for long documents and read nothing."""
    return partial(_hold_sockets, ground, lambda number: ("GET", "/v1/openapi.json", "", 0))


async def _buy_slowly(ground: Ground) -> Play:
    """Buy long responses at a wrapper of its own and read nothing."""
    slug = await ground.open_wrapper()
    signed = iter([await ground.sign_real() for _ in range(_SOCKETS)])

    def ask(number: int) -> tuple[str, str, str, int]:
        return "GET", f"/gateway/{slug}/item?n={number}&bytes=400000", next(signed, ""), 0

    return partial(_hold_sockets, ground, ask, sockets=_SOCKETS // 4)


async def _send_slowly(ground: Ground) -> Play:
    """Send the body of a request to the honest wrapper byte by byte."""
    signed = await ground.sign_bad(ground.missing)

    def ask(number: int) -> tuple[str, str, str, int]:
        payment = signed[number % _SIGNED].header
        return "POST", f"/gateway/{SLUG}/item?n={number}", payment, _LARGE_BYTES

    return partial(_hold_sockets, ground, ask)


async def _hold_sockets(
    ground: Ground,
    ask: Callable[[int], tuple[str, str, str, int]],
    *,
    sockets: int = _SOCKETS,
) -> None:
    """Send requests over sockets that are not read, and their bodies byte by byte."""

    async def hold() -> None:
        number = next(ground.numbers)
        method, path, payment, length = ask(number)
        url = urlsplit(ground.sender.url())
        _, writer = await asyncio.open_connection(url.hostname, url.port, limit=4096)
        try:
            request = ground.ask(method, path, number=number, payment=payment)
            fields = {"Host": url.netloc, "Content-Length": str(length), **request.headers}
            head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode())
            while True:
                await asyncio.sleep(_DRIP_S)
                if length:
                    writer.write(b"x")
                    await writer.drain()
        finally:
            writer.transport.abort()

    async def keep() -> None:
        while True:
            with contextlib.suppress(OSError):
                await hold()
            await asyncio.sleep(_DRIP_S)

    async with asyncio.TaskGroup() as group:
        for _ in range(sockets):
            group.create_task(keep())


# --- floods of what costs nothing


async def _get(ground: Ground, path: str, *, at_once: int = 12) -> Play:
    return partial(
        ground.flood, lambda number: ground.ask("GET", path, number=number), at_once=at_once
    )


async def _preview(ground: Ground) -> Play:
    """Have plans previewed, which are simulated."""
    stage = ground.stage
    start = stage.minute()
    body = keeper_body("p", stage.scenery.keepers[-1], start=start, end=start + HOUR, runs=2)
    path = "/v1/automations/preview"
    return partial(
        ground.flood,
        lambda number: ground.ask("POST", path, body, number=number, needs_token=True),
        at_once=16,
    )


async def _sign_in(ground: Ground) -> Play:
    """Have challenges issued for an honest account."""
    value = {"network": NETWORK.value, "address": owners_of(ground.stage.scene)[0].address}
    path = "/v1/auth/challenge"
    return partial(
        ground.flood, lambda number: ground.ask("POST", path, value, number=number), at_once=8
    )


async def _search_as_agent(ground: Ground) -> Play:
    body = tool_call("search_services", {"query": "weather of every harbour"})
    return partial(
        ground.flood, lambda number: ground.ask("POST", "/mcp", body, number=number), at_once=12
    )


async def _call_as_agent(ground: Ground, *, is_paid: bool) -> Play:
    """Call a listed resource of its own that takes its time."""
    url = f"https://{NAME}/{ground.name}&takes_ms={_SLOW_MS}"
    environment = ground.stage.environment
    async with environment.query_lock:
        await list_resource(environment.db, url, url, "GET", {})
    arguments: dict[str, Any] = {"url": url}
    if is_paid:
        ((signed, *_)) = await ground.sign_bad(ground.missing)
        arguments["paymentSignature"] = signed.header
    body = tool_call("paid_call", arguments)
    return partial(
        ground.flood, lambda number: ground.ask("POST", "/mcp", body, number=number), at_once=40
    )


class Attack(StrEnum):
    """What an attacker does."""

    POOR = "payments of an account without the token"
    MISSING = "payments of accounts that do not exist"
    FORGED = "payments that another key has signed"
    UNDERPAID = "payments of less than the price"
    FAILING = "upstreams of its own on the shared host fail"
    REFUSING = "upstreams of its own on the shared host refuse, redirect and limit"
    SLOTS = "an owner takes all upstream slots"
    HANGING = "names of its wrappers are never answered for"
    HANGING_CHECKS = "checks of wrappers whose names are never answered for"
    HANGING_URLS = "validations of URLs whose names are never answered for"
    SLOW_READERS = "slow readers of documents"
    SLOW_BUYERS = "slow readers of paid responses"
    SLOW_BODIES = "bodies that come byte by byte"
    LARGE_BODIES = "large bodies with payments of accounts that do not exist"
    PLACES = "listings that name the honest recipient fill its places"
    SLUGS = "wrappers that take slugs"
    CHECKS = "a flood of checks of wrappers"
    PREVIEWS = "a flood of previews"
    VALIDATIONS = "a flood of validations"
    SEARCHES = "a flood of searches"
    BROWSING = "a flood of pages of the catalog"
    AGENT_SEARCHES = "a flood of searches by MCP"
    AGENT_CALLS = "agents take all unpaid calls"
    AGENT_PAYMENTS = "agents take all paid calls"
    CHALLENGES = "a flood of unpaid requests to the honest wrapper"
    VERIFYING = "a flood of verifications"
    SETTLING = "a flood of settlements"
    SIGN_INS = "a flood of challenges to sign in for an honest account"


_PLAYS: Final[Mapping[Attack, Callable[[Ground], Awaitable[Play]]]] = {
    Attack.POOR: lambda ground: _present(ground, ground.poor),
    Attack.MISSING: lambda ground: _present(ground, ground.missing),
    Attack.FORGED: lambda ground: _present(ground, ground.forged),
    Attack.UNDERPAID: lambda ground: _present(ground, ground.rich, amount=_CHEAP),
    Attack.FAILING: lambda ground: _sell(ground, "status=502", "status=503", "status=504"),
    Attack.REFUSING: lambda ground: _sell(
        ground, "status=401", "status=301", "status=304", "status=429", "status=407"
    ),
    Attack.SLOTS: lambda ground: _sell(
        ground, f"takes_ms={_SLOWEST_MS}", at_once=36, wrappers=_WALLETS
    ),
    Attack.HANGING: _hang,
    Attack.HANGING_CHECKS: _hang_checks,
    Attack.HANGING_URLS: lambda ground: _validate(ground, f"v{{}}.{HANGS}"),
    Attack.SLOW_READERS: _read_slowly,
    Attack.SLOW_BUYERS: _buy_slowly,
    Attack.SLOW_BODIES: _send_slowly,
    Attack.LARGE_BODIES: lambda ground: _present(ground, ground.missing, body="x" * _LARGE_BYTES),
    Attack.PLACES: _fill_places,
    Attack.SLUGS: _take_slugs,
    Attack.CHECKS: _check,
    Attack.PREVIEWS: _preview,
    Attack.VALIDATIONS: lambda ground: _validate(ground, NAME),
    Attack.SEARCHES: lambda ground: _get(ground, "/discovery/search?query=weather"),
    Attack.BROWSING: lambda ground: _get(ground, "/discovery/resources"),
    Attack.AGENT_SEARCHES: _search_as_agent,
    Attack.AGENT_CALLS: lambda ground: _call_as_agent(ground, is_paid=False),
    Attack.AGENT_PAYMENTS: lambda ground: _call_as_agent(ground, is_paid=True),
    Attack.CHALLENGES: lambda ground: _get(ground, f"/gateway/{SLUG}/item", at_once=24),
    Attack.VERIFYING: lambda ground: _settle(ground, "/verify"),
    Attack.SETTLING: lambda ground: _settle(ground, "/settle"),
    Attack.SIGN_INS: _sign_in,
}


async def prepare(ground: Ground, attack: Attack) -> Play:
    """Prepare an attack; what is returned attacks until it is cancelled."""
    await ground.begin()
    return await _PLAYS[attack](ground)
