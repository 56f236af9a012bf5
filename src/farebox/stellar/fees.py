"""What a settlement bids and costs, held against a ceiling on the finished envelope."""

from dataclasses import dataclass
from typing import Final

from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import FeeStats

DEFAULT_CEILING: Final = Stroops(500_000)  # a plain transfer costs about 23,000
DEFAULT_INCLUSION_CAP: Final = Stroops(100_000)
MINIMUM_INCLUSION: Final = Stroops(100)  # the network's own minimum for one operation
_UNKNOWN_MARKET_BID: Final = 1_000  # more than the bid that wins is not charged
_MAX_DOUBLINGS: Final = 32
_MAX_ENVELOPE_FEE: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class FeePolicy:
    """What the operator allows, per settlement."""

    ceiling: Stroops = DEFAULT_CEILING
    inclusion_cap: Stroops = DEFAULT_INCLUSION_CAP


@dataclass(frozen=True, slots=True)
class FeePlan:
    """The fees of one settlement, each at most the ceiling.

    `bump_fee` is the fee of the fee bump around it, which is then charged in place of
    `envelope_fee`; None without one. `highest_charge` is the most that can be charged.
    """

    inclusion_bid: Stroops
    resource_fee: Stroops
    envelope_fee: Stroops
    bump_fee: Stroops | None

    @property
    def highest_charge(self) -> Stroops:
        """What to reserve; the network gives back what was not used."""
        return self.envelope_fee if self.bump_fee is None else self.bump_fee


@dataclass(frozen=True, slots=True)
class FeeOverCeiling:
    """The settlement would cost more than the operator allows, at the lowest bid that may do."""

    lowest_charge: Stroops
    ceiling: Stroops


def inclusion_bid(stats: FeeStats | None, *, attempt: int, cap: Stroops) -> Stroops:
    """What to bid for inclusion, 100 stroops at least and `cap` at most.

    The first attempt bids twice what 99 of 100 calls paid: a full ledger charges everybody its
    lowest winning bid, so that a higher one is next to free. Each later attempt bids twice the one
    before, and no less than the most that was paid. `stats` is None while the market is not known.
    """
    first = _UNKNOWN_MARKET_BID if stats is None else 2 * stats.soroban.p99
    bid = max(MINIMUM_INCLUSION, first) << min(attempt, _MAX_DOUBLINGS)
    if attempt > 0 and stats is not None:
        bid = max(bid, stats.soroban.maximum)
    return Stroops(max(MINIMUM_INCLUSION, min(bid, cap)))


def plan_fees(
    resource_fee: int,
    stats: FeeStats | None,
    policy: FeePolicy,
    *,
    fee_bumped: bool,
    attempt: int = 0,
    floor: Stroops | None = None,
) -> FeePlan | FeeOverCeiling:
    """The fees of a settlement whose simulation names `resource_fee` (stroops).

    A fee bump counts one operation more, so it bids twice. Where the bid would break the
    ceiling the bid gives way, down to the network's minimum; the resource fee cannot, nor can
    `floor`, the whole fee that a node said it would have taken.
    """
    ceiling = min(policy.ceiling, _MAX_ENVELOPE_FEE)
    operations = 2 if fee_bumped else 1
    room = (ceiling - resource_fee) // operations
    least = _least_bid(resource_fee, floor, operations)
    if resource_fee < 0 or room < least or max(policy.inclusion_cap, MINIMUM_INCLUSION) < least:
        lowest = max(0, resource_fee) + operations * least
        return FeeOverCeiling(lowest_charge=Stroops(lowest), ceiling=policy.ceiling)
    market = inclusion_bid(stats, attempt=attempt, cap=policy.inclusion_cap)
    bid = Stroops(max(least, min(market, room)))
    return FeePlan(
        inclusion_bid=bid,
        resource_fee=Stroops(resource_fee),
        envelope_fee=Stroops(resource_fee + bid),
        bump_fee=Stroops(resource_fee + operations * bid) if fee_bumped else None,
    )


def _least_bid(resource_fee: int, floor: Stroops | None, operations: int) -> int:
    asked = 0 if floor is None else -((resource_fee - floor) // operations)  # rounded up
    return max(MINIMUM_INCLUSION, asked)
