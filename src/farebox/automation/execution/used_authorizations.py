"""Whether the ledger shows that a run's authorization was used, by whichever transaction (3.8)."""

from dataclasses import dataclass
from typing import Protocol

from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.attempt import CounterGone, CounterReading, NonceReading
from farebox.automation.runs.run import Attempt, Run
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.transfer_search import nonce_key


class MandateIndexes(Protocol):
    """Reads mandates."""

    async def read_index(self, terms: PlanTerms, run: Run) -> CounterReading | CounterGone | None:
        """Whether the mandate's last index is that of the run; None where its plan has none."""
        ...


class GuardUses(Protocol):
    """Reads guards."""

    async def read_uses(self, terms: PlanTerms, before: int) -> CounterReading | None:
        """How often a session was used; None where its guard has none any more."""
        ...


@dataclass(frozen=True, slots=True)
class AuthorizationUse:
    """What the ledger shows: a nonce for an entry, a counter for a mandate, nothing for others.

    A session has both once its nonce's entry has expired, and an absence shows nothing any more.
    """

    nonce: NonceReading | None = None
    counter: CounterReading | CounterGone | None = None

    @property
    def was_used(self) -> bool:
        """Whether the run happened."""
        counter = self.counter
        is_counted = isinstance(counter, CounterReading) and counter.now != counter.before
        return is_counted or (self.nonce is not None and self.nonce.is_present)


class UsedAuthorizations:
    """Reads the uses of authorizations from the ledger."""

    def __init__(self, ledger: EntryReader, indexes: MandateIndexes, uses: GuardUses) -> None:
        self._ledger, self._indexes, self._uses = ledger, indexes, uses

    async def read(
        self, run: Run, terms: PlanTerms, attempt: Attempt | None = None
    ) -> AuthorizationUse | None:
        """The use of a run's authorization; None while it cannot be read.

        With the attempt that signed it, the use is found after the authorization's last ledger too.

        Raises:
            DatabaseUnavailable: the plan's session cannot be read.
        """
        try:
            if terms.mode is AuthorityMode.MANDATE:
                counter = await self._indexes.read_index(terms, run)
                return None if counter is None else AuthorizationUse(counter=counter)
            return await self._read_entry(run, terms, attempt)
        except RpcUnavailable:
            return None

    async def _read_entry(
        self, run: Run, terms: PlanTerms, attempt: Attempt | None
    ) -> AuthorizationUse:
        if run.auth_nonce is None or run.account is None:
            return AuthorizationUse()
        key = nonce_key(run.account, run.auth_nonce)
        found = await self._ledger.ledger_entries([key])
        is_present = any(each.key == key for each in found.entries)
        nonce = NonceReading(is_present, found.latest_ledger)
        before = _uses_before(nonce, attempt)
        counter = None if before is None else await self._uses.read_uses(terms, before)
        return AuthorizationUse(nonce, counter)


def _uses_before(nonce: NonceReading, attempt: Attempt | None) -> int | None:
    """The guard's count before the attempt, where only that shows whether it was used."""
    if nonce.is_present or attempt is None or attempt.authorized_until is None:
        return None
    return attempt.uses_before if nonce.as_of_ledger > attempt.authorized_until else None
