"""What to bid once more for a payment whose envelope the network had no place for."""

from dataclasses import replace
from typing import Final

from farebox.facilitator.verification.verdict import Accepted
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
    is_bumped: bool,
) -> Accepted | None:
    """The same payment with a higher bid; None where the operator's limits leave no room for one.

    `wanted` is the whole fee the node would have taken the envelope for, where it said so;
    `is_bumped` whether that envelope is a fee bump.
    """
    last = accepted.fee
    planned = plan_fees(
        last.resource_fee, market, policy, fee_bumped=is_bumped, attempt=attempt, floor=wanted
    )
    if isinstance(planned, FeeOverCeiling):
        return None
    operations = _OPERATIONS if is_bumped else 1
    room = min(policy.inclusion_cap, (policy.ceiling - last.resource_fee) // operations)
    bid = max(planned.inclusion_bid, min(2 * last.inclusion_bid, room))
    if not last.inclusion_bid < bid <= room:
        return None
    return replace(accepted, fee=_plan(last.resource_fee, bid, is_bumped=is_bumped))


def _plan(resource_fee: Stroops, bid: int, *, is_bumped: bool) -> FeePlan:
    return FeePlan(
        inclusion_bid=Stroops(bid),
        resource_fee=resource_fee,
        envelope_fee=Stroops(resource_fee + bid),
        bump_fee=Stroops(resource_fee + _OPERATIONS * bid) if is_bumped else None,
    )
