"""The network fees of a plan as of now, by which its runs are priced anew."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from farebox.automation.plans.quote import FreshFees
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.first_run_trial import FirstRunTrial
from farebox.automation.refusal import AutomationUnavailable
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network


class InstallCosts(Protocol):
    """Tells what the installation of plans costs."""

    async def read(self, plan: StoredPlan) -> Stroops | None:
        """The most that the installation of a plan that is not paid costs; None without one.

        Raises:
            Outage: the network cannot be read now.
        """
        ...


@dataclass(frozen=True, slots=True)
class FeeNetwork:
    """What reading fees needs of one network."""

    availability: Availability
    dry_run: FirstRunTrial
    installs: InstallCosts


class RunFees:
    """Reads the fees of plans by simulations of their first run and of their installation."""

    def __init__(self, networks: Mapping[Network, FeeNetwork]) -> None:
        self._networks = networks

    async def read(self, plan: StoredPlan, now: datetime) -> FreshFees:
        """The fees of a plan; that of a run is None where it would fail as of now.

        Raises:
            NetworkUnavailable: the network cannot be read now.
            AutomationUnavailable: it has no funded paymaster here.
        """
        network = self._networks.get(plan.terms.network)
        if network is None:
            raise AutomationUnavailable
        network.availability.check()
        async with network.availability.reading():
            tried = await network.dry_run.try_first(plan, now)
            return FreshFees(tried.fee, await network.installs.read(plan))
