"""The network of a game: it takes envelopes of runs, and its ledger remembers what has landed.

Everything else that works on a plan is the service's own code, on a real database.
"""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from farebox.automation.authority.ledger_bounds import ATTEMPT_LEDGERS, ATTEMPT_LIFE, AttemptBounds
from farebox.automation.execution.build_run import FEE_ABOVE_QUOTE, BuiltRun, RunNotBuilt
from farebox.automation.execution.run_authority import PreparedRun
from farebox.automation.execution.used_authorizations import AuthorizationUse
from farebox.automation.paymaster.channel_store import RunChannel
from farebox.automation.paymaster.paymaster import RunEnvelope
from farebox.automation.runs.retries import ErrorClass
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.submission.fate import Dead, Fate, Indeterminate, SentEnvelope, Unproven

FEE: Final = Stroops(900)  # reserved for an envelope
COST: Final = Stroops(1)  # what it costs on the ledger
DEAR: Final = Stroops(900_000)  # a transaction, where it costs more than its price covers
_LEDGER: Final = 1_000
_FAR: Final = 10 * ATTEMPT_LEDGERS


class RunFate(StrEnum):
    """The outcome of an execution, as the script of a game names it."""

    LANDS = "lands"
    FAILS = "fails on the ledger"
    DEAD = "dead"  # its envelope can never land
    FOUND = "unknown at first, then found"
    KEPT = "unknown for long, then found"
    KEPT_DEAD = "unknown for long, then dead"
    UNPROVEN = "unknown for good"
    REFUSED = "refused"  # by the simulation: nothing is sent
    LATER = "not now"  # no node answers: nothing is sent, and it is tried again
    DEAR = "dear"  # more than its price covers
    UPGRADED = "upgraded"  # the target has other code


_LANDING: Final = (RunFate.LANDS, RunFate.FOUND, RunFate.KEPT)
_UNKNOWN: Final = (RunFate.FOUND, RunFate.UNPROVEN)  # at the first look
_KEPT: Final = (RunFate.KEPT, RunFate.KEPT_DEAD)
# past its bound: by then the process that sent it has left it to others
_KEPT_FOR: Final = timedelta(seconds=115)
_NOT_BUILT: Final = {
    RunFate.REFUSED: RunNotBuilt(ErrorClass.PROGRAM, "trapped"),
    RunFate.LATER: RunNotBuilt(ErrorClass.TRANSPORT, "network_unavailable"),
    RunFate.DEAR: RunNotBuilt(ErrorClass.ADMISSION, FEE_ABOVE_QUOTE, fee=DEAR),
}


@dataclass(eq=False, slots=True)
class GameLedger:
    """What has landed, and what becomes of each envelope that was sent."""

    clock: Clock
    fates: dict[bytes, RunFate] = field(default_factory=dict)  # by hash
    landed: list[bytes] = field(default_factory=list)  # the hashes of successes
    looks: dict[bytes, int] = field(default_factory=dict)
    hashes: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def take(self, sent: SentEnvelope, fate: RunFate) -> None:
        """Take an envelope; the same one again changes nothing."""
        if sent.tx_hash in self.fates:
            return
        self.fates[sent.tx_hash] = fate
        if fate in _LANDING:
            self.landed.append(sent.tx_hash)

    def look(self, sent: SentEnvelope) -> Fate:
        """Look for an envelope."""
        fate = self.fates[sent.tx_hash]
        looks = self.looks[sent.tx_hash] = self.looks.get(sent.tx_hash, 0) + 1
        is_kept = fate in _KEPT and self.clock.now() < sent.max_time + _KEPT_FOR
        if is_kept or (fate in _UNKNOWN and looks == 1):
            return Indeterminate()
        match fate:
            case RunFate.LANDS | RunFate.FOUND | RunFate.KEPT:
                return self._found(sent, LedgerStatus.SUCCESS)
            case RunFate.FAILS:
                return self._found(sent, LedgerStatus.FAILED)
            case RunFate.UNPROVEN:
                return Unproven(_LEDGER + _FAR)
            case _:
                return Dead(_LEDGER + _FAR)

    def _found(self, sent: SentEnvelope, status: LedgerStatus) -> TransactionFound:
        is_success = status is LedgerStatus.SUCCESS
        return TransactionFound(
            hash=sent.tx_hash.hex(),
            status=status,
            ledger=_LEDGER,
            closed_at=self.clock.now(),
            result_code="txSUCCESS" if is_success else "txFAILED",
            operation_code=None if is_success else "invokeHostFunctionTrapped",
            fee_charged=COST,
            contract_events=(),
        )


class GameNode:
    """The network as one process has it: it makes envelopes, sends them and looks for them.

    `fates` are those of its executions, in their order; the last one is that of all further ones.
    """

    executor = ""

    def __init__(self, ledger: GameLedger, clock: Clock, fates: Sequence[RunFate]) -> None:
        self._ledger, self._clock = ledger, clock
        self._fates = list(fates)

    def next_fate(self) -> RunFate:
        """The fate of the next execution, which is the one after it from now on."""
        return self._fates.pop(0) if len(self._fates) > 1 else self._fates[0]

    def now(self) -> LedgerReading:
        """The newest ledger."""
        return LedgerReading(_LEDGER, self._clock.now(), 5.0, 0.0)

    async def build(self, *_: object, **__: object) -> BuiltRun | RunNotBuilt:
        """Build a run, or say why it cannot be sent."""
        refused = _NOT_BUILT.get(self._fates[0])
        if refused is not None:
            self.next_fate()
            return refused
        bounds = AttemptBounds(self._clock.now() + ATTEMPT_LIFE, _LEDGER + ATTEMPT_LEDGERS, 0)
        nothing: Any = None
        return BuiltRun(PreparedRun(nothing, bounds, None), nothing, b"", _LEDGER)

    def sign(self, channel: RunChannel, envelope: RunEnvelope) -> SentEnvelope:
        """Sign an envelope of a channel."""
        number = next(self._ledger.hashes)
        return SentEnvelope(
            tx_hash=number.to_bytes(32, "big"),
            inner_hash=(number + (1 << 128)).to_bytes(32, "big"),
            envelope=Secret(b"signed"),
            source=channel.address,
            source_sequence=envelope.sequence,
            max_time=envelope.max_time,
            fee_limit=FEE,
            sent_after_ledger=envelope.sent_after_ledger,
        )

    async def account_sequence(self, _: object) -> int:
        """The number of a channel."""
        return 1

    async def submit(
        self,
        sent: SentEnvelope,
        *,
        until: float,
        on_taken: Callable[[], Awaitable[object]],
        may_be_sent: bool = False,
    ) -> Fate:
        """Send an envelope."""
        del until, may_be_sent
        self._ledger.take(sent, self.next_fate())
        await on_taken()
        return self._ledger.look(sent)

    async def wait(self, sent: SentEnvelope, *, until: float) -> Fate:
        """Look for an envelope that was sent."""
        del until
        return self._ledger.look(sent)

    async def read(self, *_: object) -> AuthorizationUse:
        """What shows that an authorization was used: the calls of a game have none."""
        return AuthorizationUse()
