"""A network with the contracts of sessions, a market, an oracle and a keeper, and plans on it.

Plans are made by the product's own rules; owners sign with the public SDK.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from stellar_sdk import Keypair, SorobanServer, TransactionBuilder, scval, xdr
from stellar_sdk.auth import authorize_entry

from farebox.automation.authority.build_spec import build_spec
from farebox.automation.authority.installation import (
    SessionContracts,
    install_session,
    open_mandate,
)
from farebox.automation.authority.plan_calls import ResolvedPlan, plan_calls
from farebox.automation.authority.stored_calls import RunCalls, encode_calls
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.limits import LIMITS
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.call_check import CallValue, check_call
from farebox.automation.plans.plan import (
    ContractCallPlan,
    Plan,
    run_effects,
    transactions_per_run,
)
from farebox.automation.plans.plan_rules import read_plan
from farebox.automation.plans.policy_id import compute_policy_id, mandate_address
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec, write_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import SPECS, PlanKind, Venue
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.automation.schedules.schedule import IntervalSchedule
from farebox.automation.sessions import session_store
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.kernel.addresses import Address
from farebox.local.devnet import Scene
from farebox.stellar.contract_code import find_custom_section
from farebox.stellar.contract_interface import read_interface
from farebox.stellar.invocations import Invocation
from support.automation import PlanDraft, activate, draft_plan
from support.automation_world import NET, AutomationWorld, soon
from support.contracts import wasm_of
from support.ledger import Ledger
from support.payments import Json
from support.session_market import SessionMarket, deploy_alone, session_market
from testing.contracts import return_value
from testing.owner_calls import Sign, sign_recorded
from testing.plan_specs import feed, payments, portfolio, purchase
from testing.smart_accounts import Owner, external_signer

SOLD: Final = 1_000
LIFE: Final = 100_000  # ledgers that approvals and rules live
PRICE: Final = 10**14  # of both tokens
_GUARD: Final = ServiceContract.GUARD
_VERIFIER: Final = ServiceContract.VERIFIER
_INSTALLER: Final = ServiceContract.INSTALLER
_FACTORY: Final = ServiceContract.FACTORY


@dataclass(frozen=True, slots=True)
class SessionDesk:
    """The contracts of one network, and the keys of its payer."""

    world: AutomationWorld
    scene: Scene
    payer: Keypair
    courier: Keypair  # of the account whose transactions carry the calls that others sign
    market: SessionMarket
    keeper: Address

    @classmethod
    async def deploy(cls, world: AutomationWorld) -> "SessionDesk":
        """Deploy the keeper and set both prices, on the market that the tests share."""
        ledger = world.ledger
        market = await session_market(world.devnet, ledger)
        scene = await world.devnet.scene(payers=4, payees=3)
        payer, courier, *setters = (
            Keypair.from_secret(each.secret.reveal()) for each in scene.payers
        )
        demands = (scval.to_bool(True), scval.to_uint64(0))
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(deploy_alone(ledger, courier, "keeper", *demands))
            for setter, token in zip(setters, (scene.asset, scene.native), strict=True):
                group.create_task(set_price(world, setter, market.oracle, token, PRICE))
        return cls(world, scene, payer, courier, market, keeper.result())

    @property
    def contracts(self) -> AutomationContracts:
        """The contracts of the service."""
        return self.market.contracts

    @property
    def pair(self) -> Address:
        """The pool of the market."""
        return self.market.pair

    @property
    def oracle(self) -> Address:
        """The oracle of the prices of tokens."""
        return self.market.oracle

    @property
    def router(self) -> Address:
        """The router of the market."""
        return self.contracts.routers[Venue.SOROSWAP]

    def at(self, contract: ServiceContract) -> Address:
        """Where a contract of the service is."""
        return self.contracts.contracts[contract]

    async def give(self, token: str, to: str, amount: int) -> None:
        """Transfer from the payer."""
        await self.world.ledger.give(self.payer, token, to, amount)

    async def set_price(self, token: str, price: int, *, age_s: int = 0) -> None:
        """Set the oracle's price of a token as of now, or earlier."""
        await set_price(self.world, self.courier, self.oracle, token, price, age_s=age_s)

    async def balance(self, token: str, holder: str) -> int:
        """Read a balance."""
        return await self.world.ledger.balance(token, holder)

    # payloads, as callers send them

    def dca(self, **changes: object) -> Json:
        """Sell a thousand of the asset for coin, at half of it at least."""
        return purchase(self.scene.asset, self.scene.native, SOLD) | changes

    def feed(self, **changes: object) -> Json:
        """Feed the keeper with some of the asset."""
        return feed(self.keeper, self.scene.asset, SOLD) | changes

    def disbursement(self, **changes: object) -> Json:
        """Pay two accounts."""
        payees = [each.address for each in self.scene.payees[:2]]
        return payments(self.scene.asset, zip(payees, (100, 101), strict=True)) | changes

    def rebalance(self, **changes: object) -> Json:
        """Keep half in the asset, of which the payer has more."""
        return portfolio((self.scene.asset, self.scene.native), self.oracle, SOLD) | changes

    # plans

    def draft(
        self,
        kind: PlanKind,
        body: Json,
        mode: AuthorityMode,
        *,
        account: str | None = None,
        runs: int = 3,
        due: int = 1,
        now: datetime | None = None,
    ) -> PlanDraft:
        """A plan before it has a row, of which `due` runs are due now."""
        now = now or soon()
        owner = Address(account or self.payer.public_key)
        start = now - timedelta(seconds=60 * (due - 1))
        draft = draft_plan(now=start, account=owner)
        window = PlanWindow(start - timedelta(seconds=10), start + timedelta(days=1))
        plan = read_plan(_payload(kind, body), owner, LIMITS)
        planned = plan_calls(plan, self._resolve(plan), mode)
        spec = build_spec(
            plan,
            planned,
            account=owner,
            mode=mode,
            delegate=draft.terms.delegate,
            window=window,
            interval_s=1,
            runs=runs,
        )
        raw, legs = write_spec(spec), transactions_per_run(plan)
        effects = tuple(run_effects(plan, leg) for leg in range(legs))
        changed = draft.but(
            kind=kind,
            mode=mode,
            calls=encode_calls(RunCalls(planned, effects)),
            session_spec=raw,
            policy_id=compute_policy_id(NET, raw),
            schedule=IntervalSchedule(every_seconds=60, start_at=start),
            window=window,
            rule=LatenessRule(MissedRuns.CATCH_UP_ALL, timedelta(seconds=45)),
            legs=legs,
            run_limit=runs,
            auth_limit=runs * legs,
        )
        return replace(changed, runs=runs, payload=body)

    def _resolve(self, plan: Plan) -> ResolvedPlan:
        values: tuple[CallValue, ...] = ()
        if isinstance(plan, ContractCallPlan) and plan.function is not None:
            section = find_custom_section(wasm_of("keeper"), "contractspecv0")
            assert section is not None
            values = check_call(read_interface(section), plan.function, plan.arguments)
        pairs = (self.scene.asset, self.scene.native)
        pools = {pairs: self.pair, pairs[::-1]: self.pair}
        return ResolvedPlan(values=values, router=self.router, pools=pools)

    async def with_mandate(self, draft: PlanDraft) -> StoredPlan:
        """An active plan whose mandate its owner, the payer, has opened."""
        raw, terms = draft.terms.session_spec, draft.terms
        assert raw is not None
        factory = self.at(ServiceContract.FACTORY)
        mandate = mandate_address(NET, factory, terms.policy_id)
        until = await self.world.ledger.latest() + LIFE
        tree = open_mandate(read_spec(raw), factory, mandate, live_until=until)
        await self.land_signed(tree, by_key(self.payer))
        plan = await activate(self.world.database, draft, now=soon())
        await self.installed(plan, mandate=mandate, until=until)
        return plan

    async def smart_account(self, generation: str) -> Owner:
        """A smart account with some of the asset, and its owner's key."""
        key, ledger = Keypair.random(), self.world.ledger
        verifier = self.at(ServiceContract.VERIFIER)
        signers = scval.to_vec([external_signer(verifier, key)])
        code = wasm_of(f"smart_account_{generation}")
        address = await ledger.deploy(self.courier, code, signers)
        await self.give(self.scene.asset, address, 10 * SOLD)
        return Owner(address, key, generation, verifier)

    async def with_session(self, draft: PlanDraft, account: Owner) -> StoredPlan:
        """An active plan whose session its owner has installed with one signature."""
        raw, terms = draft.terms.session_spec, draft.terms
        assert raw is not None
        until = await self.world.ledger.latest() + LIFE
        contracts = SessionContracts(
            *(self.at(each) for each in (_GUARD, _VERIFIER, _INSTALLER, _FACTORY))
        )
        tree = install_session(read_spec(raw), terms.policy_id, contracts, valid_until=until)
        ids = await self.land_signed(tree, account.sign_entry)
        plan = await activate(self.world.database, draft, now=soon())
        rules = tuple(scval.from_uint32(each) for each in scval.from_vec(ids))
        await self.installed(plan, until=until, rule_ids=rules)
        return plan

    async def installed(
        self,
        plan: StoredPlan,
        *,
        until: int,
        mandate: Address | None = None,
        rule_ids: tuple[int, ...] = (),
    ) -> None:
        """Record the session of a plan as installed."""
        is_session = plan.terms.mode is AuthorityMode.SESSION
        installed = Installed(
            ledger=await self.world.ledger.latest(),
            valid_until=plan.terms.window.not_after,
            valid_until_ledger=until,
            rule_ids=rule_ids,
            guard_id=self.at(ServiceContract.GUARD) if is_session else None,
            verifier_id=self.at(ServiceContract.VERIFIER) if is_session else None,
            mandate_id=mandate,
        )
        async with self.world.database.connection() as db:
            await session_store.record_read_back(db, plan.terms, installed)

    async def land_signed(self, tree: Invocation, sign: Sign) -> xdr.SCVal:
        """Land a call whose owner signs what a recording asks for; what it returns."""
        return await asyncio.to_thread(self._land_signed, tree, sign)

    def _land_signed(self, tree: Invocation, sign: Sign) -> xdr.SCVal:
        server, keys = SorobanServer(self.world.devnet.rpc_url), self.courier
        operation = sign_recorded(server, NET, keys.public_key, tree, sign)
        envelope = TransactionBuilder(
            server.load_account(keys.public_key), NET.passphrase, base_fee=1_000_000
        )
        envelope.append_operation(operation).set_timeout(300)
        prepared = server.prepare_transaction(envelope.build())
        prepared.sign(keys)
        found = self.world.ledger._deliver(prepared)
        return return_value(found)


async def set_price(
    world: AutomationWorld, key: Keypair, oracle: str, token: str, price: int, *, age_s: int = 0
) -> None:
    """Set the oracle's price of a token as of now, or earlier, by a transaction of `key`."""
    asset = scval.to_vec([scval.to_symbol("Stellar"), scval.to_address(token)])
    at = int(world.ledgers.now().close_at.timestamp()) - age_s
    values = (asset, scval.to_int128(price), scval.to_uint64(at))
    own = Ledger(NET, world.ledger.rpc_url)  # others are called at the same time
    await own.invoke(key, oracle, "set", *values)


def by_key(key: Keypair) -> Sign:
    """How a classic account signs."""
    return lambda entry, until: authorize_entry(entry, key, until, NET.passphrase)


def _payload(kind: PlanKind, body: Json) -> Any:
    return msgspec.convert(body, SPECS[kind])
