"""Plans whose runs the owner signed in advance: transfers of a scene's asset."""

from dataclasses import dataclass, replace
from datetime import timedelta

from stellar_sdk import Keypair

from farebox.automation.authority import presigned_store
from farebox.automation.authority.planned_calls import PlannedCalls, row_transfer
from farebox.automation.authority.presigned_store import PresignedEntry
from farebox.automation.authority.stored_calls import RunCalls, encode_calls
from farebox.automation.execution.run_authority import entry_record
from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import OnLegError
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.automation.sealed_columns import ENTRY_PURPOSE
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party, Scene
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from support.automation import activate, draft_plan
from support.automation_world import NET, SEALERS, AutomationWorld, soon
from support.payments import fresh_nonce
from testing.contract_calls import invocation, transfer
from testing.entries import signed_entry

AMOUNT = 1_000
LIFE_LEDGERS = 500


@dataclass(frozen=True, slots=True)
class Leg:
    """One transfer of a plan, and the entry that its owner signs for it."""

    to: str
    amount: int = AMOUNT
    signed_amount: int | None = None  # another one than the plan's


def calls_of(asset: Address, legs: list[Leg], *, most: int | None = None) -> RunCalls:
    """The calls of a disbursement; `most` is another declared debit than the amounts."""
    rows = [(address_of(Address(leg.to)), ScNumber(ScKind.I128, leg.amount)) for leg in legs]
    call = row_transfer(asset, rows, AuthorityMode.PRESIGNED)
    effects = tuple(
        Effects((TokenAmount(asset, BaseUnits(leg.amount if most is None else most)),))
        for leg in legs
    )
    return RunCalls(PlannedCalls((call,)), effects)


async def presigned_plan(
    world: AutomationWorld,
    scene: Scene,
    payer: Party,
    legs: list[Leg],
    *,
    runs: int = 1,
    most: int | None = None,
    on_leg_error: OnLegError = OnLegError.STOP,
) -> StoredPlan:
    """An active plan of `payer` with a signed entry for every leg of every run."""
    now = soon()
    draft = draft_plan(now=now, account=payer.address).but(
        mode=AuthorityMode.PRESIGNED,
        calls=encode_calls(calls_of(scene.asset, legs, most=most)),
        rule=LatenessRule(MissedRuns.CATCH_UP_ALL, timedelta(seconds=30)),
        legs=len(legs),
        on_leg_error=on_leg_error,
    )
    plan = await activate(world.database, replace(draft, runs=runs), now=now)
    entries = [
        await _sign(world, plan, scene.asset, payer, (run, number), leg)
        for run in range(runs)
        for number, leg in enumerate(legs)
    ]
    async with world.database.connection() as db:
        await presigned_store.add_entries(db, plan.terms.id, entries)
    return plan


async def _sign(
    world: AutomationWorld,
    plan: StoredPlan,
    asset: str,
    payer: Party,
    place: tuple[int, int],
    leg: Leg,
) -> PresignedEntry:
    nonce = fresh_nonce()
    expires_at_ledger = await world.ledger.latest() + LIFE_LEDGERS
    amount = leg.amount if leg.signed_amount is None else leg.signed_amount
    entry = signed_entry(
        invocation(transfer(asset, payer.address, leg.to, amount)),
        payer.address,
        [Keypair.from_secret(payer.secret.reveal())],
        NET.passphrase,
        nonce=nonce,
        expires_at_ledger=expires_at_ledger,
    )
    sealed = SEALERS.entries.seal(
        Secret(entry.to_xdr_bytes()),
        owner=plan.terms.owner,
        purpose=ENTRY_PURPOSE,
        record=entry_record(plan.terms.id, *place),
    )
    return PresignedEntry(*place, nonce, expires_at_ledger, Secret(sealed))
