"""The session material of the modes `session` and `mandate` (3.15)."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.automation.authority.installation import (
    close_session,
    remove_session,
    revoke_mandate,
)
from farebox.automation.authority.ledger_bounds import (
    INSTALL_LEDGERS,
    EndTooFar,
    session_end_ledger,
)
from farebox.automation.authority.run_entries import unsigned_run
from farebox.automation.execution.longest_life import LongestLife
from farebox.automation.plan_body import (
    InstallBody,
    PlanSessionBody,
    RevokeBody,
    SessionContractBody,
    SignableEntryBody,
)
from farebox.automation.plans.proposal_state import TERMINAL_STATES, ProposalState
from farebox.automation.plans.session_spec import AuthorityMode, SessionSpec
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.plans.wire import OnLegError
from farebox.automation.refusal import AutomationRefused, limit_exceeded
from farebox.automation.runs.attempt import derive_nonce
from farebox.automation.session_body import SessionFacts, invocation_body, session_body
from farebox.automation.sessions import session_store
from farebox.automation.sessions.account_kinds import (
    SESSION_KINDS,
    AccountKind,
    AccountKindReader,
)
from farebox.automation.sessions.contract_codes import ServiceContract, pinned_hash
from farebox.automation.sessions.contracts_watch import NEEDED
from farebox.automation.sessions.install_tree import InstallTrees
from farebox.automation.sessions.owner_transaction import OwnerTransactions
from farebox.automation.sessions.session_store import SessionState, StoredSession
from farebox.kernel.addresses import is_account
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.secret import Secret
from farebox.stellar.invocations import Invocation
from farebox.stellar.ledger_clock import LedgerReading
from farebox.storage.pool import Database

_INSTALL_INDEX: Final = 2**32 - 1  # of the nonce of an installation: no run has it
_UNSIGNED: Final = (ProposalState.PROPOSED, ProposalState.PAYMENT_PENDING, ProposalState.PAID)
_NOT_AUDITED: Final = "No audit has seen the contracts of this session."
_ONE_SPENDER: Final = (
    "The mandate is a spender of its own: approving it again replaces its allowance, and an"
    " allowance of 0 stops it."
)
_NOT_REPEATED: Final = (
    "A leg that has failed is not repeated once a later one has been paid: the indexes of a mandate"
    " only rise."
)
_WITHOUT_TRANSACTION: Final = (
    "No whole transaction can be made as of now: the wallet signs the entry instead."
)


@dataclass(frozen=True, slots=True)
class MaterialNeeds:
    """What the material of a network is made with."""

    trees: InstallTrees
    kinds: AccountKindReader
    life: LongestLife
    transactions: OwnerTransactions
    nonce_key: Secret[bytes]
    ledger_now: Callable[[], LedgerReading]


class SignedMaterials:
    """The material of plans whose runs a delegate signs; see `SessionMaterials`."""

    def __init__(self, needs: MaterialNeeds, database: Database) -> None:
        self._needs, self._database = needs, database

    async def material(self, plan: StoredPlan, now: datetime) -> PlanSessionBody:
        """See `SessionMaterials`."""
        terms, needs = plan.terms, self._needs
        if terms.account is None or terms.session_spec is None:
            raise ValueError("such a plan has an account and a spec")
        needs.trees.contracts.check_mode(terms.mode)
        kind = await needs.kinds.kind_of(terms.account)
        check_kind(terms.mode, kind)
        spec, reading = read_spec(terms.session_spec), needs.ledger_now()
        async with self._database.connection() as db:
            stored = await session_store.find_session(db, terms.id)
        warnings = [_NOT_AUDITED]
        install, until = None, None if stored is None else stored.valid_until_ledger
        if plan.state in _UNSIGNED:
            until = await self._end(terms, reading)
            install = await self._install(terms, spec, until, reading)
            if is_account(terms.account) and install.unsigned_transaction_xdr is None:
                warnings.append(_WITHOUT_TRANSACTION)
        is_mandate = terms.mode is AuthorityMode.MANDATE
        warnings += [_ONE_SPENDER] if is_mandate and spec.caps else []
        goes_on = terms.on_leg_error is OnLegError.CONTINUE
        warnings += [_NOT_REPEATED] if is_mandate and terms.legs > 1 and goes_on else []
        facts = SessionFacts(
            state=SessionState.MATERIAL_ISSUED if stored is None else stored.state,
            generation=kind,
            install=install,
            revoke=await self._revoke(plan, spec, stored, reading),
            verifier=None if is_mandate else needs.trees.session_contracts().verifier,
            valid_until_ledger=until,
            contracts=self._contracts(terms),
            warnings=warnings,
        )
        return session_body(plan, facts)

    async def _end(self, terms: PlanTerms, reading: LedgerReading) -> int:
        longest = await self._needs.life.ledgers()
        try:
            return session_end_ledger(reading, terms.window.not_after, max_entry_ttl=longest)
        except EndTooFar:
            why = "No authorization can live until the end of the plan: end it earlier."
            raise limit_exceeded("expiresAt", why) from None

    async def _install(
        self, terms: PlanTerms, spec: SessionSpec, until: int, reading: LedgerReading
    ) -> InstallBody:
        tree, account = self._needs.trees.tree(terms, spec, until=until), spec.account
        expiration = reading.sequence + INSTALL_LEDGERS
        entry = unsigned_run(
            terms.network,
            account,
            tree,
            nonce=install_nonce(self._needs.nonce_key, terms),
            expires_at_ledger=expiration,
        )
        whole = await self._needs.transactions.build(terms.owner, account, tree, reading)
        is_classic = is_account(account)
        return InstallBody(
            invocations=[invocation_body(tree)],
            unsigned_transaction_xdr=None if whole is None else _base64(whole),
            entries=[
                SignableEntryBody(
                    run_index=None,
                    leg_index=None,
                    entry_xdr=_base64(entry.entry),
                    preimage_xdr=_base64(entry.preimage),
                    nonce=str(entry.nonce),
                    expiration_ledger=expiration,
                )
            ],
            sign_with=["signAuthEntry", "signTransaction" if is_classic else "passkey"],
            expiration_ledger=expiration,
            is_fee_sponsored=True,
        )

    async def _revoke(
        self,
        plan: StoredPlan,
        spec: SessionSpec,
        stored: StoredSession | None,
        reading: LedgerReading,
    ) -> RevokeBody | None:
        """What ends the session by the owner alone; None while nothing is installed.

        What was issued for a plan that has ended may still land: it is revoked by its addresses.
        """
        terms = plan.terms
        is_recorded = stored is not None and stored.installed_ledger is not None
        if not is_recorded and plan.state not in TERMINAL_STATES:
            return None
        calls = self._revocations(terms, spec, stored)
        first = await self._needs.transactions.build(terms.owner, spec.account, calls[0], reading)
        return RevokeBody(
            invocations=[invocation_body(each) for each in calls],
            unsigned_transaction_xdr=None if first is None else _base64(first),
        )

    def _revocations(
        self, terms: PlanTerms, spec: SessionSpec, stored: StoredSession | None
    ) -> Sequence[Invocation]:
        trees = self._needs.trees
        if terms.mode is AuthorityMode.MANDATE:
            recorded = None if stored is None else stored.mandate
            return revoke_mandate(spec, recorded or trees.mandate(terms))
        contracts = trees.session_contracts()
        guard = None if stored is None else stored.guard
        closed = close_session(spec, terms.policy_id, guard or contracts.guard)
        if stored is None or not stored.rule_ids:  # they are not known before it is installed
            return (closed,)
        return closed, remove_session(spec, contracts.installer, stored.rule_ids)

    def _contracts(self, terms: PlanTerms) -> list[SessionContractBody]:
        trees = self._needs.trees
        found = [(each, trees.contracts.address(each)) for each in NEEDED[terms.mode]]
        if terms.mode is AuthorityMode.MANDATE:
            found.append((ServiceContract.MANDATE, trees.mandate(terms)))
        return [
            SessionContractBody(each, at, pinned_hash(each).hex(), is_audited=False)
            for each, at in found
        ]


def install_nonce(key: Secret[bytes], terms: PlanTerms) -> int:
    """The nonce of the entry of a plan's installation: the same whenever it is asked for."""
    return derive_nonce(key, terms.policy_id, run_index=_INSTALL_INDEX, leg_index=0)


def check_kind(mode: AuthorityMode, kind: AccountKind) -> None:
    """Check that an account of this kind can have a session.

    Raises:
        AutomationRefused: `unsupported_account`.
    """
    if mode is AuthorityMode.SESSION and kind not in SESSION_KINDS:
        why = f"A session is installed on a smart account of a known kind: this one is {kind}."
        raise AutomationRefused(ErrorCode.UNSUPPORTED_ACCOUNT, why, field="account")


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
