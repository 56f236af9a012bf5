"""The plans of a case, one factory for each authority mode, written as the service writes them."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from stellar_sdk import Address as SdkAddress
from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.auth import authorize_entry

from farebox.app.vault_services import AutomationSealers, automation_sealers
from farebox.automation.authority import presigned_store
from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.authority.planned_calls import (
    ACTOR,
    PlannedCall,
    PlannedCalls,
    row_transfer,
)
from farebox.automation.authority.presigned_store import PresignedEntry
from farebox.automation.authority.stored_calls import RunCalls, encode_calls
from farebox.automation.execution.run_authority import entry_record
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans import proposal_store
from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalTrigger
from farebox.automation.plans.proposal_store import NewProposal
from farebox.automation.plans.session_spec import AuthorityMode, SessionCall
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.schedules.missed_runs import LatenessRule, MissedRuns
from farebox.automation.schedules.schedule import IntervalSchedule
from farebox.automation.sealed_columns import ENTRY_PURPOSE
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from prove.automation_world import AutomationWorld
from prove.environment import Environment
from prove.world import NETWORK

RUNS: Final = 2  # of a plan, both due when it starts
AMOUNT: Final = 1_000  # of a transfer, in base units
_EVERY_S: Final = 60
_LATENESS: Final = timedelta(seconds=30)
_HORIZON: Final = timedelta(days=1)
_MAX_FEE: Final = Stroops(5_000_000)
_LIFE_LEDGERS: Final = 50_000  # of a signed entry: the network's clock jumps in some cases


@dataclass(frozen=True, slots=True)
class ProvenPlan:
    """A plan of a case; `target` is the contract whose calls are counted, `nonces` by run index."""

    id: str
    mode: AuthorityMode
    target: Address
    function: str
    account: Address | None
    nonces: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes the plans of one environment."""

    world: AutomationWorld
    environment: Environment

    @property
    def sealers(self) -> AutomationSealers:
        """The sealers of the service."""
        return automation_sealers(self.world.scenery.master_keys)


PlanFactory = Callable[[Author, int], Awaitable[ProvenPlan]]


async def open_plan(author: Author, number: int) -> ProvenPlan:
    """Start a plan that runs a keeper of its own."""
    keeper = author.world.scenery.keepers[number]
    call = PlannedCall(SessionCall(keeper, "autolayer_run", ()), (ACTOR,))
    terms, sealed = _terms(author, AuthorityMode.OPEN, RunCalls(PlannedCalls((call,))), None)
    await _start(author, terms, sealed, ())
    return ProvenPlan(terms.id, AuthorityMode.OPEN, keeper, "autolayer_run", None, {})


async def presigned_plan(author: Author, number: int) -> ProvenPlan:
    """Start a plan of transfers, each of which its owner has signed."""
    scene = author.environment.world.prepared.scene
    payer, payee, asset = scene.payers[number], scene.payees[0].address, scene.asset
    row = (address_of(payee), ScNumber(ScKind.I128, AMOUNT))
    call = row_transfer(asset, [row], AuthorityMode.PRESIGNED)
    effects = (Effects((TokenAmount(asset, BaseUnits(AMOUNT)),)),)
    calls = RunCalls(PlannedCalls((call,)), effects)
    terms, sealed = _terms(author, AuthorityMode.PRESIGNED, calls, payer.address)
    expires_at = author.environment.world.prepared.latest + _LIFE_LEDGERS
    entries, nonces = [], {}
    for index in range(RUNS):
        nonces[index] = secrets.randbits(63)
        entry = _sign_transfer(asset, payer, payee, nonces[index], expires_at)
        record = entry_record(terms.id, index, 0)
        stored = author.sealers.entries.seal(
            Secret(entry.to_xdr_bytes()), owner=terms.owner, purpose=ENTRY_PURPOSE, record=record
        )
        entries.append(PresignedEntry(index, 0, nonces[index], expires_at, Secret(stored)))
    await _start(author, terms, sealed, entries)
    return ProvenPlan(terms.id, AuthorityMode.PRESIGNED, asset, "transfer", payer.address, nonces)


FACTORIES: Final[Mapping[AuthorityMode, PlanFactory]] = MappingProxyType(
    {AuthorityMode.OPEN: open_plan, AuthorityMode.PRESIGNED: presigned_plan}
)


def _terms(
    author: Author, mode: AuthorityMode, calls: RunCalls, account: Address | None
) -> tuple[PlanTerms, bytes]:
    """The terms of a plan with two runs that are due, and its delegate's sealed key."""
    proposal_id, owner = new_id("auto"), OwnerId(new_id("user"))
    public, sealed = DelegateKeys(author.sealers.delegates).make(owner, proposal_id)
    now = _now()
    start = now - timedelta(seconds=_EVERY_S * (RUNS - 1) + 1)
    terms = PlanTerms(
        id=proposal_id,
        owner=owner,
        network=NETWORK,
        account=account,
        kind=PlanKind.CONTRACT_CALL,
        mode=mode,
        policy_id=PolicyId(secrets.token_bytes(32)),
        delegate=public,
        calls=encode_calls(calls),
        schedule=IntervalSchedule(every_seconds=_EVERY_S, start_at=start),
        window=PlanWindow(start - timedelta(seconds=1), now + _HORIZON),
        rule=LatenessRule(MissedRuns.CATCH_UP_ALL, _LATENESS),
        max_fee=_MAX_FEE,
        run_limit=RUNS,
        auth_limit=RUNS,
    )
    return terms, sealed


def _now() -> datetime:
    return datetime.now().astimezone()


async def _start(
    author: Author, terms: PlanTerms, sealed_key: bytes, entries: Sequence[PresignedEntry]
) -> None:
    """Write a plan, waive its price and activate it in one transaction: then its run is due."""
    now = _now()
    new = NewProposal(
        title="a plan of a proof",
        account_kind="g",
        spec="{}",
        intent_hash=secrets.token_bytes(32),
        delegate_key=sealed_key,
        overdue_at=now + _HORIZON,
    )
    environment = author.environment
    async with environment.query_lock, environment.db.transaction():
        db = environment.db
        await proposal_store.add_proposal(db, terms, new)
        plan = await proposal_store.lock_plan(db, terms.id)
        if plan is None:
            raise LookupError(terms.id)
        waived = ProposalTrigger.WAIVE_PAYMENT
        free, paid = ProposalFacts(price_is_zero=True), ProposalFacts(runs_left=RUNS)
        plan = await move_plan(db, plan, waived, free, now=now, credited=RUNS)
        await presigned_store.add_entries(db, terms.id, entries)
        await move_plan(db, plan, ProposalTrigger.ACTIVATE, paid, now=now)


def _sign_transfer(
    asset: Address, payer: Party, payee: Address, nonce: int, expires_at: int
) -> xdr.SorobanAuthorizationEntry:
    """Sign one transfer with the public SDK."""
    arguments = [scval.to_address(payer.address), scval.to_address(payee), scval.to_int128(AMOUNT)]
    contract = SdkAddress(asset).to_xdr_sc_address()
    call = xdr.InvokeContractArgs(contract, xdr.SCSymbol(b"transfer"), arguments)
    root = xdr.SorobanAuthorizedInvocation(
        xdr.SorobanAuthorizedFunction(
            xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN,
            contract_fn=call,
        ),
        [],
    )
    who = SdkAddress(payer.address).to_xdr_sc_address()
    owned = xdr.SorobanAddressCredentials(
        who, xdr.Int64(nonce), xdr.Uint32(expires_at), scval.to_void()
    )
    kind = xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS
    entry = xdr.SorobanAuthorizationEntry(xdr.SorobanCredentials(kind, address=owned), root)
    key = Keypair.from_secret(payer.secret.reveal())
    return authorize_entry(entry, key, expires_at, NETWORK.passphrase)
