"""What to bid once more for a payment whose envelope the network had no place for."""

from dataclasses import replace

from farebox.facilitator.verdict import Accepted
from farebox.kernel.amounts import Stroops
from farebox.stellar.fees import FeeOverCeiling, FeePolicy, plan_fees
from farebox.stellar.rpc import FeeStats


def bid_higher(
    accepted: Accepted,
    policy: FeePolicy,
    market: FeeStats | None,
    *,
    attempt: int,
    wanted: Stroops | None,
) -> Accepted | None:
    """The same payment with a higher bid; None where the operator's limits leave no room for one.

    `wanted` is the whole fee the node would have taken the envelope for, where it said so.
    """
    last = accepted.fee
    fee = plan_fees(
        last.resource_fee,
        market,
        policy,
        fee_bumped=last.bump_fee is not None,
        attempt=attempt,
        floor=wanted,
    )
    if isinstance(fee, FeeOverCeiling) or fee.inclusion_bid <= last.inclusion_bid:
        return None
    return replace(accepted, fee=fee)
