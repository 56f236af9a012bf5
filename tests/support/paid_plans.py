"""The whole service with a paymaster, a price for runs, and an owner who proposes plans."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from farebox.automation.authority.stored_calls import encode_calls
from farebox.automation.paymaster import channel_store
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.facilitator.channels.channel import channel_signer
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Scene
from farebox.stellar.signers import SigningAccount, parse_secret_seed
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.automation import PlanDraft, draft_plan, open_calls, put_plan, read_plan
from support.callers import Wallet, send_request, sign_in_wallet
from support.payment_headers import payment_header, required
from support.payments import Draft, encoded
from support.plan_stage import own_paymaster, some_keeper, until_paid_for
from support.stage import Stage, own_relayer, service, until_ready
from support.vault import VAULT_SETTING

ORIGIN: Final = "https://plans.example.com"
NET: Final = Network.TESTNET
PRICE: Final = 1_000  # of a run
WRITTEN: Final = (
    "run_credits",
    "automation_payments",
    "automation_events",
    "automation_runs",
    "automation_proposals",
    "automation_owners",
)
Json = dict[str, Any]


@dataclass(slots=True)
class PaidPlans:
    """A service that sells runs, and the owner of the plans."""

    stage: Stage
    database: Database
    owner: Wallet
    keeper: str

    @property
    def client(self) -> AsgiClient:
        """The service."""
        return self.stage.client

    @property
    def scene(self) -> Scene:
        """The accounts of the network."""
        return self.stage.networks[NET].scene

    async def propose(self, draft: PlanDraft | None = None, **terms: Any) -> StoredPlan:
        """Insert a plan of the owner that is not paid."""
        now = datetime.now(UTC)
        draft = draft or draft_plan(now=now, owner=self.owner.owner)
        calls = encode_calls(open_calls(Address(self.keeper)))  # what would fail is not for sale
        terms = {"calls": calls, "account": self.scene.payees[1].address} | terms
        async with self.database.transaction() as db:
            return await put_plan(db, draft.but(**terms), now=now)

    async def read(self, plan: StoredPlan) -> StoredPlan:
        """The plan as its row is now."""
        return await read_plan(self.database, plan)

    async def send(
        self,
        plan: StoredPlan,
        signature: str | None = None,
        *,
        route: str = "payment",
        body: Json | None = None,
        wallet: Wallet | None = None,
    ) -> Answer:
        """Ask for the price of a plan's runs, or pay them."""
        headers = dict((wallet or self.owner).headers)
        if signature is not None:
            headers["payment-signature"] = signature
        return await send_request(self.client, "POST", path_of(plan, route), headers, body)

    async def offer(self, plan: StoredPlan, **request: Any) -> Json:
        """Ask for the price; the PaymentRequired object."""
        answer = await self.send(plan, **request)
        assert answer.status == 402, (answer.status, answer.body)
        assert answer.json() == required(answer)
        return answer.json()

    async def sign(self, offer: Json, **changes: Any) -> str:
        """Sign a payment for an offer, by an account that is not the owner's."""
        return signature(offer, await self.draft(offer, **changes))

    async def draft(self, offer: Json, **changes: Any) -> Draft:
        """The payment that an offer asks for."""
        (terms,) = offer["accepts"]
        own = {
            "asset": terms["asset"],
            "pay_to": terms["payTo"],
            "amount": int(terms["amount"]),
            "timeout_s": terms["maxTimeoutSeconds"],
        }
        return await self.stage.draft(NET, **(own | changes))

    async def buy(self, plan: StoredPlan, **request: Any) -> Answer:
        """Pay for the runs of a plan."""
        return await self.send(plan, await self.sign(await self.offer(plan, **request)), **request)

    async def revenue(self) -> int:
        """What the revenue account holds."""
        return await self.stage.ledger().balance(self.scene.asset, self.scene.payees[0].address)

    async def credits(self) -> list[Json]:
        """The owner's credits, as the service shows them."""
        path = "/v1/automations/credits"
        answer = await send_request(self.client, "GET", path, self.owner.headers)
        assert answer.status == 200, answer.body
        items: list[Json] = answer.json()["items"]
        return items

    async def payments(self, plan: StoredPlan) -> list[Json]:
        """The rows of a plan's payments, oldest first."""
        rows = await self.stage.query(
            "SELECT * FROM automation_payments WHERE proposal_id = $1 ORDER BY quote_revision",
            plan.terms.id,
        )
        return [dict(row) for row in rows]

    async def pass_time(self, *, holds_only: bool = False) -> None:
        """Let the holds of dead calls run out, and unless `holds_only`, the quotes.

        A call holds its payment, and the claim of the payment's settlement.
        """
        await self.stage.query(
            "UPDATE settlements SET claimed_at = claimed_at - interval '1m', next_look_at = NULL"
            " WHERE state IN ('sending', 'submitted')"
        )
        await self.stage.query(
            "UPDATE automation_payments SET held_until = now(), updated_at = now() - interval '1m'"
            " WHERE state = 'pending'"
        )
        if not holds_only:
            await self.stage.query(
                "UPDATE automation_payments SET valid_until = now() - interval '1s'"
            )

    @asynccontextmanager
    async def without_channels(self) -> AsyncIterator[None]:
        """Let the paymaster have no channel; afterwards it has one, and runs are for sale again."""
        await self.stage.query("DELETE FROM automation_channels")
        try:
            yield
        finally:
            secret = self.stage.environment["FAREBOX_PAYMASTER_SECRET_TESTNET"]
            await add_channel(self.stage, self.database, secret)
            await self.until_available()

    async def until_available(self) -> None:
        """Wait until the service and its nodes are ready, and its paymaster pays."""
        await until_ready(self.client)
        await until_paid_for(self.client)


def path_of(plan: StoredPlan, route: str) -> str:
    """The path of a plan's route."""
    return f"/v1/automations/{plan.terms.id}/{route}"


def signature(offer: Json, draft: Draft, **members: Any) -> str:
    """The value of `PAYMENT-SIGNATURE`, as a client writes it that echoes the extensions."""
    echoed = {"resource": offer["resource"], "extensions": offer["extensions"]}
    return payment_header(offer["accepts"][0], encoded(draft.envelope()), **(echoed | members))


@asynccontextmanager
async def paid_plans(stage: Stage, **settings: str) -> AsyncIterator[PaidPlans]:
    """Start a service with a funded paymaster and its channels; what it wrote is removed."""
    url = stage.environment["FAREBOX_DATABASE_URL"]
    environment = await plan_environment(stage) | settings
    async with Database(Secret(url), connections=4) as database:
        await add_channel(stage, database, environment["FAREBOX_PAYMASTER_SECRET_TESTNET"])
        owner = await sign_in_wallet(database)
        try:
            async with service(environment) as client:
                own = Stage(client, stage.networks, environment)
                opened = PaidPlans(own, database, owner, await some_keeper(stage))
                await opened.until_available()
                yield opened
        finally:
            await stage.delete_rows(*WRITTEN, "automation_channels")


async def plan_environment(stage: Stage) -> dict[str, str]:
    """The settings of a service that sells runs on testnet."""
    scene = stage.networks[NET].scene
    return (
        stage.environment
        | await own_relayer(stage)
        | await own_paymaster(stage)
        | VAULT_SETTING
        | {
            "FAREBOX_PUBLIC_URL": ORIGIN,
            "FAREBOX_ALLOWED_HOSTS": "farebox.test",
            "FAREBOX_REVENUE_ACCOUNT_TESTNET": scene.payees[0].address,
            "FAREBOX_RUN_ASSET_TESTNET": scene.asset,
            "FAREBOX_RUN_PRICE_TESTNET": str(PRICE),
        }
    )


async def add_channel(stage: Stage, database: Database, secret: str) -> str:
    """Create and record a channel account of a paymaster; its address."""
    key = parse_secret_seed(secret)
    assert key is not None
    account = SigningAccount(account_address(bytes(key.reveal().verify_key)), key)
    address = channel_signer(account, NET, 0).address
    await stage.ledger().fund(address)
    async with database.connection() as db:
        await channel_store.add_channels(db, NET, [(address, 0)], at=datetime.now(UTC))
    return address
