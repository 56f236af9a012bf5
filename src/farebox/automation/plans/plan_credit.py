"""The money that a plan holds for its unused runs and its installation, and what it may spend.

A plan spends at its own price: each run takes an equal share of what is held for the unused ones.
What a transaction of it may cost follows from the fee that the price was made of, so that no run
costs the paymaster more than its owner has paid for it.
"""

from dataclasses import dataclass, replace
from typing import Final

from farebox.automation.plans.quote import FEE_MULTIPLE, NO_UNITS, Quote, install_limit
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, BaseUnits, Stroops


@dataclass(frozen=True, slots=True)
class PlanCredit:
    """What a plan holds, in base units of `asset`; None of it where its runs are free.

    `run_fee` is the quoted fee of a transaction in stroops, None where runs are free: then only the
    limits of the operator hold. `setup_left` are the stroops that installing and closing may still
    cost; None where the plan was not charged for them. `setup_held` comes back to the owner while
    nothing of it was spent.
    """

    asset: Address | None = None
    held: BaseUnits = NO_UNITS
    run_fee: Stroops | None = None
    setup_held: BaseUnits = NO_UNITS
    setup_left: Stroops | None = None

    @property
    def fee_limit(self) -> Stroops | None:
        """The most that a transaction of a run may cost; None without a limit of the plan's."""
        return None if self.run_fee is None else limit_of(self.run_fee)

    def add(self, quote: Quote, *, runs_left: int) -> "PlanCredit":
        """After so many unused runs were joined by those of a quote; their fees are averaged."""
        if not quote.price:
            return self
        fee = quote.fees.run
        if self.run_fee is not None and runs_left > 0:
            known = runs_left * self.run_fee + quote.runs * fee
            fee = Stroops(known // (runs_left + quote.runs))
        added = replace(
            self,
            asset=quote.asset,
            held=BaseUnits(self.held + quote.runs * quote.per_run),
            run_fee=fee,
        )
        limit = install_limit(quote.fees.install)
        if limit is None or not quote.setup:
            return added
        return replace(added, setup_held=quote.setup, setup_left=limit)

    def use_run(self, *, runs_left: int) -> "PlanCredit":
        """After one of so many unused runs was used: it takes its share, rounded up."""
        share = -(-self.held // max(1, runs_left))
        return replace(self, held=BaseUnits(self.held - share))

    def release_runs(self) -> "PlanCredit":
        """After what is held for runs has left the plan."""
        return replace(self, held=NO_UNITS)

    def release_setup(self) -> "PlanCredit":
        """After what is held for the installation has left the plan."""
        if not self.setup_held:
            return self
        return replace(self, setup_held=NO_UNITS, setup_left=NO_STROOPS)

    def reserve_setup(self, stroops: Stroops) -> "PlanCredit | None":
        """After so much was reserved for an envelope; None where less is left."""
        if self.setup_left is None or self.setup_left < stroops:
            return None
        return replace(self, setup_left=Stroops(self.setup_left - stroops))

    def end_setup(self, unspent: Stroops, *, is_spent: bool) -> "PlanCredit":
        """After an envelope was resolved that did not cost `unspent` of what it had reserved.

        `is_spent`: it has cost something, or may have.
        """
        left = Stroops((self.setup_left or 0) + unspent)
        held = NO_UNITS if is_spent else self.setup_held
        return replace(self, setup_held=held, setup_left=left)


NO_CREDIT: Final = PlanCredit()


def limit_of(fee: Stroops) -> Stroops:
    """The most that a transaction may cost that was quoted at a fee: what its price is made of."""
    return Stroops(FEE_MULTIPLE * fee)
