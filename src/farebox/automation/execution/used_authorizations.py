"""Whether the ledger shows that a run's authorization was used, by whichever transaction (3.8)."""

from dataclasses import dataclass
from typing import Protocol

from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.attempt import CounterReading, NonceReading
from farebox.automation.runs.run import Run
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.transfer_search import nonce_key


class MandateIndexes(Protocol):
    """Reads mandates."""

    async def read_index(self, terms: PlanTerms, run: Run) -> CounterReading | None:
        """Whether the mandate's last index is that of the run; None where it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class AuthorizationUse:
    """What the ledger shows: a nonce for an entry, a counter for a mandate, nothing for others."""

    nonce: NonceReading | None = None
    counter: CounterReading | None = None

    @property
    def was_used(self) -> bool:
        """Whether the run happened."""
        is_counted = self.counter is not None and self.counter.now != self.counter.before
        return is_counted or (self.nonce is not None and self.nonce.is_present)


class UsedAuthorizations:
    """Reads the uses of authorizations from the ledger."""

    def __init__(self, ledger: EntryReader, indexes: MandateIndexes) -> None:
        self._ledger, self._indexes = ledger, indexes

    async def read(self, run: Run, terms: PlanTerms) -> AuthorizationUse | None:
        """The use of a run's authorization; None while it cannot be read.

        Raises:
            DatabaseUnavailable: the plan's session cannot be read.
        """
        if terms.mode is AuthorityMode.MANDATE:
            counter = await self._indexes.read_index(terms, run)
            return None if counter is None else AuthorizationUse(counter=counter)
        if run.auth_nonce is None or run.account is None:
            return AuthorizationUse()
        key = nonce_key(run.account, run.auth_nonce)
        try:
            found = await self._ledger.ledger_entries([key])
        except RpcUnavailable:
            return None
        is_present = any(each.key == key for each in found.entries)
        return AuthorizationUse(nonce=NonceReading(is_present, found.latest_ledger))
