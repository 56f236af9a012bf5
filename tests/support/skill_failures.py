"""A request for each error of each action: the service answers it with the error's code."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stellar_sdk import Keypair

from farebox.kernel.addresses import contract_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.x402.headers import encode_header
from support import node_proxy
from support.agent import REMOTE_URL
from support.callers import bearer, create_key, send_request
from support.listing_rows import SELLER
from support.paid_gateway import WRAPPERS
from support.payments import Draft
from support.skill_calls import Json
from support.skill_performances import (
    RESOURCE,
    both,
    challenged,
    created,
    own_terms,
    prepared,
)
from support.skill_stage import SkillStage
from support.stage import key_of
from support.upstream import answers, drops
from support.wallet_payments import HashSigner, text_of
from support.wallet_sign_in import add_signatures, new_session
from testing.listing_row import insert_resource
from testing.waiting import until

NOWHERE: Final = "0" * 64
NO_WRAPPER: Final = {"id": "wrp_" + "0" * 22}
FUTURENET: Final = "stellar:futurenet"
MUXED: Final = "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK"
PRIVATE: Final = "https://private.example.com/"
OUT: Final = ("getLatestLedger", "simulateTransaction", "getNetwork", "getVersionInfo", "getHealth")


@dataclass(frozen=True, slots=True)
class Failing:
    """A request that fails: the input or the body, and the headers of its credential."""

    value: Json | bytes
    headers: Mapping[str, str]


Failure = Callable[[SkillStage], Awaitable[Failing]]


def sending(value: Json | bytes, **headers: str) -> Failure:
    """A request that needs nothing of the stage."""

    async def make(stage: SkillStage) -> Failing:
        del stage
        return Failing(value, headers)

    return make


def without(status: str, value: Json) -> Failure:
    """A request about a resource that answers with this status."""

    async def make(stage: SkillStage) -> Failing:
        stage.shop.upstream.answer = answers(b"{}", status=status)
        return Failing(value, {})

    return make


async def foreign_cursor(stage: SkillStage) -> Failing:
    """A cursor of another query."""
    for index in range(2):
        await stage.serve(name=f"Quixotic tide tables {index}")
    value = {"query": "quixotic tide tables", "limit": 1}
    page = await stage.perform("x402-discover", "search", value)
    return Failing({"query": "weather", "limit": 1, "cursor": page["pagination"]["cursor"]}, {})


async def silent_resource(stage: SkillStage) -> Failing:
    """A resource that ends each connection."""
    stage.shop.upstream.answer = drops()
    return Failing({"url": RESOURCE}, {})


async def undescribed_resource(stage: SkillStage) -> Failing:
    """A resource whose 402 has terms and no description."""
    offer = await stage.shop.offer(await stage.serve())
    bare = {"x402Version": 2, "resource": {"url": RESOURCE}, "accepts": offer["accepts"]}
    header = f"PAYMENT-REQUIRED: {encode_header(bare)}"
    stage.shop.upstream.answer = answers(b"{}", status="402 Pay", headers=(header,))
    return Failing({"url": RESOURCE}, {})


def calling_silence(**more: str) -> Failure:
    """A listed resource that ends each connection."""

    async def make(stage: SkillStage) -> Failing:
        url = Secret(stage.shop.stage.environment["FAREBOX_DATABASE_URL"])
        async with Database(url, connections=1) as database, database.connection() as db:
            await insert_resource(db, REMOTE_URL, pay_to=SELLER)
        stage.shop.upstream.answer = drops()
        return Failing({"url": REMOTE_URL, **more}, {})

    return make


def preparing(payer: str | None = None, **terms: Any) -> Failure:
    """A preparation with another payer, or with members of its terms changed."""

    async def make(stage: SkillStage) -> Failing:
        requirements = own_terms(stage) | terms
        return Failing({"requirements": requirements, "payer": payer or stage.payer.address}, {})

    return make


def completing(slug: str, key: Keypair | None = None, amount: str = "", **members: str) -> Failure:
    """A completion by another key, for another amount, or with other members."""

    async def make(stage: SkillStage) -> Failing:
        terms = own_terms(stage)
        unsigned = await prepared(stage, slug, terms)
        signature = text_of(HashSigner(key or key_of(stage.payer)).sign(unsigned))
        changed = terms | ({"amount": amount} if amount else {})
        value = {"entry": unsigned["entry"], "signature": signature, "requirements": changed}
        return Failing(value | members, {})

    return make


Change = Callable[[SkillStage, Draft], Json]


def paying(change: Change, **fields: Any) -> Failure:
    """A payment with fields of its draft changed, in the request that `change` makes."""

    async def make(stage: SkillStage) -> Failing:
        return Failing(change(stage, await stage.draft(**fields)), {})

    return make


def with_terms(**terms: Any) -> Failure:
    """A payment for other terms than it was signed for."""
    return paying(lambda _, draft: both(draft.request(**terms)))


def unread(stage: SkillStage, draft: Draft) -> Json:
    """A payload of another form."""
    return {"paymentPayload": {"x402Version": 2}, "paymentRequirements": draft.terms()}


def other_accepted(stage: SkillStage, draft: Draft) -> Json:
    """Terms that the buyer has not accepted."""
    return both(draft.request()) | {"paymentRequirements": draft.terms(amount="2")}


def other_recipient(stage: SkillStage, draft: Draft) -> Json:
    """Terms of another recipient than the signed one."""
    payees = stage.shop.stage.networks[stage.network].scene.payees
    return both(draft.request(payTo=payees[1].address))


def signed_elsewhere(stage: SkillStage, draft: Draft) -> Json:
    """A signature for the other network."""
    (other,) = [each for each in Network if each is not stage.network]
    return both(draft.request(draft.envelope(draft.entry(network=other))))


async def expired(stage: SkillStage) -> Failing:
    """An authorization that was good until the ledger that the service has seen close."""
    latest = await stage.shop.stage.ledger(stage.network).latest()
    draft = await stage.draft(expires_at_ledger=latest)
    await stage.shop.stage.until_seen(latest, stage.network)
    return Failing(both(draft.request()), {})


async def without_node(stage: SkillStage) -> Failing:
    """A payment while the network's node does not answer."""
    draft = await stage.draft()
    for method in OUT:
        stage.shop.stage.node(stage.network).on(method, node_proxy.http(503))
    return Failing(both(draft.request()), {})


async def settled_before(stage: SkillStage) -> Failing:
    """A payment that another request has settled."""
    draft = await stage.draft()
    await stage.shop.stage.assert_settles(draft.request())
    return Failing(both(draft.request(maxTimeoutSeconds=901)), {})


async def odd_idempotency_key(stage: SkillStage) -> Failing:
    """A key with a space in it."""
    return Failing({**both((await stage.draft()).request()), "idempotencyKey": "a b"}, {})


async def reused_idempotency_key(stage: SkillStage) -> Failing:
    """A key that the same payment used with another body."""
    draft = await stage.draft()
    first = {**both(draft.request()), "idempotencyKey": "order-7"}
    await stage.caller.perform("x402-facilitate", "settle", first)
    return Failing({**first, **both(draft.request(maxTimeoutSeconds=901))}, {})


def selling(value: Json) -> Failure:
    """A request of the seller."""

    async def make(stage: SkillStage) -> Failing:
        return Failing(value, stage.shop.seller.headers)

    return make


def weakly(value: Json) -> Failure:
    """A request with a key of the seller that may only read."""

    async def make(stage: SkillStage) -> Failing:
        seller = stage.shop.seller.headers
        key = await create_key(stage.shop.client, seller, scopes=["read"])
        return Failing(value, bearer(key["key"]))

    return make


def creating(**members: Any) -> Failure:
    """A wrapper with members changed."""

    async def make(stage: SkillStage) -> Failing:
        value = stage.shop.body(network=stage.network) | members
        return Failing(value, stage.shop.seller.headers)

    return make


def changing(**members: Any) -> Failure:
    """A change of a wrapper."""

    async def make(stage: SkillStage) -> Failing:
        return Failing({"id": await created(stage), **members}, stage.shop.seller.headers)

    return make


async def enabling_a_private_upstream(stage: SkillStage) -> Failing:
    """A wrapper whose upstream was stored before it was refused."""
    wrapper = {"id": await created(stage)}
    await stage.shop.set_upstream(wrapper, PRIVATE)
    return Failing(wrapper, stage.shop.seller.headers)


async def taken_slug(stage: SkillStage) -> Failing:
    """The slug of another owner's wrapper."""
    slug = f"taken-{stage.network.label}"
    value = stage.shop.body(network=stage.network) | {"slug": slug}
    token = await new_session(stage.shop.client, network=stage.network)
    await send_request(stage.shop.client, "POST", WRAPPERS, bearer(token), value)
    return Failing(value, stage.shop.seller.headers)


def signing_in(**members: str) -> Failure:
    """A challenge for an account, with members changed."""

    async def make(stage: SkillStage) -> Failing:
        value = {"network": stage.network.value, "address": Keypair.random().public_key}
        return Failing(value | members, {})

    return make


async def operators_account(stage: SkillStage) -> Failing:
    """The relayer as a wallet."""
    secret = stage.shop.stage.environment["FAREBOX_RELAYER_SECRET_TESTNET"]
    address = Keypair.from_secret(secret).public_key
    return Failing({"network": stage.network.value, "address": address}, {})


async def contract_without_web_auth(stage: SkillStage) -> Failing:
    """A contract account on the network without a web-auth contract."""
    value = {"network": Network.PUBNET.value, "address": contract_address(bytes(32))}
    return Failing(value, {})


async def signed_challenge(stage: SkillStage, key: Keypair, signer: Keypair) -> Json:
    """The input of verify: a challenge of `key` that `signer` has signed."""
    made = await challenged(stage, key.public_key)
    document = add_signatures(made["transactionXdr"], stage.network, signer)
    return {"network": stage.network.value, "transactionXdr": document}


async def used_challenge(stage: SkillStage) -> Failing:
    """A challenge that has given a session."""
    key = Keypair.random()
    value = await signed_challenge(stage, key, key)
    await stage.perform("wallet-auth", "verify", value)
    return Failing(value, {})


async def foreign_signature(stage: SkillStage) -> Failing:
    """A challenge that another key has signed."""
    return Failing(await signed_challenge(stage, Keypair.random(), Keypair.random()), {})


def on_network(**members: Any) -> Failure:
    """A read on the network."""

    async def make(stage: SkillStage) -> Failing:
        return Failing({"network": stage.network.value} | members, {})

    return make


async def unknown_account(stage: SkillStage) -> Failing:
    """An account that nobody has created."""
    value = {"network": stage.network.value, "address": Keypair.random().public_key}
    return Failing(value, {})


async def network_without_node(stage: SkillStage) -> Failing:
    """The networks while the node of one does not answer."""
    for method in OUT:
        stage.shop.stage.node(stage.network).on(method, node_proxy.http(503))

    async def is_known() -> bool:
        shown = (await stage.shop.client.get("/v1/networks")).json()["networks"]
        return any(each.get("reason") == "rpc_unavailable" for each in shown)

    await until(is_known)
    return Failing({}, {})
