"""What the operator pays for whom in a day: budgets, and whether one more envelope fits them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason

_OTHERS_SHARE: Final = 10  # all assets nobody named share a tenth of the total


class Scope(StrEnum):
    """What a counter counts; the order is that in which a full one is named."""

    TOTAL = "total"
    PAYER = "payer"
    PAY_TO = "pay_to"
    KEY = "key"  # all keys and sessions of one caller
    ASSET = "asset"  # one the operator named
    OTHER_ASSETS = "other_assets"  # all the others together
    PAYER_LOSS = "payer_loss"  # charged for payments of this payer that moved nothing, or more


@dataclass(frozen=True, slots=True)
class Budgets:
    """The most one network may cost the operator in a UTC day; 0 = off."""

    total: Stroops = NO_STROOPS
    payer: Stroops = NO_STROOPS
    pay_to: Stroops = NO_STROOPS
    key: Stroops = NO_STROOPS
    asset: Stroops = NO_STROOPS
    payer_loss: Stroops = NO_STROOPS
    named_assets: frozenset[Address] = frozenset()

    def limit(self, scope: Scope) -> int:
        """The budget of one counter of this scope; 0 = none."""
        own: Mapping[Scope, int] = {
            Scope.TOTAL: self.total,
            Scope.PAYER: self.payer,
            Scope.PAY_TO: self.pay_to,
            Scope.KEY: self.key,
            Scope.ASSET: self.asset,
            Scope.OTHER_ASSETS: -(-self.total // _OTHERS_SHARE),
            Scope.PAYER_LOSS: self.payer_loss,
        }
        return own[scope]


UNLIMITED: Final = Budgets()


@dataclass(frozen=True, slots=True, order=True)
class Counter:
    """What was reserved and spent for one thing on one day; `name` is empty for the only one."""

    network: Network
    day: date
    scope: Scope
    name: str = ""


@dataclass(frozen=True, slots=True)
class Charge:
    """What one envelope may cost at most, and whom that counts for."""

    network: Network
    day: date
    payer: Address
    pay_to: Address
    asset: Address
    asset_is_named: bool
    caller: OwnerId | None
    stroops: int

    def spending(self) -> tuple[Counter, ...]:
        """The counters it is added to."""
        named = (Scope.ASSET, str(self.asset)) if self.asset_is_named else (Scope.OTHER_ASSETS, "")
        counted = [
            (Scope.TOTAL, ""),
            (Scope.PAYER, str(self.payer)),
            (Scope.PAY_TO, str(self.pay_to)),
            *([(Scope.KEY, self.caller)] if self.caller is not None else []),
            named,
        ]
        return tuple(Counter(self.network, self.day, scope, name) for scope, name in counted)

    def loss(self) -> Counter:
        """The counter of what this payer has cost for nothing."""
        return Counter(self.network, self.day, Scope.PAYER_LOSS, str(self.payer))

    def bearing(self) -> tuple[Counter, ...]:
        """Every counter that has a say in whether it may be sent."""
        return (*self.spending(), self.loss())


@dataclass(frozen=True, slots=True)
class OverBudget:
    """An envelope that may not be sent now; `scope` is what is used up, None for a stop."""

    scope: Scope | None

    @property
    def reason(self) -> Reason:
        """What the caller is told: to repeat it later, since nothing was sent."""
        match self.scope:
            case None:
                return Reason.SPONSOR_STOPPED
            case Scope.PAYER_LOSS:
                return Reason.PAYER_STOPPED
            case _:
                return Reason.SPONSOR_BUDGET_EXHAUSTED


def judge_charge(
    charge: Charge, budgets: Budgets, counted: Mapping[Counter, int], *, is_stopped: bool
) -> OverBudget | None:
    """Hold one more envelope against what is reserved and spent already; None when it fits.

    `counted` holds no line for a counter that stands at nothing.
    """
    if is_stopped:
        return OverBudget(None)
    if 0 < budgets.payer_loss <= counted.get(charge.loss(), 0):
        return OverBudget(Scope.PAYER_LOSS)
    if charge.stroops <= 0:
        return None  # an envelope that costs no more than the one whose place it takes
    for counter in charge.spending():
        limit = budgets.limit(counter.scope)
        if limit and counted.get(counter, 0) + charge.stroops > limit:
            return OverBudget(counter.scope)
    return None


def utc_day(moment: datetime) -> date:
    """The day whose budgets hold at `moment`."""
    return moment.astimezone(UTC).date()
