"""The network fees of a plan as of now; what would fail as of now has no price."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from farebox.automation.plans.quote import FreshFees
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.preflight import Preflight, require
from farebox.automation.refusal import AutomationUnavailable
from farebox.kernel.networks import Network


@dataclass(frozen=True, slots=True)
class FeeNetwork:
    """What reading fees needs of one network."""

    availability: Availability
    preflight: Preflight


class RunFees:
    """Reads the fees of plans by simulations of their first run and of their installation."""

    def __init__(self, networks: Mapping[Network, FeeNetwork]) -> None:
        self._networks = networks

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
            return FreshFees(report.fee, report.install)
