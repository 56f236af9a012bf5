"""The attackers of a case, one for each way to take from others what all callers share.

An attacker prepares before anything is measured, and then attacks while the honest neighbours are
served, until it is stopped. Its requests are bounded in number and come at a pace: it is to use up
places, slots and limits, not the machine.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from stellar_sdk import StrKey

from farebox.automation.limits import LIMITS, SHORTEST_POLL_S
from farebox.local.devnet import Party
from prove.automation_world import owners_of
from prove.delivery_upstream import NAME
from prove.neighbours_ground import CHEAP, SIGNED, WALLETS, Ground
from prove.neighbours_honest import HOUR, PUBLIC_URL, SLUG, WRAPPERS, HttpRequest, tool_call
from prove.owner_desk import keeper_body
from prove.owner_hostile import land_arrangement
from prove.owner_stage import OwnerStage
from prove.run_interceptor import run_interceptor_of
from prove.world import NETWORK
from testing.listing_row import list_resource

HANGS: Final = "hangs.example"  # names below it are never answered for
_NAMES: Final = 64
_AHEAD: Final = 16  # for each request at once: a half second each, for two phases of four
_SETTLED_AT_ONCE: Final = 48
_SOCKETS: Final = 40
_DRIP_S: Final = 0.2
_LARGE_BYTES: Final = 1_000_000
_PLACES: Final = 1_000  # of an owner, for a recipient
_SLOW_MS: Final = 3_000
_REPEATS: Final = 0.7
_SLOWEST_MS: Final = 8_000  # less than its wrappers wait
SLOWLY: Final = "slowly"  # a search with this word takes its time
_PLANS_OF_SITE: Final = 48  # of new accounts
_CHECK_S: Final = 3.0  # less than a check may take
_PREVIEW_S: Final = 0.5

Play = Callable[[], Coroutine[Any, Any, None]]


# --- payments that nobody has judged


async def _present(
    ground: Ground, make: Callable[[], Party], *, body: object = None, **more: Any
) -> Play:
    """Present bad payments to the honest wrapper."""
    signed = await ground.sign_bad(make, **more)

    def request(number: int) -> HttpRequest:
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


async def _fill_channels(ground: Ground) -> Play:
    """Settle payments to itself, of the least amount, more at once than there are channels."""
    await ground.sign_ahead(_AHEAD * _SETTLED_AT_ONCE)

    async def request(number: int) -> HttpRequest:
        body = msgspec.json.decode((await ground.sign_payment()).settle_body)
        return ground.ask("POST", "/settle", body, number=number)

    return partial(ground.flood, request, at_once=_SETTLED_AT_ONCE, pause_s=0.0)


# --- upstreams of its own


async def _sell(
    ground: Ground, *targets: str, at_once: int = 6, wrappers: int = 1, repeats: float = 0.0
) -> Play:
    """Buy at wrappers of its own whose upstream is on the host of the honest one.

    `repeats` is the part of requests that repeat an earlier one with its payment.
    """
    slugs = [await ground.open_wrapper() for _ in range(wrappers)]
    await ground.sign_ahead(_AHEAD * at_once)
    recent: deque[HttpRequest] = deque(maxlen=at_once)

    async def request(number: int) -> HttpRequest:
        if recent and ground.rng.random() < repeats:
            return ground.rng.choice(recent)
        slug, target = slugs[number % len(slugs)], targets[number % len(targets)]
        path, payment = f"/gateway/{slug}/item?n={number}&{target}", await ground.sign_real()
        recent.append(ground.ask("GET", path, number=number, payment=payment))
        return recent[-1]

    return partial(ground.flood, request, at_once=at_once, pause_s=0.5)


async def _hang(ground: Ground) -> Play:
    """Present unpayable payments to wrappers of its own whose names are not answered for."""
    hosts = [f"n{number}.{HANGS}" for number in range(_NAMES)]
    slugs = [await ground.open_wrapper(host=host) for host in hosts]
    pay_to = ground.stage.scene.payees[1].address
    signed = await ground.sign_bad(ground.missing, amount=CHEAP, pay_to=pay_to)

    def request(number: int) -> HttpRequest:
        path, payment = f"/gateway/{slugs[number % _NAMES]}/x", signed[number % SIGNED].header
        return ground.ask("GET", path, number=number, payment=payment)

    return partial(ground.flood, request, at_once=_NAMES)


async def _hang_checks(ground: Ground) -> Play:
    """Check wrappers of its own whose names are not answered for."""
    for number in range(_NAMES):
        await ground.open_wrapper(host=f"c{number}.{HANGS}")
    return await _check_all(ground)


async def _check(ground: Ground) -> Play:
    """Check wrappers of its own whose upstream is slow."""
    for _ in range(WALLETS):
        await ground.open_wrapper(f"/slow&takes_ms={_SLOW_MS}")
    return await _check_all(ground)


async def _check_all(ground: Ground) -> Play:
    wrappers = await ground.wrapper_ids()

    def request(number: int) -> HttpRequest:
        wrapper, token = wrappers[number % len(wrappers)]
        path = f"{WRAPPERS}/{wrapper}/check"
        return HttpRequest("POST", path, ground.address(number), {}, token)

    return partial(ground.flood, request, at_once=_NAMES)


async def _validate(ground: Ground, host: str) -> Play:
    """Have URLs validated."""

    def request(number: int) -> HttpRequest:
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

    def request(number: int) -> HttpRequest:
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
        payment = signed[number % SIGNED].header
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
        ground.sent += 1
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
    """Have plans previewed whose simulations take their time."""
    stage, keeper = ground.stage, ground.stage.scenery.keepers[-1]
    start = stage.minute()
    body = keeper_body("p", keeper, start=start, end=start + HOUR, runs=2)

    def request(number: int) -> HttpRequest:
        path = "/v1/automations/preview"
        return ground.ask("POST", path, body, number=number, needs_token=True)

    async def preview() -> None:
        with _slow_simulations(stage, keeper, _PREVIEW_S):
            await ground.flood(request, at_once=16)

    return preview


@contextlib.contextmanager
def _slow_simulations(stage: OwnerStage, contract: str, seconds: float) -> Iterator[None]:
    """Let the node take so much longer for simulations that name a contract."""
    slowed = [run_interceptor_of(each).slow for each in stage.replicas]
    key = StrKey.decode_contract(contract)
    for each in slowed:
        each[key] = seconds
    try:
        yield
    finally:
        for each in slowed:
            del each[key]


async def _poll(ground: Ground) -> Play:
    """Have as many plans as an owner or a site may have, whose conditions are polled at once.

    Each check keeps the node busy for a while, and says no.
    """
    stage, keeper = ground.stage, ground.stage.scenery.keepers[-2]
    await land_arrangement(stage, keeper, is_due=False)
    start = stage.minute()
    body = keeper_body("p", keeper, start=start, end=start + HOUR, runs=2)
    body["schedule"] = {"type": "condition", "everySeconds": SHORTEST_POLL_S}
    count = _PLANS_OF_SITE if ground.wallets else LIMITS.open_plans_per_owner
    plans = [await ground.open_plan(body) for _ in range(count)]

    async def poll() -> None:
        with _slow_simulations(stage, keeper, _CHECK_S):
            due = await stage.environment.query(
                "UPDATE automation_runs SET due_at = now()"
                " WHERE proposal_id = ANY ($1) AND due_at > now() RETURNING id",
                plans,
            )
            ground.sent += len(due)
            await asyncio.Event().wait()

    return poll


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
        ground.flood, lambda number: ground.ask("POST", "/mcp", body, number=number), at_once=64
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
    POLLS = "a flood of polls of conditions"
    VALIDATIONS = "a flood of validations"
    SEARCHES = "a flood of searches"
    SLOW_SEARCHES = "searches that take all connections"
    BROWSING = "a flood of pages of the catalog"
    AGENT_SEARCHES = "a flood of searches by MCP"
    AGENT_CALLS = "agents take all unpaid calls"
    AGENT_PAYMENTS = "agents take all paid calls"
    CHALLENGES = "a flood of unpaid requests to the honest wrapper"
    VERIFYING = "a flood of verifications"
    SETTLING = "a flood of settlements"
    CHANNELS = "payments to itself take all channels"
    SIGN_INS = "a flood of challenges to sign in for an honest account"


_PLAYS: Final[Mapping[Attack, Callable[[Ground], Awaitable[Play]]]] = {
    Attack.POOR: lambda ground: _present(ground, ground.poor),
    Attack.MISSING: lambda ground: _present(ground, ground.missing),
    Attack.FORGED: lambda ground: _present(ground, ground.forged),
    Attack.UNDERPAID: lambda ground: _present(ground, ground.rich, amount=CHEAP),
    Attack.FAILING: lambda ground: _sell(
        ground, "status=502", "status=503", "status=504", at_once=12, repeats=_REPEATS
    ),
    Attack.REFUSING: lambda ground: _sell(
        ground,
        *("status=401", "status=301", "status=304", "status=429", "status=407"),
        at_once=12,
        repeats=_REPEATS,
    ),
    Attack.SLOTS: lambda ground: _sell(
        ground, f"takes_ms={_SLOWEST_MS}", at_once=48, wrappers=WALLETS
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
    Attack.POLLS: _poll,
    Attack.VALIDATIONS: lambda ground: _validate(ground, NAME),
    Attack.SEARCHES: lambda ground: _get(ground, "/discovery/search?query=weather"),
    Attack.SLOW_SEARCHES: lambda ground: _get(
        ground, f"/discovery/search?query={SLOWLY}+weather", at_once=96
    ),
    Attack.BROWSING: lambda ground: _get(ground, "/discovery/resources"),
    Attack.AGENT_SEARCHES: _search_as_agent,
    Attack.AGENT_CALLS: lambda ground: _call_as_agent(ground, is_paid=False),
    Attack.AGENT_PAYMENTS: lambda ground: _call_as_agent(ground, is_paid=True),
    Attack.CHALLENGES: lambda ground: _get(ground, f"/gateway/{SLUG}/item", at_once=24),
    Attack.VERIFYING: lambda ground: _settle(ground, "/verify"),
    Attack.SETTLING: lambda ground: _settle(ground, "/settle"),
    Attack.CHANNELS: _fill_channels,
    Attack.SIGN_INS: _sign_in,
}


async def prepare(ground: Ground, attack: Attack) -> Play:
    """Prepare an attack; what is returned attacks until it is cancelled."""
    await ground.begin()
    return await _PLAYS[attack](ground)
