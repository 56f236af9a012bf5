"""Decide the final status of a settlement from its envelope's fate.

A fate on the ledger is a confirmation or a failure with its reason. Before a failure is final,
another use of the payment's authorization is searched for.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from farebox.facilitator.journal.foreign_landing import (
    ForeignLanding,
    LandingSearch,
    LandingSearchFailed,
    SpentAuthorization,
)
from farebox.facilitator.settlement import Claim, FinalStatus, Settlement, SettlementState
from farebox.kernel.clock import Clock
from farebox.stellar.events import (
    ContractEvent,
    decode_contract_event,
    looks_like_token_movement,
    read_transfer_event,
)
from farebox.stellar.ledger_clock import (
    FASTEST_CADENCE_S,
    ClockStale,
    Ledgers,
    ledgers_for,
)
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.stellar.rpc_nodes import SimulationTrust
from farebox.submission.fate import Dead, SentEnvelope, Unproven
from farebox.x402.reasons import Reason

# The last ledger in which the nonce was free may lie so far before an envelope was signed: a node
# that is twelve ledgers behind may have judged the payment, and it may have waited for 50 s.
_JUDGED_BEFORE_S: Final = 120
_MAX_SEARCHED_LEDGERS: Final = 10_000  # a node looks through no more of them in one call
_SEARCH_RETRY: Final = timedelta(seconds=60)  # past the time bound and the first failed search
_FAILURES_KEPT: Final = timedelta(minutes=10)  # a row that is still open fails again long before

FinalFate = TransactionFound | Dead | Unproven

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class StatusResolver:
    """Decides final statuses, raises their alarms, and distrusts nodes that approved a failure."""

    def __init__(
        self, foreign: LandingSearch, clock: Clock, ledgers: Ledgers, trust: SimulationTrust
    ) -> None:
        self._foreign, self._clock, self._ledgers, self._trust = foreign, clock, ledgers, trust
        self._failed_since: dict[bytes, datetime] = {}  # by envelope hash, the first failed search

    def record_simulators(self, sent: SentEnvelope, nodes: tuple[str, ...]) -> None:
        """Remember the roles of the nodes whose simulation approved an envelope to be sent."""
        self._trust.remember(sent.tx_hash, nodes)

    async def resolve(
        self, fate: FinalFate, payment: Claim | Settlement, sent: SentEnvelope
    ) -> FinalStatus | None:
        """The settlement's final status; None while the user of its authorization is unknown.

        None as well where its own transaction is found after all: then the absence was no proof.

        An envelope of ours that moved nothing may have failed because another transaction had used
        the authorization: then the payment was made, and not by us (docs/decisions/0016).
        """
        final = await self._decide(fate, payment, sent)
        if final is not None:
            _raise_alarms(final, fate, payment, sent)
            self._judge_simulators(final, fate, payment, sent)
        return final

    def _judge_simulators(
        self, final: FinalStatus, fate: FinalFate, payment: Claim | Settlement, sent: SentEnvelope
    ) -> None:
        """Distrust the only node that approved an envelope whose call failed on the ledger."""
        nodes = self._trust.forget(sent.tx_hash)
        if not _call_failed(final, fate):
            return
        names = {"network": payment.identity.network, "payer": payment.identity.payer}
        names["tx_hash"] = sent.tx_hash.hex()
        if len(nodes) > 1:  # none of them is wrong: the state changed before it landed
            log.warning("settlement.refused_by_ledger", nodes=nodes, **names)
            return
        for node in nodes:
            self._trust.distrust(node)
        node = nodes[0] if nodes else "unknown"  # another process sent it
        log.error("settlement.alarm", alarm="simulation_contradicted", node=node, **names)

    async def _decide(
        self, fate: FinalFate, payment: Claim | Settlement, sent: SentEnvelope
    ) -> FinalStatus | None:
        final = derive_status(fate, payment)
        if isinstance(fate, TransactionFound):
            final = add_landed_hash(final, fate, sent)
        if final.state not in (SettlementState.FAILED, SettlementState.DEAD):
            return final
        try:
            landing = await self._search(fate, payment, sent)
        except LandingSearchFailed as failed:
            is_over = failed.is_beyond_history or self._is_overdue(failed, sent)
            return final if is_over else None
        self._failed_since.pop(sent.tx_hash, None)
        if landing is None:
            return final
        landed = sent.find_own(landing.tx_hash.hex())
        if landed is not None:
            is_seen = isinstance(fate, TransactionFound) and landed == sent.landed_as(fate)
            return final if is_seen else None
        reason = Reason.DUPLICATE_SETTLEMENT if landing.is_ours else Reason.FOREIGN_LANDING
        return replace(
            final, reason=reason, landed_hash=landing.tx_hash, landed_at=landing.landed_at
        )

    def _is_overdue(self, failed: LandingSearchFailed, sent: SentEnvelope) -> bool:
        """Whether searches have failed for so long that the row is not kept open for another."""
        if not failed.was_tried:
            return False
        now = self._clock.now()
        first_at = self._failed_since.setdefault(sent.tx_hash, now)
        if now <= max(sent.max_time, first_at) + _SEARCH_RETRY:
            return False
        oldest = now - _FAILURES_KEPT
        self._failed_since = {key: at for key, at in self._failed_since.items() if at > oldest}
        self._failed_since.pop(sent.tx_hash, None)
        return True

    async def _search(
        self, fate: FinalFate, payment: Claim | Settlement, sent: SentEnvelope
    ) -> ForeignLanding | None:
        """Search by the nonce's entry, which names the ledger, then by the transfers of ledgers.

        The entry goes when the authorization expires; the transfers remain.
        """
        spent = SpentAuthorization(payment.identity, payment.asset, payment.pay_to, payment.amount)
        last = fate.ledger if isinstance(fate, TransactionFound) else fate.as_of_ledger
        landing = await self._foreign.find_by_nonce(spent, as_of_ledger=last)
        if landing is not None:
            return landing
        first = max(1, sent.made_after_ledger() - self._judged_before())
        last = min(last, first + _MAX_SEARCHED_LEDGERS - 1)
        try:
            return await self._foreign.find_in_ledgers(spent, first=first, last=last)
        except LandingSearchFailed as failed:
            if not failed.is_beyond_history:
                raise
            first = sent.made_after_ledger() + 1
            return await self._foreign.find_in_ledgers(spent, first=first, last=last)

    def _judged_before(self) -> int:
        try:
            cadence_s = self._ledgers.now().cadence_s
        except ClockStale:
            cadence_s = FASTEST_CADENCE_S
        return ledgers_for(_JUDGED_BEFORE_S, cadence_s=cadence_s, tolerance=0)


def derive_status(fate: FinalFate, payment: Claim | Settlement) -> FinalStatus:
    """The final status by the envelope's fate alone."""
    match fate:
        case TransactionFound():
            return _derive_landed(fate, payment)
        case Dead():
            return FinalStatus(SettlementState.DEAD, Reason.TRANSACTION_FAILED)
        case Unproven():
            return FinalStatus(SettlementState.UNPROVEN, Reason.OUTCOME_UNPROVEN)


def _derive_landed(found: TransactionFound, payment: Claim | Settlement) -> FinalStatus:
    """Success is the ledger's result *and* the expected transfer among its events."""
    is_paid = found.status is LedgerStatus.SUCCESS and has_transfer(found, payment)
    return FinalStatus(
        SettlementState.CONFIRMED if is_paid else SettlementState.FAILED,
        None if is_paid else Reason.TRANSACTION_FAILED,
        detail=found.operation_code or found.result_code,
        ledger=found.ledger,
        fee_charged=found.fee_charged,
        has_extra_movement=has_extra_movement(found, payment),
    )


def add_landed_hash(final: FinalStatus, found: TransactionFound, sent: SentEnvelope) -> FinalStatus:
    """`final` with the hash of the envelope that landed, where it is not the outer one of `sent`.

    That may be an envelope that was replaced, or one that landed inside a stranger's fee bump: ours
    all the same, under the inner hash, and the stranger paid for it.
    """
    landed = sent.landed_as(found)
    own_hash = landed.tx_hash
    if found.hash != own_hash.hex() or (found.inner_hash is not None and not landed.inner_hash):
        own_hash = landed.inner_hash or landed.tx_hash  # the hash that the node resolves
        final = replace(final, fee_charged=0)
    return replace(final, landed_hash=own_hash) if own_hash != sent.tx_hash else final


def has_transfer(found: TransactionFound, payment: Claim | Settlement) -> bool:
    """Whether the payment's transfer is among the transaction's events."""
    return any(_is_payment(event, payment) for event in _decode_events(found))


def has_extra_movement(found: TransactionFound, payment: Claim | Settlement) -> bool:
    """Whether a token movement besides the payment is among the transaction's events.

    It does not turn a landed payment into a failure; the operator should know who does it.
    """
    movements = [event for event in _decode_events(found) if looks_like_token_movement(event)]
    return any(not _is_payment(event, payment) for event in movements)


def _decode_events(found: TransactionFound) -> list[ContractEvent]:
    encoded = (event for operation in found.contract_events for event in operation)
    return [event for each in encoded if (event := decode_contract_event(each)) is not None]


def _is_payment(event: ContractEvent, payment: Claim | Settlement) -> bool:
    transfer = read_transfer_event(event)
    if transfer is None or transfer.muxed_id is not None:
        return False
    expected = (payment.asset, payment.identity.payer, payment.pay_to, payment.amount)
    return (transfer.asset, transfer.sender, transfer.recipient, transfer.amount) == expected


def _call_failed(final: FinalStatus, fate: FinalFate) -> bool:
    """Whether the call itself failed, and no other transaction had used its authorization."""
    return (
        isinstance(fate, TransactionFound)
        and fate.status is LedgerStatus.FAILED
        and fate.operation_code is not None
        and final.reason is Reason.TRANSACTION_FAILED
    )


def _raise_alarms(
    final: FinalStatus, fate: FinalFate, payment: Claim | Settlement, sent: SentEnvelope
) -> None:
    """Log the alarms of a final status (docs/operations.md, Alarms)."""
    alarms = {
        "settlement_unproven": final.state is SettlementState.UNPROVEN,
        "envelope_moved_more": final.has_extra_movement,
        "success_without_transfer": isinstance(fate, TransactionFound)
        and fate.status is LedgerStatus.SUCCESS
        and final.state is SettlementState.FAILED,
    }
    for alarm in (name for name, is_raised in alarms.items() if is_raised):
        tx_hash, payer = sent.tx_hash.hex(), payment.identity.payer
        log.error("settlement.alarm", alarm=alarm, tx_hash=tx_hash, payer=payer)
