"""The tenant matrix: another's record gets the same response as an unknown id.

It is made from the route table of the application. A guarded route that is new fails
`test_tenant_matrix_covers_every_guarded_route` until it has an example here.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import randrange
from typing import Any, Final
from uuid import uuid4

import pytest
from stellar_sdk import Keypair

from farebox.app.asgi import Application, create_app
from farebox.app.configuration import read_settings
from farebox.automation.runs import run_store
from farebox.automation.schedules.missed_runs import RunSlot
from farebox.ingress import usage_store
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient, started
from support.automation import draft_plan, put_plan
from support.callers import (
    OPERATOR,
    OPERATOR_KEY,
    OPERATOR_SETTING,
    Wallet,
    bearer,
    create_key,
    send_request,
    sign_in_wallet,
)
from support.serving import exchange, serving
from support.tenants import (
    RowWatch,
    find_leaks,
    find_marks,
    guarded,
    malformed,
    record_prefix,
    rows_about,
    tenant_routes,
    uncovered_routes,
)
from support.vault import VAULT_SETTING, create_secret, random_value
from support.wallet_sign_in import SERVER
from support.wrappers import wrapper_fields, wrappers_of

Made = Callable[[AsgiClient, Database, Mapping[str, str]], Awaitable[dict[str, Any]]]
WRAPPERS: Final = "/v1/wrappers"
PAYMENTS: Final = "/v1/payments"
KEYS: Final = "/v1/api-keys"
SECRETS: Final = "/v1/vault/secrets"
PLANS: Final = "/v1/automations"
CREDITS: Final = "/v1/automations/credits"


async def make_key(
    client: AsgiClient, database: Database, headers: Mapping[str, str]
) -> dict[str, Any]:
    return await create_key(client, headers)


async def make_secret(
    client: AsgiClient, database: Database, headers: Mapping[str, str]
) -> dict[str, Any]:
    return await create_secret(client, headers)


async def make_wrapper(
    client: AsgiClient, database: Database, headers: Mapping[str, str]
) -> dict[str, Any]:
    """A wrapper, created without checks of the network: no network is served here."""
    owner = (await send_request(client, "GET", "/v1/auth/me", headers)).json()["user"]["id"]
    caller = Caller(OwnerId(owner), CallerKind.SESSION)
    fields = wrapper_fields(name=new_id("n")[:20], description=new_id("words"))
    created = await wrappers_of(database).create(caller, new_id("req"), fields)
    return {"id": created.id, "name": created.settings.name}


async def make_plan(
    client: AsgiClient, database: Database, headers: Mapping[str, str]
) -> dict[str, Any]:
    """A plan that is not paid, inserted: no network is served here."""
    owner = (await send_request(client, "GET", "/v1/auth/me", headers)).json()["user"]["id"]
    now = datetime.now(UTC)
    async with database.transaction() as db:
        plan = await put_plan(db, draft_plan(now=now, owner=OwnerId(owner)), now=now)
        await run_store.add_runs(db, plan.terms, [(0, RunSlot(now, now))])
    return {"id": plan.terms.id}


# how a record of each kind comes to be
MADE: Final[Mapping[str, Made]] = {
    "auto": make_plan,
    "key": make_key,
    "sec": make_secret,
    "wrp": make_wrapper,
}
# sent to a path besides the example of its declaration
BODIES: Final[Mapping[str, Sequence[object]]] = {
    f"{KEYS}/{{id}}/rotate": (None, {"overlapSeconds": -1}),
    f"{SECRETS}/{{id}}/rotate": (None, {"value": ""}),
}
READS: Final = (KEYS, SECRETS, WRAPPERS, PLANS, CREDITS, "/v1/audit", "/v1/usage", "/v1/auth/me")
WRITES: Final = (KEYS, SECRETS, WRAPPERS, PLANS, "/v1/auth/logout")
# they answer about payments; whose a payment or an Idempotency-Key is has tests of its own
WITHOUT_RECORDS: Final = ("/verify", "/settle", f"{PAYMENTS}/{{transaction}}/refund")
NAMED: Final = {
    *(("GET", path) for path in READS),
    *(("POST", path) for path in (*WRITES, *WITHOUT_RECORDS)),
    ("GET", PAYMENTS),
    ("POST", "/mcp"),
    ("GET", f"{PAYMENTS}/{{transaction}}"),
    ("GET", f"{WRAPPERS}/slug"),
    ("GET", f"{PLANS}/limits"),
    ("POST", f"{PLANS}/preview"),
}
SETTINGS: Final = {
    "FAREBOX_SEARCH_SEMANTIC": "off",
    "FAREBOX_AUTH_SIGNING_SECRET": SERVER.secret,
    "FAREBOX_RATE_PER_ADDRESS": "0",
    "FAREBOX_RATE_PER_KEY": "0",
    "FAREBOX_CHANGES_PER_MINUTE": "0",
    **OPERATOR_SETTING,
    **VAULT_SETTING,
}


@dataclass(frozen=True)
class Tenant:
    """Somebody with records of every kind."""

    owner: OwnerId
    address: str | None
    headers: Mapping[str, str]
    keys: Sequence[Mapping[str, Any]]
    secrets: Sequence[Mapping[str, Any]]
    wrappers: Sequence[Mapping[str, Any]]
    plans: Sequence[Mapping[str, Any]]
    shown: Mapping[str, str]  # by path: what the tenant itself is shown there
    marks: frozenset[str]  # shown to no other caller

    def records(self, kind: str) -> list[str]:
        """Their ids."""
        of_kind = {
            "auto": self.plans,
            "key": self.keys,
            "sec": self.secrets,
            "wrp": self.wrappers,
        }
        return [str(each["id"]) for each in of_kind[kind]]


@pytest.fixture(scope="module")
async def app(postgres_url: Secret[str]) -> AsyncIterator[Application]:
    environment = {"FAREBOX_DATABASE_URL": postgres_url.reveal(), **SETTINGS}
    running = create_app(read_settings(environment, needs_network=False))
    async with started(running):
        yield running


@pytest.fixture
async def client(app: Application, database: Database) -> AsgiClient:
    return AsgiClient(app)


@pytest.fixture
async def ours(client: AsgiClient, database: Database) -> Wallet:
    return await sign_in_wallet(database)


@pytest.fixture
async def theirs(client: AsgiClient, database: Database) -> Tenant:
    wallet = await sign_in_wallet(database)
    return await settled_in(client, database, wallet.caller, wallet.headers)


@pytest.fixture
async def operator(client: AsgiClient, database: Database) -> Tenant:
    caller = Caller(OPERATOR, CallerKind.OPERATOR)
    return await settled_in(client, database, caller, bearer(OPERATOR_KEY))


async def settled_in(
    client: AsgiClient, database: Database, caller: Caller, headers: Mapping[str, str]
) -> Tenant:
    """The caller has two keys, two secrets, a trail of having made them, and has used something."""
    keys = [await create_key(client, headers) for _ in range(2)]
    secrets = [await create_secret(client, headers) for _ in range(2)]
    wrappers = [await make_wrapper(client, database, headers) for _ in range(2)]
    plans = [await make_plan(client, database, headers) for _ in range(2)]
    granted = randrange(10**8, 10**9)
    amount = randrange(10**9, 10**10)
    total = (
        caller.owner,
        datetime.now(UTC).date(),
        Network.TESTNET.value,
        "verify_accepted",
        amount,
    )
    async with database.transaction() as db:
        await usage_store.write_totals(db, [total], counted_by=uuid4())
        await db.execute(
            "INSERT INTO run_credits (owner, network, kind, runs, asset, amount)"
            " VALUES ($1, $2, 'grant', 0, 'C', $3)",
            *(caller.owner, Network.TESTNET.value, granted),
        )
    deeds = (await send_request(client, "GET", "/v1/audit", headers)).json()["items"]
    return Tenant(
        caller.owner,
        caller.address,
        headers,
        keys,
        secrets,
        wrappers,
        plans,
        shown={
            PLANS: plans[0]["id"],
            KEYS: keys[0]["id"],
            SECRETS: secrets[0]["id"],
            WRAPPERS: wrappers[0]["id"],
            CREDITS: str(granted),
            "/v1/audit": deeds[0]["id"],
            "/v1/usage": str(amount),
            "/v1/auth/me": caller.owner,
        },
        marks=frozenset(
            [caller.owner, str(amount), str(granted)]
            + [each for each in (caller.address, caller.session_id) if each]
            + [str(each[name]) for each in keys for name in ("id", "name", "prefix", "key")]
            + [str(each[name]) for each in (*secrets, *wrappers) for name in ("id", "name")]
            + [str(each["id"]) for each in plans]
            + [str(each[name]) for each in deeds for name in ("id", "requestId")]
        ),
    )


async def askers(
    client: AsgiClient, database: Database, ours: Wallet, theirs: Tenant
) -> dict[str, Mapping[str, str]]:
    """Everybody whose the records are not, by what they show."""
    every = await create_key(client, ours.headers, scopes=[grant.value for grant in Grant])
    reading = await create_key(client, ours.headers, scopes=["read"])
    elsewhere = await sign_in_wallet(database, address=theirs.address, network=Network.PUBNET)
    return {
        "a session": ours.headers,
        "a session in a browser": ours.browser_headers,
        "a key for everything": bearer(every["key"]),
        "a key for reading": bearer(reading["key"]),
        "their account on another network": elsewhere.headers,
        "a session that never was": bearer(f"fbx_sess_{'0' * 32}"),
        "no credential": {},
    }


def test_tenant_matrix_covers_every_guarded_route() -> None:
    networks = {
        f"FAREBOX_{name}_{network.label.upper()}": value
        for network in Network
        for name, value in (
            ("RPC_URL", "http://127.0.0.1:9"),
            ("RELAYER_SECRET", Keypair.random().secret),
        )
    }
    url = {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing"}
    endpoints = create_app(read_settings({**SETTINGS, **url, **networks})).endpoints
    routes = [each.route for each in endpoints]
    named = {*READS, *WRITES, *WITHOUT_RECORDS}
    assert {route.path for route in guarded(routes)} >= named
    assert {record_prefix(route) for route in guarded(routes)} == {*MADE, ""}
    assert uncovered_routes(routes, MADE, NAMED) == []


async def test_foreign_record_is_answered_like_unknown_record(
    app: Application,
    client: AsgiClient,
    database: Database,
    ours: Wallet,
    theirs: Tenant,
    operator: Tenant,
) -> None:
    owners = (ours.owner, theirs.owner, operator.owner)
    marks = theirs.marks | operator.marks
    all_askers = await askers(client, database, ours, theirs)
    places = tenant_routes([each.route for each in app.endpoints], BODIES)
    assert {door.kind for door in places} == MADE.keys()
    watch = RowWatch(database, owners, await rows_about(database, owners))
    leaks = partial(find_leaks, client, changes=watch.changes)
    flaws: list[str] = []
    for door in places:
        tenants = theirs.records(door.kind)
        foreign = tenants + operator.records(door.kind)
        for who, headers in all_askers.items():
            found = await leaks(door, headers, foreign, marks=marks)
            flaws += [f"{who}: {each}" for each in found]
        found = await leaks(door, operator.headers, tenants, marks=theirs.marks)
        flaws += [f"the operator: {each}" for each in found]
    assert flaws == []
    await create_key(client, theirs.headers)
    assert await watch.changes() != frozenset(), "a change of an owner's rows is found"


async def test_owner_reaches_record_at_every_route(
    app: Application, client: AsgiClient, database: Database, theirs: Tenant, operator: Tenant
) -> None:
    """Without this, a matrix that asks wrongly would find nothing wrong."""
    for door in tenant_routes([each.route for each in app.endpoints], BODIES):
        for method in door.methods:
            for owner in (theirs, operator):
                made = await MADE[door.kind](client, database, owner.headers)
                path = door.at(made["id"])
                answer = await send_request(client, method, path, owner.headers, door.bodies[0])
                # no network is served here, so that no wrapper can be enabled, and no plan judged;
                # the plan is not paid, and does not run
                refused = (
                    *(b"invalid_wrapper", b"unsupported_network"),
                    *(b"illegal_transition", b"automation_unavailable"),
                )
                is_checked = any(code in answer.body for code in refused)
                assert answer.status in (200, 201, 204) or is_checked, (method, path, answer.body)


async def test_lists_hold_no_record_of_another_tenant(
    client: AsgiClient, database: Database, ours: Wallet, theirs: Tenant, operator: Tenant
) -> None:
    all_askers = await askers(client, database, ours, theirs)
    both = (theirs, operator)
    for path in READS:
        queries = ["", "?limit=100", *(f"?owner={each.owner}&user={each.owner}" for each in both)]
        for owner in both:
            answer = await send_request(client, "GET", path, owner.headers)
            assert owner.shown[path] in answer.body.decode(), path
            other = theirs if owner is operator else operator
            assert find_marks(answer, other.marks) == []
            first = await send_request(client, "GET", f"{path}?limit=1", owner.headers)
            cursor = first.json().get("pagination", {}).get("nextCursor")
            queries += [f"?limit=100&cursor={cursor}"] if cursor else []
        assert len(queries) == (6 if path in (KEYS, SECRETS, WRAPPERS, PLANS, "/v1/audit") else 4)
        for who, headers in all_askers.items():
            own = {theirs.address} if "another network" in who else set()
            for query in queries:
                answer = await send_request(client, "GET", path + query, headers)
                found = find_marks(answer, (theirs.marks | operator.marks) - own)
                assert found == [], f"{who}: {path}{query}"


async def test_changes_affect_no_record_of_another_tenant(
    client: AsgiClient, database: Database, ours: Wallet, theirs: Tenant
) -> None:
    elsewhere = (await askers(client, database, ours, theirs))["their account on another network"]
    for headers in (ours.headers, elsewhere, bearer(OPERATOR_KEY)):
        before = await rows_about(database, [theirs.owner])
        for path, taken, rest in (
            (KEYS, theirs.keys[0]["name"], {}),
            (SECRETS, theirs.secrets[0]["name"], {"value": random_value().reveal()}),
        ):
            answer = await send_request(client, "POST", path, headers, {"name": taken, **rest})
            assert answer.status == 201, "a name that another has is free"
            assert find_marks(answer, theirs.marks - {taken}) == []
        answer = await send_request(
            client, "POST", "/v1/auth/logout", headers, {"everywhere": True}
        )
        assert find_marks(answer, theirs.marks) == []
        assert await rows_about(database, [theirs.owner]) == before
    assert (await send_request(client, "GET", "/v1/auth/me", theirs.headers)).status == 200


async def test_encoded_ids_are_answered_like_unknown_ids(
    postgres_url: Secret[str], ours: Wallet, theirs: Tenant
) -> None:
    shown = "".join(f"{name}: {value}\r\n" for name, value in ours.headers.items())
    behind = f" HTTP/1.1\r\nHost: farebox.test\r\n{shown}Connection: close\r\n\r\n".encode()
    environment = {"FAREBOX_DATABASE_URL": postgres_url.reveal(), **SETTINGS}
    app = create_app(read_settings(environment, needs_network=False))
    known = theirs.records("sec")[0]
    async with serving(app) as address:
        for each in (known, new_id("sec"), *malformed(known)):
            answer = await exchange(address, f"DELETE {SECRETS}/{each}".encode() + behind)
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")), (each, head)
            assert (b"There is nothing at this path." in body) == (b" 404 " in head), (each, body)
            assert [mark for mark in theirs.marks if mark.encode() in answer] == []
