"""What to bid once more for a payment whose envelope the network had no place for."""

from dataclasses import replace
from typing import Final

from farebox.facilitator.verdict import Accepted
from farebox.kernel.amounts import Stroops
from farebox.stellar.fees import FeeOverCeiling, FeePlan, FeePolicy, plan_fees
from farebox.stellar.rpc import FeeStats

_OPERATIONS: Final = 2  # a fee bump counts one operation more than the call inside


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
    planned = plan_fees(
        last.resource_fee,
        market,
        policy,
        fee_bumped=last.bump_fee is not None,
        attempt=attempt,
        floor=wanted,
    )
    if isinstance(planned, FeeOverCeiling):
        return None
    operations = 1 if last.bump_fee is None else _OPERATIONS
    room = min(policy.inclusion_cap, (policy.ceiling - last.resource_fee) // operations)
    bid = max(planned.inclusion_bid, min(2 * last.inclusion_bid, room))
    if not last.inclusion_bid < bid <= room:
        return None
    return replace(accepted, fee=_plan(last, bid, operations))


def _plan(last: FeePlan, bid: int, operations: int) -> FeePlan:
    return FeePlan(
        inclusion_bid=Stroops(bid),
        resource_fee=last.resource_fee,
        envelope_fee=Stroops(last.resource_fee + bid),
        bump_fee=None if last.bump_fee is None else Stroops(last.resource_fee + operations * bid),
    )
