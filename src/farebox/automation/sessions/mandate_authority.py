"""The authority of runs whose owner opened a mandate: the delegate's signature, and no entry."""

from farebox.automation.authority.ledger_bounds import bound_attempt, may_start
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.execution.run_authority import PreparedRun, RunNotPrepared
from farebox.automation.plans import proposal_store
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.runs.attempt import CounterGone, CounterReading
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.session_codes import CLOSED, MISSING
from farebox.automation.sessions import session_store
from farebox.automation.sessions.delegate_signer import (
    DelegateSigner,
    RunNotSigned,
    RunToSign,
    mandate_index,
)
from farebox.automation.sessions.mandate_state import MandateMissing, MandateState, read_mandate
from farebox.automation.sessions.run_trees import ChosenRun, RunTrees, judge_uses
from farebox.automation.sessions.session_store import StoredSession
from farebox.kernel.addresses import Address
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.transactions import AuthorizedCall
from farebox.storage.pool import Database


class MandateAuthority:
    """Prepares the runs of mandates; see `RunAuthority`."""

    def __init__(
        self, database: Database, ledger: EntryReader, trees: RunTrees, signer: DelegateSigner
    ) -> None:
        self._database, self._ledger = database, ledger
        self._trees, self._signer = trees, signer

    async def prepare(
        self, terms: PlanTerms, calls: RunCalls, run: Run, now: LedgerReading
    ) -> PreparedRun | RunNotPrepared:
        """See `RunAuthority`."""
        plan, session = await read_session(self._database, terms)
        raw = terms.session_spec
        if plan is None or session is None or session.mandate is None or raw is None:
            return RunNotPrepared(ErrorClass.SESSION, MISSING)
        spec, ledger_time = read_spec(raw), int(now.close_at.timestamp())
        state = await read_mandate(self._ledger, session.mandate)
        fault = _judge_state(terms, state, run)
        if fault is not None or not isinstance(state, MandateState):
            return fault or RunNotPrepared(ErrorClass.SESSION, MISSING)
        if not may_start(now, session.valid_until_ledger):
            return RunNotPrepared(ErrorClass.SESSION, "session_ends")
        fault = judge_uses(spec, state.uses, ledger_time=ledger_time)
        if fault is not None:
            return fault
        chosen = await self._trees.make(terms, calls, run, now, actor=session.mandate)
        if isinstance(chosen, RunNotPrepared):
            return chosen
        slot = chosen.root, run.leg_index
        fault = judge_uses(spec, state.uses, ledger_time=ledger_time, slot=slot)
        return fault or self._sign(plan, session.mandate, session, run, chosen, now)

    def _sign(
        self,
        plan: StoredPlan,
        mandate: Address,
        session: StoredSession,
        run: Run,
        chosen: ChosenRun,
        now: LedgerReading,
    ) -> PreparedRun | RunNotPrepared:
        end = session.valid_until_ledger
        bounds = bound_attempt(now, deadline=run.deadline_at, end_ledger=end)
        to_sign = RunToSign(
            run.proposal_id, run.run_index, run.leg_index, chosen.tree, bounds.authorized_until
        )
        try:
            call = self._signer.sign_mandate_run(plan, to_sign, now, mandate=mandate)
        except RunNotSigned as refused:
            return RunNotPrepared(ErrorClass.PROGRAM, refused.code)
        return PreparedRun(AuthorizedCall(call.call, ()), bounds, plan.terms.account)


class MandateIndexReader:
    """Reads from a mandate whether the index of a run was used, by whichever transaction."""

    def __init__(self, database: Database, ledger: EntryReader) -> None:
        self._database, self._ledger = database, ledger

    async def read_index(self, terms: PlanTerms, run: Run) -> CounterReading | CounterGone | None:
        """How often the index was used, 0 or 1; None where no mandate of the plan was recorded.

        Raises:
            DatabaseUnavailable: the plan's session cannot be read.
            RpcUnavailable: no node answers.
        """
        _, session = await read_session(self._database, terms)
        if session is None or session.mandate is None:
            return None
        state = await read_mandate(self._ledger, session.mandate)
        if isinstance(state, MandateMissing):
            return CounterGone(state.as_of_ledger)
        index = mandate_index(run.run_index, run.leg_index, legs=terms.legs)
        return CounterReading(0, int(state.last_index == index), state.as_of_ledger)


async def read_session(
    database: Database, terms: PlanTerms
) -> tuple[StoredPlan | None, StoredSession | None]:
    """The plan with its sealed key, and its session.

    Raises:
        DatabaseUnavailable: they cannot be read.
    """
    async with database.connection() as db:
        plan = await proposal_store.find_plan(db, terms.id)
        return plan, await session_store.find_session(db, terms.id)


def _judge_state(
    terms: PlanTerms, state: MandateState | MandateMissing, run: Run
) -> RunNotPrepared | None:
    """Why the mandate makes no such run; None where it would.

    Its indexes only rise: of an earlier leg that failed nothing can be made any more.
    """
    if isinstance(state, MandateMissing):
        return RunNotPrepared(ErrorClass.SESSION, MISSING)
    if (state.policy_id, state.spec_xdr) != (terms.policy_id, terms.session_spec):
        return RunNotPrepared(ErrorClass.SESSION, "session_differs")
    index = mandate_index(run.run_index, run.leg_index, legs=terms.legs)
    if state.last_index == index:
        return RunNotPrepared(ErrorClass.SEQUENCE, "run_index_used", is_used=True)
    if state.is_closed:
        return RunNotPrepared(ErrorClass.SESSION, CLOSED)
    if state.last_index is not None and state.last_index > index:
        return RunNotPrepared(ErrorClass.PROGRAM, "run_index_passed")
    return None
