"""Send a built run: a channel, an envelope, its row, and only then the network (3.8)."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol

import structlog

from farebox.automation.authority.delegate_keys import BytesSealer
from farebox.automation.authority.ledger_bounds import ATTEMPT_LEDGERS
from farebox.automation.execution.build_run import BuiltRun
from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.resolve_run import RunResolver
from farebox.automation.execution.run_channels import RunChannels
from farebox.automation.paymaster.channel_store import RunChannel
from farebox.automation.paymaster.paymaster import Paymaster, RunEnvelope
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Attempt, Run
from farebox.automation.runs.run_journal import PLAN_STOPPED, AttemptRecording, RunJournal
from farebox.automation.sealed_columns import ENVELOPE_PURPOSE
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import ClockStale, LedgerReading, Ledgers
from farebox.stellar.rpc import RpcUnavailable
from farebox.storage.faults import Conflict, DatabaseUnavailable
from farebox.submission.fate import Fate, Indeterminate, SentEnvelope

_CHANNEL_WAIT_S: Final = 30.0
_PROOF_S: Final = 10.0  # past its bound: by then most fates are proven
_STALE_LEDGERS: Final = 3  # a simulation that is older is made again
_SPARE_S: Final = 10.0  # to record and deliver an envelope before nodes find its bound too near

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class EnvelopeSubmitter(Protocol):
    """Delivers an envelope and waits for its fate."""

    async def submit(
        self,
        sent: SentEnvelope,
        *,
        until: float,
        on_taken: Callable[[], Awaitable[object]],
        may_be_sent: bool = False,
    ) -> Fate: ...


@dataclass(frozen=True, slots=True)
class RunSending:
    """What sending needs: keys, channels, rows, the network, and the ends of runs."""

    paymaster: Paymaster
    channels: RunChannels
    journal: RunJournal
    failures: RunFailures
    resolver: RunResolver
    submitter: EnvelopeSubmitter
    sealer: BytesSealer
    ledgers: Ledgers
    account_sequence: Callable[[Address], Awaitable[int | None]]


class SimulationOld(Exception):
    """The run waited so long for a channel that it is built again."""


class RunSender:
    """Sends one run at a time for each caller, and observes what was sent before."""

    def __init__(self, needs: RunSending, clock: Clock) -> None:
        self._needs, self._clock = needs, clock

    async def send(self, run: Run, terms: PlanTerms, built: BuiltRun) -> Run | None:
        """Send a built run and wait for its end; None when the lease was lost.

        Raises:
            SimulationOld: nothing was sent; the run has its channel.
            DatabaseUnavailable: recovery finds the run as it is.
        """
        needs = self._needs
        channel = await needs.channels.take(run, wait_s=_CHANNEL_WAIT_S)
        if channel is None:
            return await needs.failures.wait_for_channel(run)
        try:
            now = needs.ledgers.now()
            if now.sequence - built.simulated_ledger > _STALE_LEDGERS:
                raise SimulationOld
            sequence = await self._next_sequence(run, channel)
        except (ClockStale, RpcUnavailable):
            return await needs.failures.fail(run, ErrorClass.TRANSPORT, "network_unavailable")
        if sequence is None:
            log.error("automation.channel_missing", account=channel.address)
            return await needs.failures.fail(run, ErrorClass.SEQUENCE, "channel_missing")
        attempt = self._make_attempt(run, built, channel, sequence, now)
        recorded = await self._record(run, built, attempt)
        if not isinstance(recorded, Run):
            return await self._refuse(run, recorded, attempt)
        return await self._submit(recorded, terms, attempt, may_be_sent=False)

    async def resume(self, run: Run, terms: PlanTerms) -> Run | None:
        """Observe the envelope that a lost process left, and send the same bytes while it may land.

        One that the vault does not open is only observed.

        Raises:
            DatabaseUnavailable: the next recovery finds the run as it is.
        """
        found = await self._needs.journal.find_attempt(run)
        if found is None:  # its row was ended, and the run's was not: they are one transaction
            log.error("automation.attempt_missing", run=run.id)
            return None
        attempt, sealed = found
        record = _envelope_record(run, attempt.number)
        try:
            envelope = self._needs.sealer.open(
                sealed, owner=run.owner, purpose=ENVELOPE_PURPOSE, record=record
            )
        except Outage:  # it cannot be sent again, and may have landed all the same
            log.exception("automation.envelope_not_opened", run=run.id)
            return await self._needs.resolver.resolve(run, terms, attempt, Indeterminate())
        attempt = replace(attempt, sent=replace(attempt.sent, envelope=envelope))
        return await self._submit(run, terms, attempt, may_be_sent=True)

    async def _next_sequence(self, run: Run, channel: RunChannel) -> int | None:
        """The number of the run's envelope: that of an earlier dead one, or the channel's next."""
        if run.channel == channel.address and run.channel_sequence is not None:
            return run.channel_sequence
        used = channel.used_sequence
        if used is None:
            used = await self._needs.account_sequence(channel.address)
        return None if used is None else used + 1

    def _make_attempt(
        self, run: Run, built: BuiltRun, channel: RunChannel, sequence: int, now: LedgerReading
    ) -> Attempt:
        """The attempt, with a time bound of about twelve ledgers and a minute at most.

        Where ledgers close faster than that, it is what nodes ask for, and some seconds to spare.
        """
        prepared = built.prepared
        life_s = max(ATTEMPT_LEDGERS * now.cadence_s, now.shortest_bound_s() + _SPARE_S)
        max_time = min(prepared.bounds.max_time, now.close_at + timedelta(seconds=life_s))
        envelope = RunEnvelope(
            call=prepared.call,
            fee=built.fee,
            soroban_data=built.soroban_data,
            sequence=sequence,
            max_time=max_time.replace(microsecond=0),
            sent_after_ledger=now.sequence,
        )
        return Attempt(
            run_id=run.id,
            number=run.attempts + 1,
            sent=self._needs.paymaster.sign(channel, envelope),
            authorized_until=None if prepared.nonce is None else prepared.bounds.authorized_until,
            simulated_ledger=built.simulated_ledger,
            budget_on=self._clock.now().date(),
            uses_before=prepared.uses_before,
        )

    async def _record(self, run: Run, built: BuiltRun, attempt: Attempt) -> Run | AttemptRecording:
        """Record the attempt; a channel with an open envelope counts as a lost lease."""
        sealed = self._needs.sealer.seal(
            Secret(attempt.sent.envelope.reveal()),
            owner=run.owner,
            purpose=ENVELOPE_PURPOSE,
            record=_envelope_record(run, attempt.number),
        )
        try:
            numbered = replace(run, auth_nonce=built.prepared.nonce)
            return await self._needs.journal.record_attempt(numbered, attempt, sealed)
        except Conflict as conflict:
            log.exception("automation.attempt_refused", run=run.id, constraint=conflict.constraint)
            return AttemptRecording.LEASE_LOST

    async def _refuse(self, run: Run, why: AttemptRecording, attempt: Attempt) -> Run | None:
        failures = self._needs.failures
        match why:
            case AttemptRecording.PLAN_STOPPED:
                return await self._needs.journal.stop(run, PLAN_STOPPED)
            case AttemptRecording.NETWORK_STOPPED:
                return await failures.defer_while_stopped(run)
            case (
                AttemptRecording.BUDGET_OWNER
                | AttemptRecording.BUDGET_TOTAL
                | AttemptRecording.LOSS_OWNER
                | AttemptRecording.LOSS_NEW
            ):
                return await failures.defer_for_budget(run, why.value, attempt)
            case _:
                return None

    async def _submit(
        self, run: Run, terms: PlanTerms, attempt: Attempt, *, may_be_sent: bool
    ) -> Run | None:
        needs = self._needs

        async def on_taken() -> None:
            with suppress(DatabaseUnavailable):
                await needs.journal.mark_sent(attempt)

        left_s = (attempt.sent.max_time - self._clock.now()).total_seconds()
        until = self._clock.monotonic() + max(0.0, left_s) + _PROOF_S
        log.info("automation.run_sending", run=run.id, tx_hash=attempt.sent.tx_hash.hex())
        fate = await needs.submitter.submit(
            attempt.sent, until=until, on_taken=on_taken, may_be_sent=may_be_sent
        )
        ended = await needs.resolver.resolve(run, terms, attempt, fate)
        needs.channels.notify()
        return ended


def _envelope_record(run: Run, number: int) -> str:
    """The record in whose context an attempt's envelope is sealed."""
    return f"{run.id} {number}"
