"""A session's use after its nonce has expired: the guard's count is asked then, and only then."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from farebox.automation.execution.resolve_run import RunResolver
from farebox.automation.execution.used_authorizations import AuthorizationUse, UsedAuthorizations
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.attempt import CounterGone, CounterReading, NonceReading
from farebox.automation.runs.receipt import ExecutedBy
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState, RunTrigger
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.stellar.rpc import (
    LedgerEntries,
    LedgerEntry,
    LedgerStatus,
    RpcUnavailable,
    TransactionFound,
)
from farebox.stellar.transfer_search import nonce_key
from farebox.submission.fate import Dead, Fate, Unproven
from support.automation import draft_plan
from support.automation_world import NET, attempt_of
from support.journal_rows import party
from support.manual_clock import ManualClock
from support.plans import START

ACCOUNT, UNTIL = party(1), 100
TERMS = draft_plan().terms
RUN = Run(
    id="run",
    proposal_id=TERMS.id,
    run_index=0,
    leg_index=0,
    network=NET,
    owner=OwnerId("user"),
    account=ACCOUNT,
    scheduled_for=START,
    deadline_at=START,
    state=RunState.RECONCILING,
    due_at=None,
    auth_nonce=7,
)
ATTEMPT = attempt_of("run", authorized_until=UNTIL, uses_before=3)


class Node:
    """A ledger with or without the nonce, and a guard; `now` None: the guard has no session."""

    def __init__(self, latest: int, now: int | None, *, is_present: bool = False) -> None:
        self._latest, self._now, self._is_present = latest, now, is_present
        self.is_down, self.asked = False, 0

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        key = nonce_key(ACCOUNT, 7)
        found = (LedgerEntry(key, b"", 1),) if self._is_present else ()
        return LedgerEntries(found, self._latest)

    async def read_uses(self, terms: PlanTerms, before: int) -> CounterReading | None:
        self.asked += 1
        if self.is_down:
            raise RpcUnavailable(NET, "away", certainly_not_sent=True)
        return None if self._now is None else CounterReading(before, self._now, self._latest)

    async def read_index(self, terms: PlanTerms, run: Run) -> CounterGone:
        assert terms.mode is AuthorityMode.MANDATE
        return CounterGone(self._latest)


async def use_of(node: Node, **changes: int | None) -> AuthorizationUse | None:
    used = UsedAuthorizations(node, node, node)
    return await used.read(RUN, TERMS, replace(ATTEMPT, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(("now", "was_used"), [(3, False), (4, True)])
async def test_guards_count_shows_a_use_after_the_nonce_has_expired(
    now: int, was_used: bool
) -> None:
    use = await use_of(Node(UNTIL + 1, now))
    assert use is not None
    assert use.counter == CounterReading(3, now, UNTIL + 1)
    assert use.was_used is was_used


async def test_guard_is_not_asked_while_the_nonce_shows_it() -> None:
    absent = Node(UNTIL, 4)
    assert await use_of(absent) == AuthorizationUse(NonceReading(False, UNTIL))
    present = Node(UNTIL + 1, 3, is_present=True)
    assert await use_of(present) == AuthorizationUse(NonceReading(True, UNTIL + 1))
    older = Node(UNTIL + 1, 4)
    assert await use_of(older, uses_before=None) == AuthorizationUse(NonceReading(False, UNTIL + 1))
    assert absent.asked == present.asked == older.asked == 0


async def test_session_that_the_guard_has_no_more_leaves_the_histories() -> None:
    assert await use_of(Node(UNTIL + 1, None)) == AuthorizationUse(NonceReading(False, UNTIL + 1))


async def test_use_is_not_known_while_the_guard_cannot_be_read() -> None:
    node = Node(UNTIL + 1, 4)
    node.is_down = True
    assert await use_of(node) is None


class Ends:
    """The journal and the failures of a resolver: how a run ended."""

    def __init__(self) -> None:
        self.ended: list[object] = []

    async def move(self, run: Run, trigger: RunTrigger, after: Run, end: object = None) -> Run:
        self.ended.append((trigger, after.executed_by))
        return after

    async def fail(self, run: Run, error: ErrorClass, code: str, *, ended: object) -> Run:
        self.ended.append(error)
        return replace(run, state=RunState.RETRY_WAIT)


@pytest.mark.parametrize(
    ("now", "expected"),
    [(4, (RunTrigger.SUCCEED, ExecutedBy.THIRD_PARTY)), (3, ErrorClass.TOO_LATE)],
)
async def test_run_whose_dead_attempt_was_used_by_another_is_not_made_again(
    now: int, expected: object
) -> None:
    node, ends = Node(UNTIL + 1, now), Ends()
    used = UsedAuthorizations(node, node, node)
    resolver = RunResolver(node, used, ends, ends, ManualClock())  # type: ignore[arg-type]
    await resolver.resolve(RUN, TERMS, ATTEMPT, Dead(UNTIL + 1))
    assert ends.ended == [expected]


FAILED = TransactionFound(
    "ab", LedgerStatus.FAILED, 90, START, "txFAILED", "opTRAPPED", Stroops(100), ()
)


@pytest.mark.parametrize(
    ("fate", "expected"),
    [
        (Dead(UNTIL), (RunTrigger.ABANDON, None)),
        (Unproven(UNTIL), (RunTrigger.ABANDON, None)),
        (FAILED, ErrorClass.MARKET),
    ],
)
async def test_run_whose_mandate_is_gone_comes_to_an_end(fate: Fate, expected: object) -> None:
    """Whether a stranger had used it cannot be proven any more, however long anybody looks."""
    node, ends = Node(UNTIL, None), Ends()
    used = UsedAuthorizations(node, node, node)
    resolver = RunResolver(node, used, ends, ends, ManualClock())  # type: ignore[arg-type]
    terms, run = replace(TERMS, mode=AuthorityMode.MANDATE), replace(RUN, auth_nonce=None)
    attempt = replace(ATTEMPT, authorized_until=None, uses_before=None)
    await asyncio.wait_for(resolver.resolve(run, terms, attempt, fate), 5)
    assert ends.ended == [expected]
