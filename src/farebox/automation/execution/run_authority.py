"""What a run sends, and by whose authority, in the modes `open` and `presigned`.

A mode is a `RunAuthority`; `session` and `mandate` are further ones. No mode takes an entry from a
simulation, so that none with the credentials of the transaction's source can come in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.automation.authority import presigned_store
from farebox.automation.authority.delegate_keys import BytesSealer
from farebox.automation.authority.ledger_bounds import AttemptBounds, bound_attempt
from farebox.automation.authority.planned_calls import RunContext, ValueMissing, resolve
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.sealed_columns import ENTRY_PURPOSE
from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.stellar.auth_entries import PAYING_KINDS, AuthEntry, read_entry
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.transactions import AuthorizedCall
from farebox.stellar.xdr_reader import Malformed
from farebox.storage.pool import Database

TOO_EARLY: Final = "too_early"
INTERVAL_NOT_PASSED: Final = "interval_not_passed"
# nothing is wrong with the authority, whose contract allows the run at a later time
ONLY_TOO_EARLY: Final = frozenset((TOO_EARLY, INTERVAL_NOT_PASSED))


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run's call with its authorization, and the bounds of the attempt.

    `account` is whose token movements are held against the plan; None where the plan has none.
    `nonce` is that of the account's entry, None without one. `uses_before` is how often the guard
    of a session has counted it so far; None for other modes.
    """

    call: AuthorizedCall
    bounds: AttemptBounds
    account: Address | None
    nonce: int | None = None
    uses_before: int | None = None


@dataclass(frozen=True, slots=True)
class RunNotPrepared:
    """Nothing may be sent for the run; `code` says why.

    `is_used`: the ledger shows that the run's authorization was used.
    """

    error: ErrorClass
    code: str
    is_used: bool = False


class RunAuthority(Protocol):
    """Prepares the runs of one mode."""

    async def prepare(
        self, terms: PlanTerms, calls: RunCalls, run: Run, now: LedgerReading
    ) -> PreparedRun | RunNotPrepared:
        """Prepare one run as of the newest ledger.

        Raises:
            Outage: the database, the node or the vault is unavailable.
        """
        ...


Authorities = Mapping[AuthorityMode, RunAuthority]


class OpenAuthority:
    """Calls a target that holds its own authority; the transaction carries no entry.

    `executor` owns nothing and pays nothing, and is no account of the operator's.
    """

    def __init__(self, executor: Address) -> None:
        self._executor = executor

    async def prepare(
        self, terms: PlanTerms, calls: RunCalls, run: Run, now: LedgerReading
    ) -> PreparedRun | RunNotPrepared:
        """See `RunAuthority`."""
        call = _resolve(calls, run, self._executor, now)
        if call is None:
            return RunNotPrepared(ErrorClass.PROGRAM, "value_missing")
        bounds = bound_attempt(now, deadline=run.deadline_at, end_ledger=None)
        return PreparedRun(AuthorizedCall(call, ()), bounds, terms.account)


class PresignedAuthority:
    """Sends the entry that the owner signed for the run, if it still is what the plan calls."""

    def __init__(self, database: Database, sealer: BytesSealer) -> None:
        self._database, self._sealer = database, sealer

    async def prepare(
        self, terms: PlanTerms, calls: RunCalls, run: Run, now: LedgerReading
    ) -> PreparedRun | RunNotPrepared:
        """See `RunAuthority`."""
        async with self._database.connection() as db:
            stored = await presigned_store.find_entry(
                db, terms.id, run_index=run.run_index, leg_index=run.leg_index
            )
        if stored is None or terms.account is None:
            return RunNotPrepared(ErrorClass.SESSION, "entry_missing")
        sealed = stored.sealed.reveal()
        record = entry_record(terms.id, run.run_index, run.leg_index)
        raw = self._sealer.open(sealed, owner=terms.owner, purpose=ENTRY_PURPOSE, record=record)
        entry = _read(raw)
        expected = _resolve(calls, run, terms.account, now)
        if entry is None or not _is_expected(entry, terms.account, expected):
            return RunNotPrepared(ErrorClass.SESSION, "entry_mismatch")
        bounds = bound_attempt(now, deadline=run.deadline_at, end_ledger=entry.expires_at_ledger)
        if bounds.max_ledger <= now.sequence:
            return RunNotPrepared(ErrorClass.SESSION, "entry_expired")
        call = AuthorizedCall(entry.root_call, (entry,))
        until = AttemptBounds(bounds.max_time, bounds.max_ledger, entry.expires_at_ledger)
        return PreparedRun(call, until, terms.account, nonce=entry.nonce)


def entry_record(proposal_id: str, run_index: int, leg_index: int) -> str:
    """The record in whose context the entry of a leg is sealed."""
    return f"{proposal_id} {run_index} {leg_index}"


def _resolve(calls: RunCalls, run: Run, actor: Address, now: LedgerReading) -> bytes | None:
    """The call (InvokeContractArgs) of a run; None where a value is not known here."""
    context = RunContext(
        actor=actor,
        run_index=run.run_index,
        ledger_time=int(now.close_at.timestamp()),
        row=run.leg_index,
    )
    try:
        return resolve(calls.planned, context).call
    except ValueMissing:
        return None


def _read(raw: Secret[bytes]) -> AuthEntry | None:
    try:
        return read_entry(raw.reveal())
    except Malformed:
        return None


def _is_expected(entry: AuthEntry, account: Address, call: bytes | None) -> bool:
    return (
        entry.kind in PAYING_KINDS
        and entry.is_contract_call
        and entry.address == account
        and entry.root_call == call
    )
