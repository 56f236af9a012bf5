"""The network fee of a plan's transaction as of now, by which its runs are priced anew."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.first_run_trial import FirstRunTrial
from farebox.automation.refusal import AutomationUnavailable
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network


@dataclass(frozen=True, slots=True)
class FeeNetwork:
    """What reading fees needs of one network."""

    availability: Availability
    dry_run: FirstRunTrial


class RunFees:
    """Reads the fees of plans by a simulation of their first run."""

    def __init__(self, networks: Mapping[Network, FeeNetwork]) -> None:
        self._networks = networks

    async def read(self, plan: StoredPlan, now: datetime) -> Stroops | None:
        """The most that a transaction of the plan costs; None where it would fail as of now.

        Raises:
            NetworkUnavailable: the network cannot be read now.
            AutomationUnavailable: it has no funded paymaster here.
        """
        network = self._networks.get(plan.terms.network)
        if network is None:
            raise AutomationUnavailable
        network.availability.check()
        async with network.availability.reading():
            return (await network.dry_run.try_first(plan, now)).fee
