"""The plans of a case, one factory for each authority mode."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from stellar_sdk import Address as SdkAddress
from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.auth import authorize_entry

from e2e.automation_plans import EVERY, RUN, DraftedPlan, draft_plan, keeper_calls, start_plan
from farebox.app.vault_services import AutomationSealers, automation_sealers
from farebox.automation.authority.planned_calls import PlannedCalls, row_transfer
from farebox.automation.authority.presigned_store import PresignedEntry
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.run_authority import entry_record
from farebox.automation.plans.effects import Effects, TokenAmount
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.sealed_columns import ENTRY_PURPOSE
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from prove.automation_world import AutomationWorld
from prove.environment import Environment
from prove.world import NETWORK

RUNS: Final = 2  # of a plan, both due when it starts
AMOUNT: Final = 1_000  # of a transfer, in base units
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

    def target_of(self, mode: AuthorityMode, number: int) -> Address:
        """The contract that the plan of this mode and number calls."""
        if mode is AuthorityMode.OPEN:
            return self.world.scenery.keepers[number]
        return self.environment.world.prepared.scene.asset


PlanFactory = Callable[[Author, int], Awaitable[ProvenPlan]]


async def open_plan(author: Author, number: int) -> ProvenPlan:
    """Start a plan that runs a keeper of its own."""
    keeper = author.target_of(AuthorityMode.OPEN, number)
    drafted = _draft(author, AuthorityMode.OPEN, keeper_calls(keeper), None)
    await _start(author, drafted, ())
    return ProvenPlan(drafted.terms.id, AuthorityMode.OPEN, keeper, RUN, None, {})


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
    await _start(author, drafted, entries)
    return ProvenPlan(terms.id, mode, asset, "transfer", payer.address, nonces)


FACTORIES: Final[Mapping[AuthorityMode, PlanFactory]] = MappingProxyType(
    {AuthorityMode.OPEN: open_plan, AuthorityMode.PRESIGNED: presigned_plan}
)


def _draft(
    author: Author, mode: AuthorityMode, calls: RunCalls, account: Address | None
) -> DraftedPlan:
    """Draft a plan whose runs are all due."""
    start_at = datetime.now(UTC) - EVERY * (RUNS - 1)
    return draft_plan(author.sealers, mode, calls, start_at=start_at, runs=RUNS, account=account)


async def _start(author: Author, drafted: DraftedPlan, entries: Sequence[PresignedEntry]) -> None:
    environment = author.environment
    async with environment.query_lock, environment.db.transaction():
        await start_plan(environment.db, drafted, entries)


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
