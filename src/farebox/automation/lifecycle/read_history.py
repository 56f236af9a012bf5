"""The runs and receipts of a plan, as its owner reads them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.automation.lifecycle import run_history_store
from farebox.automation.lifecycle.owned_plans import check_id, read_owned
from farebox.automation.lifecycle.run_history_store import ShownAttempt, ShownRun
from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import NotFound
from farebox.storage.pool import Database

_BATCH: Final = 100  # receipts of one statement
_BEFORE_ALL: Final = (-1, -1)


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A leg of a run with its attempts."""

    shown: ShownRun
    attempts: Sequence[ShownAttempt]


class RunHistory:
    """Reads runs of an owner's plans."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, owner: OwnerId, proposal_id: str, *, before: tuple[int, int] | None, limit: int
    ) -> Sequence[ShownRun]:
        """Runs and legs, newest first, from behind the place `before`.

        Raises:
            NotFound: the owner has no such plan.
        """
        check_id(proposal_id)
        async with self._database.connection() as db:
            await read_owned(db, owner, proposal_id)
            return await run_history_store.list_runs(db, proposal_id, before=before, limit=limit)

    async def detail(self, owner: OwnerId, proposal_id: str, run_index: int) -> Sequence[RunDetail]:
        """The legs of one run with their attempts.

        Raises:
            NotFound: the owner has no such run.
        """
        check_id(proposal_id)
        async with self._database.connection() as db:
            await read_owned(db, owner, proposal_id)
            legs = await run_history_store.list_legs(db, proposal_id, run_index)
            if not legs:
                raise NotFound
            attempts = await run_history_store.list_attempts(db, [leg.run.id for leg in legs])
        return [
            RunDetail(leg, [each for each in attempts if each.run_id == leg.run.id]) for leg in legs
        ]

    async def receipts(self, owner: OwnerId, proposal_id: str) -> AsyncIterator[Sequence[str]]:
        """The signed receipts of a plan, some at a time, in the order of its runs.

        No connection is held between two of them.

        Raises:
            NotFound: the owner has no such plan.
        """
        check_id(proposal_id)
        async with self._database.connection() as db:
            await read_owned(db, owner, proposal_id)
        return self._receipts(proposal_id)

    async def _receipts(self, proposal_id: str) -> AsyncIterator[Sequence[str]]:
        after = _BEFORE_ALL
        while True:
            async with self._database.connection() as db:
                found = await run_history_store.list_receipts(
                    db, proposal_id, after=after, limit=_BATCH
                )
            if found:
                after = found[-1][0]
                yield [receipt for _, receipt in found]
            if len(found) < _BATCH:
                return
