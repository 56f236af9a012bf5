"""Make the envelope of a settlement: the buyer's call and entries under our own terms."""

import base64
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from farebox.facilitator.channels.ledger_room import LedgerUse, RoomMeter
from farebox.facilitator.channels.source_line import HeldSource, NoSourceFree
from farebox.facilitator.verification.served_network import OperatorRules
from farebox.facilitator.verification.verdict import Accepted
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.fees import FeePlan
from farebox.stellar.ledger_clock import ClockStale, LedgerReading
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.signers import Relayer
from farebox.stellar.splice import SignedTransaction, build_settlement, fee_bump, sign
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason

_LIFE_LOST: Final = 4  # what was prepared may have lost a fourth of the life of a new envelope

log = structlog.get_logger(__name__)


class NotPayableNow(Exception):
    """No envelope can be made for the payment at this moment; nothing was signed."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class SequenceNode(Protocol):
    """Where a sequence number is read."""

    async def account_sequence(self, address: Address) -> int | None: ...


class Ledgers(Protocol):
    """The ledger clock, read without a call."""

    def now(self) -> LedgerReading: ...


class Sealer:
    """Makes envelopes for the source accounts of one network."""

    def __init__(
        self,
        rules: OperatorRules,
        relayer: Relayer,
        node: SequenceNode,
        ledgers: Ledgers,
        meter: RoomMeter,
    ) -> None:
        self._rules, self._relayer, self._meter = rules, relayer, meter
        self._node, self._ledgers = node, ledgers

    async def seal(self, accepted: Accepted, source: HeldSource) -> SentEnvelope:
        """The next envelope of `source`: the one prepared for it, where that is still good.

        Raises:
            NotPayableNow: the ledger, its clock or the authorization's end do not allow one.
            NoSourceFree: the source is no account of the network.
        """
        now = self._now(accepted)
        sequence = await self._next_sequence(source)
        ready, source.ready = source.ready, None
        if ready is not None and self._is_good(ready, accepted, source, sequence, now):
            return replace(ready, sent_after_ledger=now.sequence)
        return self._sealed(accepted, source, sequence, now)

    def ahead(self, accepted: Accepted, source: HeldSource, sequence: int) -> SentEnvelope | None:
        """An envelope of a number whose turn has not come; None when none can be made now."""
        try:
            return self._sealed(accepted, source, sequence, self._now(accepted))
        except NotPayableNow:
            return None

    def _now(self, accepted: Accepted) -> LedgerReading:
        try:
            now = self._ledgers.now()
        except ClockStale as outage:
            raise NotPayableNow(Reason.NETWORK_UNAVAILABLE) from outage
        left = accepted.transfer.entry.expires_at_ledger - now.sequence
        if left < self._rules.min_life_ledgers:
            raise NotPayableNow(Reason.EXPIRES_TOO_SOON)
        return now

    def _is_good(
        self,
        ready: SentEnvelope,
        accepted: Accepted,
        source: HeldSource,
        sequence: int,
        now: LedgerReading,
    ) -> bool:
        if (ready.source, ready.source_sequence) != (source.lease.source.address, sequence):
            return False
        if ready.fee_limit != accepted.fee.highest_charge:
            return False
        life_s = self._rules.transaction_life_s
        latest = latest_time(now, accepted.transfer.entry.expires_at_ledger, life_s=life_s)
        return latest - ready.max_time <= timedelta(seconds=life_s / _LIFE_LOST)

    def _sealed(
        self, accepted: Accepted, source: HeldSource, sequence: int, now: LedgerReading
    ) -> SentEnvelope:
        sent = seal_settlement(
            accepted,
            self._rules,
            now,
            source=source.lease.source,
            sequence=sequence,
            fee_payer=None if source.is_relayer else self._relayer,
        )
        self._meter.measure(_use_of(accepted, sent))
        return sent

    async def _next_sequence(self, source: HeldSource) -> int:
        if source.used_sequence is None:
            address = source.lease.source.address
            try:
                source.used_sequence = await self._node.account_sequence(address)
            except RpcUnavailable as outage:
                raise NotPayableNow(Reason.NETWORK_UNAVAILABLE) from outage
            if source.used_sequence is None:
                log.error("source.missing", network=self._rules.network, source=address)
                raise NoSourceFree
        return source.used_sequence + 1


def _use_of(accepted: Accepted, sent: SentEnvelope) -> LedgerUse:
    resources = accepted.simulated.resources
    return LedgerUse(
        transaction_bytes=len(sent.envelope.reveal()),
        instructions=resources.instructions,
        write_entries=resources.read_write_keys,
        write_bytes=resources.write_bytes,
    )


def seal_settlement(
    accepted: Accepted,
    rules: OperatorRules,
    now: LedgerReading,
    *,
    source: Relayer,
    sequence: int,
    fee_payer: Relayer | None,
) -> SentEnvelope:
    """The signed envelope; inside a fee bump when somebody else than the source pays.

    Fee and resources are those of our own simulation; nothing the client put around its call is
    carried over (decision D18).
    """
    max_time = latest_time(
        now, accepted.transfer.entry.expires_at_ledger, life_s=rules.transaction_life_s
    )
    unsigned = build_settlement(
        accepted.transfer.envelope,
        source=source.address,
        sequence=sequence,
        fee=accepted.fee.envelope_fee,
        max_time=int(max_time.timestamp()),
        soroban_data=accepted.simulated.soroban_data,
    )
    signed = sign(unsigned, source.key, rules.network.id)
    if fee_payer is not None:
        signed = _paid_by(fee_payer, signed, accepted.fee, rules.network)
    return SentEnvelope(
        tx_hash=bytes.fromhex(signed.hash),
        inner_hash=bytes.fromhex(signed.inner_hash) if signed.inner_hash else None,
        envelope=Secret(base64.b64decode(signed.envelope_base64.reveal())),
        source=source.address,
        source_sequence=sequence,
        max_time=max_time,
        fee_limit=accepted.fee.highest_charge,
        sent_after_ledger=now.sequence,
    )


def _paid_by(
    payer: Relayer, inner: SignedTransaction, fee: FeePlan, network: Network
) -> SignedTransaction:
    return fee_bump(
        inner,
        fee_source=payer.address,
        fee=fee.highest_charge,
        key=payer.key,
        network_id=network.id,
    )


def latest_time(now: LedgerReading, expires_at_ledger: int, *, life_s: int) -> datetime:
    """The envelope's own time bound: `life_s` past the last close, never past the authorization.

    The authorization ends with a ledger; when that one closes is estimated from the cadence
    observed.
    """
    return min(now.close_at + timedelta(seconds=life_s), now.earliest_close(expires_at_ledger))
