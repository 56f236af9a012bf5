"""What a settlement bids and costs, held against a ceiling on the finished envelope."""

from dataclasses import dataclass
from typing import Final

from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import FeeStats

DEFAULT_CEILING: Final = Stroops(500_000)  # a plain transfer costs about 23,000
DEFAULT_INCLUSION_CAP: Final = Stroops(100_000)
MINIMUM_INCLUSION: Final = Stroops(100)  # the network's own minimum for one operation
_UNKNOWN_MARKET_BID: Final = 1_000  # more than the bid that wins is not charged
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
    """The settlement would cost more than the operator allows, at the lowest bid there is."""

    lowest_charge: Stroops
    ceiling: Stroops


def inclusion_bid(stats: FeeStats | None, *, attempt: int, cap: Stroops) -> Stroops:
    """What to bid for inclusion, 100 stroops at least and `cap` at most.

    The first attempt bids what 90 of 100 calls paid, later ones go up to the most that was
    paid and then double it. `stats` is None while the market is not known.
    """
    if stats is None:
        steps = [_UNKNOWN_MARKET_BID]
    else:
        fees = stats.soroban
        steps = [fees.p90, fees.p99, fees.maximum]
    doublings = min(max(0, attempt - len(steps) + 1), 32)
    bid = max(MINIMUM_INCLUSION, steps[min(attempt, len(steps) - 1)]) << doublings
    return Stroops(max(MINIMUM_INCLUSION, min(bid, cap)))


def plan_fees(
    resource_fee: int,
    stats: FeeStats | None,
    policy: FeePolicy,
    *,
    fee_bumped: bool,
    attempt: int = 0,
) -> FeePlan | FeeOverCeiling:
    """The fees of a settlement whose simulation names `resource_fee` (stroops).

    A fee bump counts one operation more, so it bids twice. Where the bid would break the
    ceiling the bid gives way, down to the network's minimum; the resource fee cannot.
    """
    ceiling = min(policy.ceiling, _MAX_ENVELOPE_FEE)
    operations = 2 if fee_bumped else 1
    room = (ceiling - resource_fee) // operations
    if resource_fee < 0 or room < MINIMUM_INCLUSION:
        lowest = max(0, resource_fee) + operations * MINIMUM_INCLUSION
        return FeeOverCeiling(lowest_charge=Stroops(lowest), ceiling=policy.ceiling)
    bid = Stroops(min(inclusion_bid(stats, attempt=attempt, cap=policy.inclusion_cap), room))
    return FeePlan(
        inclusion_bid=bid,
        resource_fee=Stroops(resource_fee),
        envelope_fee=Stroops(resource_fee + bid),
        bump_fee=Stroops(resource_fee + operations * bid) if fee_bumped else None,
    )
