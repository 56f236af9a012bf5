"""The fees of a settlement, within the fee ceiling."""

from dataclasses import dataclass
from typing import Final

from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import FeeStats

DEFAULT_CEILING: Final = Stroops(500_000)  # a plain transfer costs about 23,000
DEFAULT_INCLUSION_CAP: Final = Stroops(100_000)
MINIMUM_INCLUSION: Final = Stroops(100)  # the network's own minimum for one operation
_DEFAULT_INCLUSION: Final = 1_000  # no more is charged than the lowest fee the ledger accepted
_MAX_DOUBLINGS: Final = 32
_MAX_ENVELOPE_FEE: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class FeePolicy:
    """The operator's limits on the fees of one settlement."""

    ceiling: Stroops = DEFAULT_CEILING
    inclusion_cap: Stroops = DEFAULT_INCLUSION_CAP


@dataclass(frozen=True, slots=True)
class FeePlan:
    """The fees of one settlement, each at most the ceiling.

    `bump_fee` is the fee of the fee bump around it, which is then charged in place of
    `envelope_fee`; None without one. `highest_charge` is the most that can be charged.
    """

    inclusion_fee: Stroops
    resource_fee: Stroops
    envelope_fee: Stroops
    bump_fee: Stroops | None

    @property
    def highest_charge(self) -> Stroops:
        """The fee to reserve; the network gives back the unused part."""
        return self.envelope_fee if self.bump_fee is None else self.bump_fee


@dataclass(frozen=True, slots=True)
class FeeOverCeiling:
    """The settlement would exceed the operator's ceiling, even at the lowest inclusion fee."""

    lowest_charge: Stroops
    ceiling: Stroops


def choose_inclusion_fee(stats: FeeStats | None, *, attempt: int, cap: Stroops) -> Stroops:
    """The inclusion fee to offer, 100 stroops at least and `cap` at most.

    The first attempt offers twice the 99th percentile: a full ledger charges every transaction the
    lowest fee it accepted, so that a higher offer costs next to nothing. Each later attempt doubles
    it, to no less than the highest fee paid. `stats` is None while the market is not known.
    """
    first = _DEFAULT_INCLUSION if stats is None else 2 * stats.p99
    inclusion_fee = max(MINIMUM_INCLUSION, first) << min(attempt, _MAX_DOUBLINGS)
    if attempt > 0 and stats is not None:
        inclusion_fee = max(inclusion_fee, stats.maximum)
    return Stroops(max(MINIMUM_INCLUSION, min(inclusion_fee, cap)))


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

    A fee bump counts one operation more, so it pays the inclusion fee twice. Where the
    ceiling would be exceeded the inclusion fee is lowered, down to the network's minimum; the
    resource fee and `floor`, the whole fee that a node requires, are not.
    """
    ceiling = min(policy.ceiling, _MAX_ENVELOPE_FEE)
    operations = _operations(fee_bumped=fee_bumped)
    room = (ceiling - resource_fee) // operations
    least = _least_inclusion_fee(resource_fee, floor, operations)
    if resource_fee < 0 or room < least or max(policy.inclusion_cap, MINIMUM_INCLUSION) < least:
        lowest = max(0, resource_fee) + operations * least
        return FeeOverCeiling(lowest_charge=Stroops(lowest), ceiling=policy.ceiling)
    market = choose_inclusion_fee(stats, attempt=attempt, cap=policy.inclusion_cap)
    return _plan(resource_fee, max(least, min(market, room)), fee_bumped=fee_bumped)


def raise_inclusion_fee(
    last: FeePlan,
    stats: FeeStats | None,
    policy: FeePolicy,
    *,
    fee_bumped: bool,
    attempt: int,
    floor: Stroops | None,
) -> FeePlan | None:
    """The fees of an envelope that replaces one with the fees `last`, at a higher inclusion fee.

    None where the operator's limits allow no higher one. `fee_bumped` says whether the envelope is
    a fee bump, `attempt` (from 1) which replacement it is; `floor` is as for `plan_fees`.
    """
    planned = plan_fees(
        last.resource_fee, stats, policy, fee_bumped=fee_bumped, attempt=attempt, floor=floor
    )
    if isinstance(planned, FeeOverCeiling):
        return None
    operations = _operations(fee_bumped=fee_bumped)
    room = min(policy.inclusion_cap, (policy.ceiling - last.resource_fee) // operations)
    inclusion_fee = max(planned.inclusion_fee, min(2 * last.inclusion_fee, room))
    if not last.inclusion_fee < inclusion_fee <= room:
        return None
    return _plan(last.resource_fee, inclusion_fee, fee_bumped=fee_bumped)


def _operations(*, fee_bumped: bool) -> int:
    return 2 if fee_bumped else 1  # a fee bump counts one operation more than the call inside


def _plan(resource_fee: int, inclusion_fee: int, *, fee_bumped: bool) -> FeePlan:
    whole = Stroops(resource_fee + _operations(fee_bumped=fee_bumped) * inclusion_fee)
    return FeePlan(
        inclusion_fee=Stroops(inclusion_fee),
        resource_fee=Stroops(resource_fee),
        envelope_fee=Stroops(resource_fee + inclusion_fee),
        bump_fee=whole if fee_bumped else None,
    )


def _least_inclusion_fee(resource_fee: int, floor: Stroops | None, operations: int) -> int:
    required = 0 if floor is None else -((resource_fee - floor) // operations)  # rounded up
    return max(MINIMUM_INCLUSION, required)
