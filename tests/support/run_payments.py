"""Quotes of plans and payments for their runs, as rows."""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from farebox.automation.credits import credit_payment, run_payment_store
from farebox.automation.credits.end_payment import RunPaymentEnds
from farebox.automation.credits.quotes import RunQuotes
from farebox.automation.credits.reconcile_payments import RunPaymentReconciler
from farebox.automation.credits.run_payment import RunPayment, RunSale, make_sale
from farebox.automation.plans.quote import FreshFees, PriceList, QuotedFees
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.automation import PlanDraft, draft_plan, lock, put_plan, read_plan
from support.journal_rows import ASSET, Paid, insert_settlement, party
from support.manual_clock import START

REVENUE: Final = party(8_000)
PRICES: Final = PriceList(ASSET, BaseUnits(1_000), BaseUnits(500), units_per_xlm=2_500_000)
SALES: Final = {Network.TESTNET: make_sale(PRICES, REVENUE)}
FEE: Final = Stroops(100_000)
FEES: Final = QuotedFees(FEE)
PER_RUN: Final = 75_000  # base units, by that fee
UNKNOWN: Final = FreshFees(None)


def quotes(database: Database, sales: Mapping[Network, RunSale] = SALES) -> RunQuotes:
    """Quotes at the prices of the tests."""
    return RunQuotes(database, sales)


async def propose(database: Database, draft: PlanDraft | None = None) -> StoredPlan:
    """Insert a plan that is not paid, and its first quote for all of its runs."""
    draft = draft or draft_plan()
    async with database.transaction() as db:
        plan = await put_plan(db, draft)
        runs = plan.terms.run_limit
        await quotes(database).issue(db, plan.terms, runs=runs, fees=FEES, now=START)
    return plan


async def quote_of(
    database: Database,
    plan: StoredPlan,
    *,
    runs: int | None = None,
    is_top_up: bool = False,
    now: datetime = START,
    sales: Mapping[Network, RunSale] = SALES,
    fresh: FreshFees = UNKNOWN,
) -> RunPayment:
    """The current quote of a plan, for all of its runs or for so many."""
    runs = plan.terms.run_limit if runs is None else runs
    async with database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        own = quotes(database, sales)
        made = await own.offer(db, locked, runs=runs, now=now, is_top_up=is_top_up, fresh=fresh)
        assert made is not None
        return made


async def present(
    database: Database,
    quote: RunPayment,
    *,
    identity: PaymentIdentity | None = None,
    digest: bytes | None = None,
    at: datetime = START,
) -> RunPayment:
    """Reserve a quote for a payment, as the call does that settles it."""
    new = PaymentIdentity(quote.network, party(77), secrets.randbits(62))
    async with database.transaction() as db:
        held = await credit_payment.reserve_payment(
            db, quote, identity or new, digest or secrets.token_bytes(32), at=at
        )
    assert held is not None
    return held


async def land(
    database: Database,
    quote: RunPayment,
    state: str = "confirmed",
    at: datetime = START,
    **columns: Any,
) -> RunPayment:
    """Reserve a quote for a payment that has a settlement in this state; nobody has credited it."""
    identity = await insert_settlement(
        database, Paid(text=None, pay_to=REVENUE, amount=quote.quote.total, state=state)
    )
    digest = secrets.token_bytes(32)
    held = await present(database, quote, identity=identity, digest=digest, at=at)
    await write_settlement(database, held, request_digest=digest, **columns)
    return held


async def write_settlement(database: Database, held: RunPayment, **columns: Any) -> None:
    """Change columns of the settlement's row."""
    assert held.identity is not None
    async with database.connection() as db:
        for name, value in columns.items():
            await db.execute(
                f"UPDATE settlements SET {name} = $2 WHERE nonce = $1", held.identity.nonce, value
            )


async def abandon(database: Database, *, age: str = "1 minute") -> None:
    """Let the calls of all pending payments have died so long ago."""
    async with database.connection() as db:
        await db.execute(
            """
            UPDATE automation_payments SET held_until = now() - interval '1 second',
                updated_at = now() - $1::text::interval, reserved_at = now() - $1::text::interval
            WHERE state = 'pending'
            """,
            age,
        )


async def reconcile(database: Database, clock: Clock) -> None:
    """One pass of the loop."""
    await RunPaymentReconciler(database, RunPaymentEnds(database, clock), clock).reconcile()


async def pay(database: Database, plan: StoredPlan, runs: int | None = None) -> StoredPlan:
    """Pay for a plan's runs, as a settlement that landed does."""
    held = await land(database, await quote_of(database, plan, runs=runs))
    async with database.transaction() as db:
        await credit_payment.credit_payment(db, held, hash_of(held), at=START)
    return await read_plan(database, plan)


def hash_of(held: RunPayment) -> str:
    """The hash of the payment's settlement, as `insert_settlement` makes it."""
    assert held.identity is not None
    return held.identity.nonce.to_bytes(32, "big").hex()


async def read_payment(database: Database, payment: RunPayment) -> RunPayment:
    """The payment as its row is now."""
    async with database.connection() as db:
        return await run_payment_store.find_payment(db, payment.id)


async def ledger(database: Database, plan: StoredPlan) -> list[tuple[str, int]]:
    """The rows of the owner's credit in base units, in their order."""
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT kind, amount FROM run_credits WHERE owner = $1 ORDER BY id", plan.terms.owner
        )
    return [(row["kind"], int(row["amount"])) for row in rows]


async def balance(database: Database, plan: StoredPlan) -> int:
    """What the owner has paid and no plan holds, in base units."""
    return sum(amount for _, amount in await ledger(database, plan))
