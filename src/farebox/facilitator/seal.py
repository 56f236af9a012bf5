"""Make the envelope of a settlement: the buyer's call and entries under our own terms."""

import base64
from datetime import datetime, timedelta

from farebox.facilitator.served_network import OperatorRules
from farebox.facilitator.verdict import Accepted
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.fees import FeePlan
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.signers import Relayer
from farebox.stellar.splice import SignedTransaction, build_settlement, fee_bump, sign
from farebox.submission.fate import SentEnvelope


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
