"""The authority of runs by the session of a smart account: one entry that the delegate signs."""

from dataclasses import dataclass

from farebox.automation.authority.ledger_bounds import bound_attempt, may_start
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.execution.run_authority import PreparedRun, RunNotPrepared
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.runs.attempt import CounterReading, derive_nonce
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.session_codes import CLOSED, MISSING
from farebox.automation.sessions.account_kinds import SESSION_KINDS, AccountKindReader
from farebox.automation.sessions.delegate_signer import (
    DelegateSigner,
    RunNotSigned,
    RunToSign,
    SessionRules,
)
from farebox.automation.sessions.guard_state import GuardSession, SessionMissing, read_guard
from farebox.automation.sessions.mandate_authority import read_session
from farebox.automation.sessions.run_trees import ChosenRun, RunTrees, judge_uses
from farebox.automation.sessions.session_store import StoredSession
from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.transactions import AuthorizedCall
from farebox.storage.pool import Database


@dataclass(frozen=True, slots=True)
class _Installed:
    """What a run of a session needs besides the run."""

    plan: StoredPlan
    account: Address
    rules: SessionRules
    end_ledger: int | None
    uses_before: int


class SessionAuthority:
    """Prepares the runs of sessions; see `RunAuthority`.

    Every attempt of a run signs the nonce that `nonce_key` derives for it, so that at most one of
    them is ever used.
    """

    def __init__(
        self,
        database: Database,
        ledger: EntryReader,
        trees: RunTrees,
        signer: DelegateSigner,
        kinds: AccountKindReader,
        nonce_key: Secret[bytes],
    ) -> None:
        self._database, self._ledger, self._trees = database, ledger, trees
        self._signer, self._kinds, self._nonce_key = signer, kinds, nonce_key

    async def prepare(
        self, terms: PlanTerms, calls: RunCalls, run: Run, now: LedgerReading
    ) -> PreparedRun | RunNotPrepared:
        """See `RunAuthority`."""
        plan, session = await read_session(self._database, terms)
        account, raw = terms.account, terms.session_spec
        if plan is None or session is None or session.guard is None or session.verifier is None:
            return RunNotPrepared(ErrorClass.SESSION, MISSING)
        if account is None or raw is None:
            return RunNotPrepared(ErrorClass.SESSION, MISSING)
        state = await read_guard(self._ledger, session.guard, account, terms.policy_id)
        fault = _judge_state(terms, state, session)
        if fault is not None or not isinstance(state, GuardSession):
            return fault or RunNotPrepared(ErrorClass.SESSION, MISSING)
        if not may_start(now, session.valid_until_ledger):
            return RunNotPrepared(ErrorClass.SESSION, "session_ends")
        kind = await self._kinds.kind_of(account)
        if kind not in SESSION_KINDS:
            return RunNotPrepared(ErrorClass.SESSION, "account_changed")
        rules = SessionRules(kind, session.verifier, dict(state.rules))
        uses, end = state.uses.count, session.valid_until_ledger
        installed = _Installed(plan, account, rules, end, uses_before=uses)
        spec, ledger_time = read_spec(raw), int(now.close_at.timestamp())
        fault = judge_uses(spec, state.uses, ledger_time=ledger_time)
        if fault is not None:
            return fault
        chosen = await self._trees.make(terms, calls, run, now, actor=account)
        if isinstance(chosen, RunNotPrepared):
            return chosen
        slot = chosen.root, run.leg_index
        fault = judge_uses(spec, state.uses, ledger_time=ledger_time, slot=slot)
        return fault or self._sign(installed, run, chosen, now)

    def _sign(
        self, installed: _Installed, run: Run, chosen: ChosenRun, now: LedgerReading
    ) -> PreparedRun | RunNotPrepared:
        plan = installed.plan
        bounds = bound_attempt(now, deadline=run.deadline_at, end_ledger=installed.end_ledger)
        nonce = derive_nonce(
            self._nonce_key,
            plan.terms.policy_id,
            run_index=run.run_index,
            leg_index=run.leg_index,
        )
        to_sign = RunToSign(
            run.proposal_id, run.run_index, run.leg_index, chosen.tree, bounds.authorized_until
        )
        try:
            entry = self._signer.sign_session_run(
                plan, to_sign, now, rules=installed.rules, nonce=nonce
            )
        except RunNotSigned as refused:
            return RunNotPrepared(ErrorClass.PROGRAM, refused.code)
        call = AuthorizedCall(chosen.tree.call, (entry,))
        return PreparedRun(
            call, bounds, installed.account, nonce=nonce, uses_before=installed.uses_before
        )


class GuardUseReader:
    """Reads from a guard how often it has counted a session, by whichever transaction."""

    def __init__(self, database: Database, ledger: EntryReader) -> None:
        self._database, self._ledger = database, ledger

    async def read_uses(self, terms: PlanTerms, before: int) -> CounterReading | None:
        """The count now, next to that before an attempt; None where the guard has none any more.

        Raises:
            DatabaseUnavailable: the plan's session cannot be read.
            RpcUnavailable: no node answers.
        """
        _, session = await read_session(self._database, terms)
        if session is None or session.guard is None or terms.account is None:
            return None
        state = await read_guard(self._ledger, session.guard, terms.account, terms.policy_id)
        if isinstance(state, SessionMissing):
            return None
        return CounterReading(before, state.uses.count, state.as_of_ledger)


def _judge_state(
    terms: PlanTerms, state: GuardSession | SessionMissing, session: StoredSession
) -> RunNotPrepared | None:
    """Why the guard allows nothing to the plan's delegate; None where it does."""
    if isinstance(state, SessionMissing):
        return RunNotPrepared(ErrorClass.SESSION, MISSING)
    if state.is_closed:
        return RunNotPrepared(ErrorClass.SESSION, CLOSED)
    same_rules = sorted(state.rules.values()) == sorted(session.rule_ids)
    if state.spec_xdr != terms.session_spec or not same_rules:
        return RunNotPrepared(ErrorClass.SESSION, "session_differs")
    return None
