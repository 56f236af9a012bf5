"""Which of several envelopes may be written down: claim, lease, source and budgets, one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from farebox.facilitator.budgets.budget import Budgets, Charge, Counter, OverBudget, judge_charge
from farebox.facilitator.settlement import Claim, Recording
from farebox.submission.fate import SentEnvelope


@dataclass(frozen=True, slots=True)
class Sending:
    """An envelope to be written down, and what it counts against."""

    claim: Claim
    sent: SentEnvelope
    epoch: int  # of the source's lease; 0 = the relayer itself, which has none
    day: date
    asset_is_named: bool

    def charge(self, *, held: int = 0) -> Charge:
        """What it may cost beyond `held`, which its row holds already."""
        claim = self.claim
        return Charge(
            network=claim.identity.network,
            day=self.day,
            payer=claim.identity.payer,
            pay_to=claim.pay_to,
            asset=claim.asset,
            asset_is_named=self.asset_is_named,
            caller=claim.caller,
            stroops=self.sent.fee_limit - held,
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """What an envelope meets in the journal, budgets apart."""

    is_held: bool  # the claim is still the caller's, and the lease of the source is
    source_is_busy: bool
    is_stopped: bool  # the operator pays nothing on the network


@dataclass(frozen=True, slots=True)
class Held:
    """What the row of an envelope that is to be replaced counts against."""

    day: date | None  # None: it was written before there were budgets
    asset_is_named: bool
    stroops: int
    is_stopped: bool


def admit(
    items: Sequence[Sending],
    standings: Sequence[Standing],
    counted: Mapping[Counter, int],
    budgets: Sequence[Budgets],
) -> list[Recording | OverBudget]:
    """Judge envelopes in their order, each as if those admitted before it were written down.

    `WRITTEN` is what may be written now; `counted` what was reserved and spent before all of them.
    """
    spent = dict(counted)
    taken: set[object] = set()
    verdicts: list[Recording | OverBudget] = []
    for item, standing, own in zip(items, standings, budgets, strict=True):
        identity = item.claim.identity
        source = (identity.network, item.sent.source)
        if not standing.is_held or identity in taken:
            verdicts.append(Recording.CLAIM_LOST)
            continue
        if standing.source_is_busy or source in taken:
            verdicts.append(Recording.SOURCE_BUSY)
            continue
        charge = item.charge()
        over = judge_charge(charge, own, spent, is_stopped=standing.is_stopped)
        verdicts.append(over or Recording.WRITTEN)
        if over is None:
            taken |= {identity, source}
            for counter in charge.spending():
                spent[counter] = spent.get(counter, 0) + charge.stroops
    return verdicts
