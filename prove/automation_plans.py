"""The plans of a case, one factory for each authority mode, and how often their targets ran."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from stellar_sdk import Account, Keypair, SorobanServer, TransactionBuilder, scval, xdr
from stellar_sdk import Address as SdkAddress
from stellar_sdk.auth import authorize_entry

from farebox.app.vault_services import AutomationSealers, automation_sealers
from farebox.automation.authority.planned_calls import PlannedCalls, row_transfer
from farebox.automation.authority.presigned_store import PresignedEntry
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.run_authority import entry_record
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.sealed_columns import ENTRY_PURPOSE
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from prove.automation_sessions import FEED, RUNS
from prove.automation_world import AutomationWorld
from prove.environment import Environment
from prove.run_envelopes import MANDATE_RUN
from prove.world import NETWORK
from testing.automation_plans import EVERY, RUN, DraftedPlan, draft_plan, keeper_calls, start_plan
from testing.machine import RunFailed

_COUNT = "count"  # of the keeper's state


@dataclass(frozen=True, slots=True)
class Tally:
    """What counts the runs: a keeper's own count, or what `holder` has of a token.

    `unit` is what one run adds, `before` what was there before the first one.
    """

    contract: Address
    holder: Address | None = None
    unit: int = 1
    before: int = 0


async def count_runs(environment: Environment, tally: Tally) -> int:
    """Read from the ledger how often the target ran since `before`.

    Raises:
        RunFailed: the contract does not answer.
    """
    now = await read_tally(environment, tally)
    return (now - tally.before) // tally.unit


async def read_tally(environment: Environment, tally: Tally) -> int:
    """Read the number as it is now.

    Raises:
        RunFailed: the contract does not answer.
    """
    return await asyncio.to_thread(_read, environment.devnet.rpc_url, tally)


def _read(rpc_url: str, tally: Tally) -> int:
    if tally.holder is None:
        state = scval.from_struct(_call(rpc_url, tally.contract, "state"))
        return scval.from_uint32(state[_COUNT])
    holder = scval.to_address(tally.holder)
    return scval.from_int128(_call(rpc_url, tally.contract, "balance", holder))


def _call(rpc_url: str, contract: Address, function: str, *arguments: xdr.SCVal) -> xdr.SCVal:
    source = Account(Keypair.random().public_key, 0)
    builder = TransactionBuilder(source, NETWORK.passphrase)
    builder.append_invoke_contract_function_op(contract, function, arguments)
    with SorobanServer(rpc_url) as server:
        found = server.simulate_transaction(builder.set_timeout(300).build())
    if not found.results:
        raise RunFailed(f"{function} of {contract} fails: {found.error}")
    return xdr.SCVal.from_xdr(found.results[0].xdr)


AMOUNT: Final = 1_000  # of a transfer, in base units
_LIFE_LEDGERS: Final = 50_000  # of a signed entry: the network's clock jumps in some cases


@dataclass(frozen=True, slots=True)
class ProvenPlan:
    """A plan of a case.

    `target` is the contract whose calls are counted, `tally` counts them on the ledger. `account`
    has the authorizations of the runs: the owner's, or the mandate. `nonces` are those that are
    known before a run, by run index.
    """

    id: str
    mode: AuthorityMode
    target: Address
    function: str
    account: Address | None
    nonces: Mapping[int, int]
    tally: Tally
    is_paid: bool


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes the plans of one environment."""

    world: AutomationWorld
    environment: Environment

    @property
    def sealers(self) -> AutomationSealers:
        """The sealers of the service."""
        return automation_sealers(self.world.scenery.master_keys)

    def target_of(self, mode: AuthorityMode, number: int) -> Address:
        """The contract that the plan of this mode and number calls."""
        match mode:
            case AuthorityMode.OPEN | AuthorityMode.SESSION:
                return self.world.scenery.keepers[number]
            case AuthorityMode.MANDATE:
                return self.mandate
            case AuthorityMode.PRESIGNED:
                return self.asset

    @property
    def asset(self) -> Address:
        """The token of the network."""
        return self.environment.world.prepared.scene.asset

    @property
    def mandate(self) -> Address:
        """The mandate that is open on the network."""
        return Address(str(self.world.scenery.installed[AuthorityMode.MANDATE].session.mandate_id))

    async def start(
        self,
        drafted: DraftedPlan,
        entries: Sequence[PresignedEntry] = (),
        *,
        session: Installed | None = None,
        is_paid: bool = True,
    ) -> None:
        """Write the plan, pay for it unless it is free, and activate it."""
        environment, asset = self.environment, self.asset if is_paid else None
        async with environment.query_lock, environment.db.transaction():
            await start_plan(environment.db, drafted, entries, session=session, run_asset=asset)


PlanFactory = Callable[[Author, int], Awaitable[ProvenPlan]]


async def open_plan(author: Author, number: int) -> ProvenPlan:
    """Start a plan that runs a keeper of its own and costs nothing."""
    return await _open_plan(author, number, is_paid=False)


async def paid_open_plan(author: Author, number: int) -> ProvenPlan:
    """Start a plan that runs a keeper of its own."""
    return await _open_plan(author, number, is_paid=True)


async def _open_plan(author: Author, number: int, *, is_paid: bool) -> ProvenPlan:
    keeper = author.target_of(AuthorityMode.OPEN, number)
    drafted = _draft(author, AuthorityMode.OPEN, keeper_calls(keeper), None)
    await author.start(drafted, is_paid=is_paid)
    mode, id_ = AuthorityMode.OPEN, drafted.terms.id
    return ProvenPlan(id_, mode, keeper, RUN, None, {}, Tally(keeper), is_paid)


async def session_plan(author: Author, number: int) -> ProvenPlan:
    """Start the plan that feeds a keeper by the session of a smart account."""
    drafted = await _start_installed(author, AuthorityMode.SESSION)
    keeper, account = author.target_of(AuthorityMode.SESSION, number), drafted.terms.account
    mode, id_ = AuthorityMode.SESSION, drafted.terms.id
    return ProvenPlan(id_, mode, keeper, FEED, account, {}, Tally(keeper), is_paid=True)


async def mandate_plan(author: Author, number: int) -> ProvenPlan:
    """Start the plan that feeds a keeper by a mandate, whose run indexes are used once each."""
    drafted = await _start_installed(author, AuthorityMode.MANDATE)
    mode, mandate = AuthorityMode.MANDATE, author.mandate
    keeper = author.world.scenery.keepers[number]
    return ProvenPlan(
        drafted.terms.id,
        mode,
        mandate,
        MANDATE_RUN,
        mandate,
        {index: index for index in range(RUNS)},
        Tally(keeper),
        is_paid=True,
    )


async def _start_installed(author: Author, mode: AuthorityMode) -> DraftedPlan:
    installed = author.world.scenery.installed[mode]
    drafted = installed.due_now()
    await author.start(drafted, session=installed.session)
    return drafted


async def presigned_plan(author: Author, number: int) -> ProvenPlan:
    """Start a plan of transfers, each of which its owner has signed."""
    mode, prepared = AuthorityMode.PRESIGNED, author.environment.world.prepared
    scene = prepared.scene
    payer, payee, asset = scene.payers[number], scene.payees[0].address, scene.asset
    row = (address_of(payee), ScNumber(ScKind.I128, AMOUNT))
    effects = (Effects((TokenAmount(asset, BaseUnits(AMOUNT)),)),)
    calls = RunCalls(PlannedCalls((row_transfer(asset, [row], mode),)), effects)
    drafted = _draft(author, mode, calls, payer.address)
    terms, expires_at = drafted.terms, prepared.latest + _LIFE_LEDGERS
    entries, nonces = [], {}
    for index in range(RUNS):
        nonces[index] = secrets.randbits(63)
        entry = _sign_transfer(asset, payer, payee, nonces[index], expires_at)
        record = entry_record(terms.id, index, 0)
        stored = author.sealers.entries.seal(
            Secret(entry.to_xdr_bytes()), owner=terms.owner, purpose=ENTRY_PURPOSE, record=record
        )
        entries.append(PresignedEntry(index, 0, nonces[index], expires_at, Secret(stored)))
    tally = Tally(asset, payee, AMOUNT)
    tally = replace(tally, before=await read_tally(author.environment, tally))
    await author.start(drafted, entries)
    return ProvenPlan(terms.id, mode, asset, "transfer", payer.address, nonces, tally, is_paid=True)


FACTORIES: Final[Mapping[AuthorityMode, PlanFactory]] = MappingProxyType(
    {
        AuthorityMode.OPEN: paid_open_plan,
        AuthorityMode.PRESIGNED: presigned_plan,
        AuthorityMode.SESSION: session_plan,
        AuthorityMode.MANDATE: mandate_plan,
    }
)


def _draft(
    author: Author, mode: AuthorityMode, calls: RunCalls, account: Address | None
) -> DraftedPlan:
    """Draft a plan whose runs are all due."""
    start_at = datetime.now(UTC) - EVERY * (RUNS - 1)
    return draft_plan(author.sealers, mode, calls, start_at=start_at, runs=RUNS, account=account)


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
