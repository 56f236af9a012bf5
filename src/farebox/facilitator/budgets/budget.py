"""Sponsor budgets: what the operator pays in a day, and which envelopes may still be recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Final

from farebox.facilitator.settlement import Claim, Recording
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason

KEPT_DAYS: Final = 7  # before today: a week can be compared; unresolved rows are far younger
_OTHERS_SHARE: Final = 10  # all assets that are not named share a tenth of the total


class BudgetScope(StrEnum):
    """The dimension of a counter, in the order in which exhausted ones are reported."""

    TOTAL = "total"
    PAYER = "payer"
    PAY_TO = "pay_to"
    KEY = "key"  # all keys and sessions of one caller; all who are not established together
    ASSET = "asset"  # one the operator named
    OTHER_ASSETS = "other_assets"  # all the others together
    PAYER_LOSS = "payer_loss"  # fees of this payer's failed payments, and of unresolved ones


@dataclass(frozen=True, slots=True)
class Budgets:
    """The most that one network may cost the operator in a UTC day, in stroops; 0 = no limit."""

    total: Stroops = NO_STROOPS
    payer: Stroops = NO_STROOPS
    pay_to: Stroops = NO_STROOPS
    key: Stroops = NO_STROOPS
    asset: Stroops = NO_STROOPS
    payer_loss: Stroops = NO_STROOPS
    named_assets: frozenset[Address] = frozenset()

    def limit(self, scope: BudgetScope) -> int:
        """The limit of each counter of this scope, in stroops; 0 = none."""
        limits: Mapping[BudgetScope, int] = {
            BudgetScope.TOTAL: self.total,
            BudgetScope.PAYER: self.payer,
            BudgetScope.PAY_TO: self.pay_to,
            BudgetScope.KEY: self.key,
            BudgetScope.ASSET: self.asset,
            BudgetScope.OTHER_ASSETS: -(-self.total // _OTHERS_SHARE),
            BudgetScope.PAYER_LOSS: self.payer_loss,
        }
        return limits[scope]


UNLIMITED: Final = Budgets()


@dataclass(frozen=True, slots=True, order=True)
class Counter:
    """Stroops reserved and spent on one day; `name` is empty where the scope has one counter."""

    network: Network
    day: date
    scope: BudgetScope
    name: str = ""


@dataclass(frozen=True, slots=True)
class Charge:
    """The most that one envelope may cost, in stroops, and the parties whose budgets it uses."""

    network: Network
    day: date
    payer: Address
    pay_to: Address
    asset: Address
    asset_is_named: bool
    budget_owner: OwnerId
    stroops: int
    at_risk: int = 0  # stroops of the same row that the payer's loss counts already

    def spend_counters(self) -> tuple[Counter, ...]:
        """The counters of spend that it is added to."""
        asset = (
            (BudgetScope.ASSET, str(self.asset))
            if self.asset_is_named
            else (BudgetScope.OTHER_ASSETS, "")
        )
        names = [
            (BudgetScope.TOTAL, ""),
            (BudgetScope.PAYER, str(self.payer)),
            (BudgetScope.PAY_TO, str(self.pay_to)),
            (BudgetScope.KEY, self.budget_owner),
            asset,
        ]
        return tuple(Counter(self.network, self.day, scope, name) for scope, name in names)

    def loss_counter(self) -> Counter:
        """The counter of the payer's failed payments, unresolved ones included."""
        return Counter(self.network, self.day, BudgetScope.PAYER_LOSS, str(self.payer))

    def counters(self) -> tuple[Counter, ...]:
        """Every counter it is added to; each can refuse it."""
        return (*self.spend_counters(), self.loss_counter())


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """The refusal of an envelope; `scope` is the exhausted budget, None for the kill switch."""

    scope: BudgetScope | None

    @property
    def reason(self) -> Reason:
        """The reason code: nothing was sent, and the caller may repeat the request later."""
        match self.scope:
            case None:
                return Reason.SPONSOR_STOPPED
            case BudgetScope.PAYER_LOSS:
                return Reason.PAYER_STOPPED
            case _:
                return Reason.SPONSOR_BUDGET_EXHAUSTED


@dataclass(frozen=True, slots=True)
class EnvelopeEntry:
    """An envelope to be recorded, with the claim, lease epoch and day it counts against."""

    claim: Claim
    sent: SentEnvelope
    epoch: int  # of the source's lease; 0 = the relayer itself, which has none
    day: date
    asset_is_named: bool

    def charge(self, *, held: int = 0, at_risk: int = 0) -> Charge:
        """The cost beyond the `held` stroops of its row, of which `at_risk` count as a loss."""
        claim = self.claim
        return Charge(
            network=claim.identity.network,
            day=self.day,
            payer=claim.identity.payer,
            pay_to=claim.pay_to,
            asset=claim.asset,
            asset_is_named=self.asset_is_named,
            budget_owner=claim.budget_owner,
            stroops=self.sent.fee_limit - held,
            at_risk=at_risk,
        )


@dataclass(frozen=True, slots=True)
class RecordingPreconditions:
    """The journal's state that an envelope depends on, budgets apart."""

    is_held: bool  # the claim is still the caller's, and the lease of the source is
    source_is_busy: bool
    is_stopped: bool  # the network's kill switch is on
    is_written: bool = False  # the row has this very envelope: an earlier response was lost


@dataclass(frozen=True, slots=True)
class FeeReservation:
    """The reservation of a recorded envelope that is to be replaced."""

    day: date | None  # None: it was recorded before there were budgets
    asset_is_named: bool
    stroops: int
    at_risk: int  # of `stroops`, as the payer's loss until it is final; 0 for an older version's
    is_stopped: bool


def judge_charge(
    charge: Charge, budgets: Budgets, counted: Mapping[Counter, int], *, is_stopped: bool
) -> BudgetRefusal | None:
    """Judge one more envelope by what is reserved and spent already; None when it fits.

    `counted` has no entry for a counter at zero. A payer's loss, which counts unresolved payments
    in full, passes its limit by less than one envelope.
    """
    if is_stopped:
        return BudgetRefusal(None)
    if 0 < budgets.payer_loss <= counted.get(charge.loss_counter(), 0) - charge.at_risk:
        return BudgetRefusal(BudgetScope.PAYER_LOSS)
    if charge.stroops <= 0:
        return None  # an envelope that costs no more than the one it replaces
    for counter in charge.spend_counters():
        limit = budgets.limit(counter.scope)
        if limit and counted.get(counter, 0) + charge.stroops > limit:
            return BudgetRefusal(counter.scope)
    return None


def admit(
    entries: Sequence[EnvelopeEntry],
    preconditions: Sequence[RecordingPreconditions],
    counted: Mapping[Counter, int],
    budgets: Sequence[Budgets],
) -> list[Recording | BudgetRefusal]:
    """Judge envelopes in their order, each as if those admitted before it were recorded.

    `WRITTEN` means that the envelope may be recorded now, or is recorded already. `counted` is what
    was reserved and spent before all of them.
    """
    spent = dict(counted)
    taken: set[object] = set()
    verdicts: list[Recording | BudgetRefusal] = []
    for entry, state, limits in zip(entries, preconditions, budgets, strict=True):
        identity = entry.claim.identity
        source = (identity.network, entry.sent.source)
        if state.is_written:
            verdicts.append(Recording.WRITTEN)
            continue
        if not state.is_held or identity in taken:
            verdicts.append(Recording.CLAIM_LOST)
            continue
        if state.source_is_busy or source in taken:
            verdicts.append(Recording.SOURCE_BUSY)
            continue
        charge = entry.charge()
        refusal = judge_charge(charge, limits, spent, is_stopped=state.is_stopped)
        verdicts.append(refusal or Recording.WRITTEN)
        if refusal is None:
            taken |= {identity, source}
            for counter in charge.counters():
                spent[counter] = spent.get(counter, 0) + charge.stroops
    return verdicts


def oldest_day(today: date) -> date:
    """The first day whose counters are kept, as of `today`."""
    return today - timedelta(days=KEPT_DAYS)


def utc_day(moment: datetime) -> date:
    """The UTC day whose budgets apply at `moment`."""
    return moment.astimezone(UTC).date()
