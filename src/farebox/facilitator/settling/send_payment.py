"""Send an accepted payment to the ledger through a leased channel account."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

import structlog

from farebox.facilitator.budgets.budget import BudgetRefusal
from farebox.facilitator.channels.channel import ChannelLease
from farebox.facilitator.channels.channel_leases import ChannelLeases
from farebox.facilitator.channels.lease_queue import NoChannelFree
from farebox.facilitator.journal.claim_release import ClaimReleaser, InterruptedClaim
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.journal.status_resolver import StatusResolver
from farebox.facilitator.settlement import (
    Claim,
    NothingSent,
    NotSettled,
    Pending,
    Recording,
    Settlement,
    SettlementState,
    SettleOutcome,
    build_outcome,
    read_outcome,
)
from farebox.facilitator.settling.envelope_builder import EnvelopeBuilder, NotPayableNow
from farebox.facilitator.settling.shutdown_signal import ShutdownSignal
from farebox.facilitator.verification.verdict import Accepted
from farebox.kernel.clock import Clock
from farebox.stellar.rpc import BAD_SEQUENCE, FEE_TOO_LOW, TransactionFound
from farebox.storage.faults import DatabaseUnavailable
from farebox.submission.fate import Dead, Fate, Indeterminate, NotSent, Refused, SentEnvelope
from farebox.submission.submit import Submitter
from farebox.submission.try_again_later import TryAgainLaterCause
from farebox.x402.reasons import Reason

_SOURCE_BUSY_PAUSE_S: Final = 0.2
_RETRY_AFTER_S: Final = 5
_MAX_ENVELOPES: Final = 4  # of which one at most can land
_MAX_LOST_LEASES: Final = 3

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SendingNetwork:
    """The leases, builder, submitter and status resolver of one network."""

    leases: ChannelLeases
    builder: EnvelopeBuilder
    submitter: Submitter
    statuses: StatusResolver
    shutdown: ShutdownSignal


@dataclass(frozen=True, slots=True)
class SettleTimeouts:
    """The timeouts of a settlement, in seconds."""

    answer_s: float  # until the caller has a response
    channel_s: float  # for a channel lease


class PaymentSender:
    """Sends each payment under a channel lease; its envelope is recorded before it is sent.

    It owns the prebuilt envelope of a payment that waits for its lease.
    """

    def __init__(
        self,
        network: SendingNetwork,
        journal: SettlementJournal,
        claim_releaser: ClaimReleaser,
        clock: Clock,
        timeouts: SettleTimeouts,
    ) -> None:
        self._network, self._journal, self._clock = network, journal, clock
        self._claim_releaser, self._timeouts = claim_releaser, timeouts

    async def send(
        self, claim: Claim, accepted: Accepted, *, client: str, began: float
    ) -> SettleOutcome:
        """Sign, record and send an envelope, and wait for the outcome; or release the claim.

        `client` is the share that waits for a channel. The caller has waited since `began`
        (monotonic seconds), judging included.

        Raises:
            NothingSent: no channel was free in time; the claim was released.
            DatabaseUnavailable: before anything was sent.
        """
        try:
            return await self._send_under_lease(claim, accepted, client, began)
        except NoChannelFree as missed:
            await self._claim_releaser.release(InterruptedClaim(claim))
            raise NothingSent(
                claim.identity.network, claim.identity.payer, retry_after_s=_RETRY_AFTER_S
            ) from missed
        except NotPayableNow as refusal:
            await self._claim_releaser.release(InterruptedClaim(claim))
            return NotSettled(refusal.reason, claim.identity.network, claim.identity.payer)
        except Exception:  # without effect where an envelope is recorded
            await self._claim_releaser.release(InterruptedClaim(claim))
            raise

    async def _send_under_lease(
        self, claim: Claim, accepted: Accepted, client: str, began: float
    ) -> SettleOutcome:
        """Wait for a lease, and for another one where the envelope is not recorded under it."""
        leases, builder = self._network.leases, self._network.builder
        prebuilt: SentEnvelope | None = None

        def prebuild(expected: ChannelLease) -> None:
            nonlocal prebuilt
            prebuilt = builder.prebuild(accepted, expected)

        ticket = leases.issue_ticket(client, wait_s=self._timeouts.channel_s)
        lost_leases = 0
        while True:
            is_late = self._clock.monotonic() >= ticket.deadline
            lease = await leases.acquire(ticket, prebuild)
            try:
                sent = await builder.build(accepted, lease, prebuilt=prebuilt)
                lease = replace(lease, used_sequence=sent.source_sequence - 1)
                recorded = await self._record(claim, sent, epoch=lease.epoch)
                if isinstance(recorded, BudgetRefusal):
                    raise NotPayableNow(recorded.reason)
                lease = lease.with_unknown_sequence()
                if recorded is Recording.WRITTEN:
                    until = began + self._timeouts.answer_s
                    outcome, lease = await self._submit_and_replace(
                        claim, accepted, lease, sent, until=until
                    )
                    return outcome
                if recorded is Recording.CLAIM_LOST:  # or the lease was lost
                    lost_leases += 1
                if lease.is_relayer:
                    await self._clock.sleep(_SOURCE_BUSY_PAUSE_S)
            finally:
                await leases.release(lease)
            if lost_leases == _MAX_LOST_LEASES or is_late:
                raise NoChannelFree

    async def _record(
        self, claim: Claim, sent: SentEnvelope, *, epoch: int
    ) -> Recording | BudgetRefusal:
        try:
            return await self._journal.record_sending(claim, sent, epoch=epoch)
        except Exception:  # it may be recorded, and is not sent
            await self._claim_releaser.release(InterruptedClaim(claim, sent.tx_hash))
            raise

    async def resume(
        self, known: Settlement, sent: SentEnvelope, *, until: float, may_take_over: bool
    ) -> SettleOutcome | None:
        """Resume the envelope of an earlier call or process, until `until` (monotonic seconds).

        The same envelope is sent again while its own time bound holds and no node is known to
        have it; otherwise, when another process does so already, or unless `may_take_over`, it is
        only watched. None where it is dead and the call that claimed the payment may replace it.

        Raises:
            DatabaseUnavailable: nothing was sent again.
        """
        taken = None
        if may_take_over and known.state is SettlementState.SENDING:
            taken = await self._journal.take_over(known, sent.tx_hash)
        if taken is not None:
            known = taken
            fate = await self._submit(sent, until, may_be_sent=True)
        else:
            watch = self._network.submitter.wait(sent, until=until)
            fate = await self._network.shutdown.run_until_set(watch) or Indeterminate()
            if known.may_be_replaced(fate, now=self._clock.now()):
                return None
        return await self._finish(known, sent, fate)

    async def _submit_and_replace(
        self,
        claim: Claim,
        accepted: Accepted,
        lease: ChannelLease,
        sent: SentEnvelope,
        *,
        until: float,
    ) -> tuple[SettleOutcome, ChannelLease]:
        """Submit `sent`, and replace it while one at most of its envelopes can land.

        Returns the lease with the value to release.
        """
        fate = await self._submit_new(accepted, sent, until, lease=lease)
        for attempt in range(1, _MAX_ENVELOPES):
            priced = self._price_replacement(accepted, sent, fate, attempt, until=until)
            if priced is None or not await self._is_unused(claim, sent, fate):
                break
            replacement = await self._replace(claim, priced, lease, sent, fate)
            if isinstance(replacement, BudgetRefusal) and _is_refused(sent, fate):
                return await self._withdraw(claim, sent, replacement.reason), lease
            if not isinstance(replacement, SentEnvelope):
                break
            accepted, sent = priced, replacement
            fate = await self._submit_new(accepted, sent, until, lease=lease)
        fate = await self._await_replaced(sent, fate, until)
        outcome = await self._finish(claim, sent, fate)
        if isinstance(fate, TransactionFound) and not isinstance(outcome, Pending):
            lease = lease.with_landed(sent.landed_as(fate).source_sequence)
        return outcome, lease

    async def _submit_new(
        self, accepted: Accepted, sent: SentEnvelope, until: float, *, lease: ChannelLease
    ) -> Fate:
        self._network.statuses.record_simulators(sent, accepted.simulated.nodes)
        return await self._submit(sent, until, lease=lease, may_be_replaced=True)

    async def _await_replaced(self, sent: SentEnvelope, fate: Fate, until: float) -> Fate:
        """The fate of the last envelope and of all that it replaced, by `until` where it is open.

        A refusal of the last one is no fate of those before it: one of them may have used the very
        sequence number for which it was refused. Where all were refused, one look will do.
        """
        is_open = isinstance(fate, Indeterminate) and fate.cause is not None
        if not (is_open or (sent.replaced and isinstance(fate, NotSent | Refused))):
            return fate
        was_refused = not is_open and sent.is_only_one_out()
        until = self._clock.monotonic() if was_refused else until
        watch = self._network.submitter.wait(sent, until=until)
        seen = await self._network.shutdown.run_until_set(watch) or Indeterminate()
        return fate if was_refused and isinstance(seen, Indeterminate) else seen

    async def _is_unused(self, claim: Claim, sent: SentEnvelope, fate: Fate) -> bool:
        """Whether nothing has used the authorization of an envelope that seems dead."""
        if not isinstance(fate, Dead):
            return True
        final = await self._network.statuses.resolve(fate, claim, sent)
        return final is not None and final.landed_hash is None

    def _price_replacement(
        self, accepted: Accepted, sent: SentEnvelope, fate: Fate, attempt: int, *, until: float
    ) -> Accepted | None:
        """The payment with the fees of a replacement; None where no other envelope may be sent."""
        if self._clock.monotonic() >= until:
            return None
        if isinstance(fate, Refused) and fate.result_code == BAD_SEQUENCE:
            return accepted if sent.is_only_one_out() else None
        if isinstance(fate, Dead):
            floor = None
        elif _is_outbid(fate):
            floor = fate.required_fee
        else:
            return None
        builder = self._network.builder
        return builder.raise_inclusion_fee(accepted, replaced=sent, attempt=attempt, floor=floor)

    async def _replace(
        self,
        claim: Claim,
        accepted: Accepted,
        lease: ChannelLease,
        earlier: SentEnvelope,
        fate: Fate,
    ) -> SentEnvelope | BudgetRefusal | None:
        """Build and record an envelope in place of `earlier`.

        None where that fails, where it is unknown whether it was recorded, and where the number of
        an earlier envelope that may land is used meanwhile: then that one has probably landed.
        """
        try:
            built = await self._network.builder.build(accepted, lease)
            has_new_number = built.source_sequence != earlier.source_sequence
            if has_new_number and not (_is_refused(earlier, fate) or isinstance(fate, Dead)):
                return None
            if built.tx_hash.hex() in earlier.hashes():
                return None
            sent = built.in_place_of(earlier, was_refused=isinstance(fate, Refused))
            recorded = await self._journal.replace(claim, sent)
        except (NotPayableNow, NoChannelFree, DatabaseUnavailable):
            return None
        if isinstance(recorded, BudgetRefusal):
            return recorded
        return sent if recorded is Recording.WRITTEN else None

    async def _submit(
        self,
        sent: SentEnvelope,
        until: float,
        *,
        lease: ChannelLease | None = None,
        may_be_sent: bool = False,
        may_be_replaced: bool = False,
    ) -> Fate:
        async def on_taken() -> None:
            if lease is not None:
                self._network.leases.expect(lease.with_landed(sent.source_sequence))
            with suppress(DatabaseUnavailable):  # reconciliation takes a row in `sending` too
                await self._journal.record_submitted(sent.tx_hash)

        submitter, shutdown = self._network.submitter, self._network.shutdown
        if shutdown.is_set:
            return Indeterminate() if may_be_sent else NotSent()
        log.info("settlement.sending", tx_hash=sent.tx_hash.hex())
        fate = await shutdown.run_until_set(
            submitter.submit(
                sent,
                until=until,
                on_taken=on_taken,
                may_be_sent=may_be_sent,
                may_be_replaced=may_be_replaced,
            )
        )
        return fate if fate is not None else Indeterminate()

    async def _withdraw(
        self, payment: Claim | Settlement, sent: SentEnvelope, reason: Reason
    ) -> SettleOutcome:
        """Delete the payment's row; pending where that is unknown or another process has the row.

        A row with another claim was resumed by another process, which may have sent the envelope.
        """
        identity = payment.identity
        try:
            is_free = await self._journal.withdraw(
                identity, sent.tx_hash, claim_id=payment.claim_id
            )
        except DatabaseUnavailable:
            is_free = False
        if not is_free:
            return Pending(identity.network, identity.payer, sent.tx_hash.hex())
        return NotSettled(reason, identity.network, identity.payer)

    async def _finish(
        self, payment: Claim | Settlement, sent: SentEnvelope, fate: Fate
    ) -> SettleOutcome:
        """Record the fate of the payment's envelopes, and build the outcome."""
        identity, tx_hash = payment.identity, sent.tx_hash.hex()
        pending = Pending(identity.network, identity.payer, tx_hash)
        try:
            if isinstance(fate, Indeterminate):
                await self._journal.hand_over(sent.tx_hash)
                return pending
            if isinstance(fate, NotSent | Refused):
                return await self._withdraw(payment, sent, _read_refusal(fate))
            final = await self._network.statuses.resolve(fate, payment, sent)
            if final is None:  # reconciliation searches again
                await self._journal.hand_over(sent.tx_hash)
                return pending
            if not await self._journal.record_final(sent.tx_hash, final):
                # another process replaced this envelope or finalized the row: the row is right
                row = await self._journal.find(identity)
                return pending if row is None else read_outcome(row)
        except DatabaseUnavailable:
            return pending  # the row is still in `sending`: reconciliation finalizes it
        log.info("settlement.finalized", tx_hash=tx_hash, state=final.state, detail=final.detail)
        return build_outcome(final, payment, tx_hash)


def _is_outbid(fate: Fate) -> TypeGuard[Refused | Indeterminate]:
    """Whether an envelope of the same number with a higher fee may be queued."""
    if isinstance(fate, Refused):
        return fate.result_code == FEE_TOO_LOW
    return isinstance(fate, Indeterminate) and fate.cause is TryAgainLaterCause.QUEUE_FULL


def _is_refused(sent: SentEnvelope, fate: Fate) -> bool:
    """Whether the network refused every envelope of the payment, so that none is out."""
    return isinstance(fate, Refused) and sent.is_only_one_out()


def _read_refusal(fate: NotSent | Refused) -> Reason:
    """The reason code of an envelope that can never land; the same body may be repeated."""
    if isinstance(fate, NotSent):
        return Reason.NETWORK_UNAVAILABLE
    log.warning("settlement.refused", result_code=fate.result_code)
    return Reason.SUBMISSION_FAILED
