"""Build a settlement's envelope: the buyer's call and entries, the operator's fee and bounds."""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from farebox.facilitator.channels.channel import ChannelLease, channel_signer
from farebox.facilitator.channels.lease_queue import NoChannelFree
from farebox.facilitator.channels.ledger_capacity import CapacityMeter, LedgerUse
from farebox.facilitator.verification.operator_rules import OperatorRules
from farebox.facilitator.verification.verdict import Accepted, expires_too_soon
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.secret import Secret
from farebox.stellar.fees import raise_inclusion_fee
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import FeeStats, RpcUnavailable
from farebox.stellar.signers import SigningAccount
from farebox.stellar.transactions import build_settlement, fee_bump, sign
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason

_MAX_LOST_LIFE: Final = 1 / 4  # the share of its life that a prebuilt envelope may have lost

log = structlog.get_logger(__name__)


class NotPayableNow(Exception):
    """No envelope may be sent for the payment now; nothing was sent."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class EnvelopeBuilder:
    """Builds and signs envelopes for the channel leases of one network.

    `ledger_now` and `fee_stats` read the ledger clock and the market without a call to the node;
    `account_sequence` reads the sequence number that an account used last from the node, None when
    there is no such account.
    """

    def __init__(
        self,
        rules: OperatorRules,
        relayer: SigningAccount,
        meter: CapacityMeter,
        *,
        ledger_now: Callable[[], LedgerReading],
        account_sequence: Callable[[Address], Awaitable[int | None]],
        fee_stats: Callable[[], FeeStats | None],
    ) -> None:
        self._rules, self._relayer, self._meter = rules, relayer, meter
        self._ledger_now, self._account_sequence = ledger_now, account_sequence
        self._fee_stats = fee_stats
        self._channel_signers: dict[
            int, SigningAccount
        ] = {}  # deriving one takes longer than signing

    async def build(
        self, accepted: Accepted, lease: ChannelLease, *, prebuilt: SentEnvelope | None = None
    ) -> SentEnvelope:
        """Build the next envelope of the leased account, or take `prebuilt` while it is usable.

        Raises:
            NotPayableNow: the node or its clock is unavailable, or the authorization ends too soon.
            NoChannelFree: the leased account does not exist on the network.
        """
        now = self._read_ledger(accepted)
        sequence = await self._read_used_sequence(lease) + 1
        if prebuilt is not None and self._is_usable(prebuilt, accepted, lease, sequence, now):
            return replace(prebuilt, sent_after_ledger=now.sequence)
        return self._sign(accepted, lease, sequence, now)

    def prebuild(self, accepted: Accepted, expected: ChannelLease) -> SentEnvelope | None:
        """Build the envelope for an expected lease in advance; None on any failure.

        It runs while another settlement releases its lease, which no fault here may break; `build`
        meets the same fault in the settlement's own call.
        """
        if expected.used_sequence is None:
            return None
        try:
            now = self._read_ledger(accepted)
            return self._sign(accepted, expected, expected.used_sequence + 1, now)
        except NotPayableNow:
            return None
        except Exception:
            log.exception("envelope.prebuild_failed")
            return None

    def raise_inclusion_fee(
        self, accepted: Accepted, *, replaced: SentEnvelope, attempt: int, floor: Stroops | None
    ) -> Accepted | None:
        """The payment with a higher inclusion fee than that of the envelope to be replaced.

        None where the operator's limits allow none. `attempt` (from 1) counts the replacements;
        `floor` is the whole fee (stroops) that the node named as sufficient, where it did.
        """
        fee = raise_inclusion_fee(
            accepted.fee,
            self._fee_stats(),
            self._rules.fees,
            fee_bumped=replaced.inner_hash is not None,
            attempt=attempt,
            floor=floor,
        )
        if fee is None:
            return None
        log.info("envelope.fee_raised", inclusion_fee=fee.inclusion_fee, attempt=attempt)
        return replace(accepted, fee=fee)

    def _read_ledger(self, accepted: Accepted) -> LedgerReading:
        try:
            now = self._ledger_now()
        except ClockStale as outage:
            raise NotPayableNow(Reason.NETWORK_UNAVAILABLE) from outage
        if expires_too_soon(accepted.transfer.entry.expires_at_ledger, self._rules, now):
            is_known = now.is_confirmed
            raise NotPayableNow(Reason.EXPIRES_TOO_SOON if is_known else Reason.NETWORK_UNAVAILABLE)
        return now

    async def _read_used_sequence(self, lease: ChannelLease) -> int:
        if lease.used_sequence is not None:
            return lease.used_sequence
        try:
            used = await self._account_sequence(lease.address)
        except RpcUnavailable as outage:
            raise NotPayableNow(Reason.NETWORK_UNAVAILABLE) from outage
        if used is None:
            log.error("channel.missing", network=self._rules.network, account=lease.address)
            raise NoChannelFree
        return used

    def _is_usable(
        self,
        prebuilt: SentEnvelope,
        accepted: Accepted,
        lease: ChannelLease,
        sequence: int,
        now: LedgerReading,
    ) -> bool:
        if (prebuilt.source, prebuilt.source_sequence) != (lease.address, sequence):
            return False
        if prebuilt.fee_limit != accepted.fee.highest_charge:
            return False
        lost = self._max_time(accepted, now) - prebuilt.max_time
        return lost <= timedelta(seconds=self._rules.transaction_life_s * _MAX_LOST_LIFE)

    def _max_time(self, accepted: Accepted, now: LedgerReading) -> datetime:
        """The envelope's time bound, never past the end of the authorization.

        The authorization ends with a ledger, whose close is estimated from the observed cadence.
        """
        life = timedelta(seconds=self._rules.transaction_life_s)
        expires_at_ledger = accepted.transfer.entry.expires_at_ledger
        return min(now.close_at + life, now.earliest_close(expires_at_ledger))

    def _sign(
        self, accepted: Accepted, lease: ChannelLease, sequence: int, now: LedgerReading
    ) -> SentEnvelope:
        """Build and sign the envelope, inside a fee bump of the relayer's for a channel's.

        Fee and resources are those of our own simulation; nothing that the client put around its
        call is copied (docs/decisions/0010).
        """
        network, max_time = self._rules.network, self._max_time(accepted, now)
        unsigned = build_settlement(
            accepted.transfer.envelope,
            source=lease.address,
            sequence=sequence,
            fee=accepted.fee.envelope_fee,
            max_time=int(max_time.timestamp()),
            soroban_data=accepted.simulated.soroban_data,
        )
        signed = sign(unsigned, self._signer_of(lease).key, network.id)
        if not lease.is_relayer:
            signed = fee_bump(
                signed,
                fee_source=self._relayer.address,
                fee=accepted.fee.highest_charge,
                key=self._relayer.key,
                network_id=network.id,
            )
        envelope = base64.b64decode(signed.envelope_base64.reveal())
        self._measure_use(accepted, len(envelope))
        return SentEnvelope(
            tx_hash=bytes.fromhex(signed.hash),
            inner_hash=bytes.fromhex(signed.inner_hash) if signed.inner_hash else None,
            envelope=Secret(envelope),
            source=lease.address,
            source_sequence=sequence,
            max_time=max_time,
            fee_limit=accepted.fee.highest_charge,
            sent_after_ledger=now.sequence,
        )

    def _measure_use(self, accepted: Accepted, size_bytes: int) -> None:
        resources = accepted.simulated.resources
        self._meter.measure(
            LedgerUse(
                transaction_bytes=size_bytes,
                instructions=resources.instructions,
                write_entries=resources.read_write_keys,
                write_bytes=resources.write_bytes,
            )
        )

    def _signer_of(self, lease: ChannelLease) -> SigningAccount:
        index = lease.derivation_index
        if index is None:
            return self._relayer
        if index not in self._channel_signers:
            signer = channel_signer(self._relayer, self._rules.network, index)
            self._channel_signers[index] = signer
        return self._channel_signers[index]
