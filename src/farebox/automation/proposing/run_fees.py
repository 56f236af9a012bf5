"""The network fees of a plan as of now; what would fail as of now has no price."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from farebox.automation.plans.quote import FreshFees
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.preflight import Preflight, require
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
    preflight: Preflight
    installs: InstallCosts


class RunFees:
    """Reads the fees of plans by simulations of their first run and of their installation.

    Of a network where runs are free (`is_free`) nobody needs the fee of an installation.
    """

    def __init__(
        self, networks: Mapping[Network, FeeNetwork], is_free: Callable[[Network], bool]
    ) -> None:
        self._networks, self._is_free = networks, is_free

    async def read(self, plan: StoredPlan, now: datetime) -> FreshFees:
        """The fees of a plan; that of a run is None where only the run itself tells.

        Raises:
            AutomationRefused: the plan does not pass its preflight: it is not for sale.
            NetworkUnavailable: the network cannot be read now.
            AutomationUnavailable: it has no funded paymaster here.
        """
        network = self._networks.get(plan.terms.network)
        if network is None:
            raise AutomationUnavailable
        network.availability.check()
        async with network.availability.reading():
            report = await network.preflight.judge(plan, now)
            require(report)
            if self._is_free(plan.terms.network):
                return FreshFees(report.fee)
            return FreshFees(report.fee, await network.installs.read(plan))
