"""Installs the session of a plan, or finds it installed, and reads it back (3.15)."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from farebox.automation.authority.ledger_bounds import INSTALL_LEDGERS
from farebox.automation.execution.sponsor_obstacle import LIMITED, SponsorObstacle, wait_for
from farebox.automation.execution.sponsorship import (
    SponsoredLanded,
    SponsoredPending,
    SponsoredRefused,
    SponsoredUnavailable,
    Sponsorship,
)
from farebox.automation.lifecycle.installations import (
    Installed,
    InstallPending,
    InstallRequest,
    InstallTransaction,
    OpenedMandate,
    SignedInstallation,
    check_end,
)
from farebox.automation.paymaster.sponsored_store import SponsoredPurpose
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.refusal import (
    AutomationRefused,
    AutomationUnavailable,
    NetworkUnavailable,
)
from farebox.automation.sessions import session_store
from farebox.automation.sessions.install_tree import InstallTrees
from farebox.automation.sessions.read_back import SessionReadBack
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal, TooManyRequests
from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import (
    PAYING_KINDS,
    AuthEntry,
    KeySignatures,
    every_signature_verifies,
)
from farebox.stellar.ledger_clock import ClockStale, Ledgers
from farebox.stellar.rpc import LedgerStatus, RpcUnavailable, TransactionFound
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.transactions import AuthorizedCall
from farebox.storage.pool import Database

_VISIBLE_WITHIN_S: Final = 5.0  # the nodes behind one address may differ for a while
_POLL_S: Final = 0.5
_FUTURE: Final = INSTALL_LEDGERS + 24  # ledgers: a signature that lives longer is not ours


class SessionInstallations:
    """Installs sessions and mandates of one network; see `Installations`."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        node: SorobanRpc,
        ledgers: Ledgers,
        trees: InstallTrees,
        read_back: SessionReadBack,
        sponsorship: Sponsorship,
    ) -> None:
        self._database, self._clock, self._node, self._ledgers = database, clock, node, ledgers
        self._trees, self._read_back, self._sponsorship = trees, read_back, sponsorship

    async def activate(
        self, plan: StoredPlan, request: InstallRequest
    ) -> Installed | InstallPending:
        """See `Installations`; what was read back is recorded, so that runs can be tried."""
        try:
            found = await self._activate(plan.terms, request)
        except (RpcUnavailable, ClockStale):
            raise NetworkUnavailable from None
        if isinstance(found, Installed):
            async with self._database.transaction() as db:
                await session_store.record_read_back(db, plan.terms, found)
        return found

    async def is_installed(self, plan: StoredPlan) -> bool:
        """See `Installations`."""
        try:
            return await self._read_back.read(plan.terms) is not None
        except AutomationRefused as refused:
            if refused.code is ErrorCode.SESSION_MISMATCH:
                return False
            raise
        except RpcUnavailable:
            raise NetworkUnavailable from None

    async def _activate(
        self, terms: PlanTerms, request: InstallRequest
    ) -> Installed | InstallPending:
        match request:
            case SignedInstallation():
                return await self._submit(terms, request)
            case InstallTransaction(tx_hash):
                return await self._follow(terms, tx_hash)
            case OpenedMandate(mandate_id):
                is_it = terms.mode is AuthorityMode.MANDATE
                if not is_it or mandate_id != self._trees.mandate(terms):
                    raise _mismatch("The plan's mandate has another address.")
                return await self._require(terms)

    async def _submit(
        self, terms: PlanTerms, request: SignedInstallation
    ) -> Installed | InstallPending:
        entry, until = self._check_entry(terms, request)
        there = await self._read_back.read(terms)
        if there is not None:
            return there
        check_end(terms, self._ledgers.now(), self._clock.now(), ledger=until)
        call = AuthorizedCall(entry.root_call, (entry,))
        sent = await self._sponsorship.send(terms, SponsoredPurpose.INSTALL, call)
        match sent:
            case SponsoredLanded(tx_hash=tx_hash):
                return await self._require(terms, tx_hash)
            case SponsoredPending(None):
                why = "An installation of the plan is being sent: ask again in some seconds."
                raise AutomationRefused(ErrorCode.ILLEGAL_TRANSITION, why)
            case SponsoredPending(tx_hash):
                return InstallPending(tx_hash or b"")
            case SponsoredRefused(code):
                raise _refused(code)
            case SponsoredUnavailable(obstacle):
                raise self._not_sent(obstacle)

    def _not_sent(self, obstacle: SponsorObstacle) -> Refusal:
        wait_s = math.ceil(wait_for(obstacle, self._clock.now()).total_seconds())
        if obstacle is SponsorObstacle.NOT_PREPAID:
            why = (
                "The installation costs more than the plan was charged for it: your wallet can send"
                " this one, or cancel the plan and propose it anew."
            )
            return AutomationRefused(ErrorCode.FEE_CEILING, why)
        if obstacle in LIMITED:
            why = "No more installations are sent for you today: your wallet can send this one."
            return TooManyRequests(why, retry_after_s=wait_s)
        why = f"The installation was not sent: {obstacle}. Send the same request again later."
        return AutomationUnavailable(why, retry_after_s=wait_s)

    def _check_entry(self, terms: PlanTerms, request: SignedInstallation) -> tuple[AuthEntry, int]:
        """The one entry, which the plan's account has signed for exactly the issued tree.

        Returned with the last ledger of what it installs.
        """
        if len(request.entries) != 1 or terms.session_spec is None:
            raise _mismatch("One entry is signed: that of the installation.")
        (entry,) = request.entries
        if entry.kind not in PAYING_KINDS or entry.address != terms.account:
            raise _mismatch("The entry is not of the plan's account.")
        spec, now = read_spec(terms.session_spec), self._ledgers.now().sequence
        until = self._trees.read_until(terms, spec, entry)
        if until is None:
            raise _mismatch("The entry authorizes other calls than those that were issued.")
        if not now < entry.expires_at_ledger <= now + _FUTURE:
            raise _mismatch("The signature has expired, or expires too late: ask for new material.")
        is_keyed = isinstance(entry.signature, KeySignatures)
        if is_keyed and not every_signature_verifies(entry, terms.network.id):
            raise _mismatch("The signature does not verify.")
        return entry, until

    async def _follow(self, terms: PlanTerms, tx_hash: bytes) -> Installed | InstallPending:
        """The owner's transaction, or ours of an earlier call."""
        ours = await self._sponsorship.look(tx_hash)
        if isinstance(ours, SponsoredRefused):
            raise _refused(ours.code)
        if ours is None:
            found = await self._node.get_transaction(tx_hash.hex())
            has_failed = (
                isinstance(found, TransactionFound) and found.status is not LedgerStatus.SUCCESS
            )
            if has_failed:
                raise _mismatch("The transaction has failed.")
            landed = isinstance(found, TransactionFound)
        else:
            landed = isinstance(ours, SponsoredLanded)
        if landed:
            return await self._require(terms, tx_hash)
        there = await self._read_back.read(terms)
        return InstallPending(tx_hash) if there is None else there

    async def _require(self, terms: PlanTerms, tx_hash: bytes | None = None) -> Installed:
        """What is installed, which a node may show some seconds later."""
        until = self._clock.monotonic() + _VISIBLE_WITHIN_S
        while (found := await self._read_back.read(terms)) is None:
            if self._clock.monotonic() > until:
                raise _mismatch("Nothing of the plan is installed on the ledger.")
            await self._clock.sleep(_POLL_S)
        return replace(found, installer_tx=tx_hash)


class NetworkInstallations:
    """The installations of every network; see `Installations`."""

    def __init__(self, by_network: Mapping[Network, SessionInstallations]) -> None:
        self._by_network = by_network

    async def activate(
        self, plan: StoredPlan, request: InstallRequest
    ) -> Installed | InstallPending:
        """See `Installations`."""
        return await self._of(plan).activate(plan, request)

    async def is_installed(self, plan: StoredPlan) -> bool:
        """See `Installations`."""
        return await self._of(plan).is_installed(plan)

    def _of(self, plan: StoredPlan) -> SessionInstallations:
        found = self._by_network.get(plan.terms.network)
        if found is None:
            raise AutomationUnavailable
        return found


def _mismatch(why: str) -> AutomationRefused:
    return AutomationRefused(ErrorCode.SESSION_MISMATCH, why)


def _refused(code: str) -> AutomationRefused:
    why = f"The installation was not made: {code}. Ask for new material and sign again."
    return AutomationRefused(ErrorCode.SESSION_MISMATCH, why)
