"""The contracts that trades need: the router that the operator has named, and the first pool."""

from farebox.automation.authority.plan_calls import ResolvedPlan
from farebox.automation.plans.plan import DcaPlan, Plan, RebalancePlan
from farebox.automation.plans.wire import Venue
from farebox.automation.refusal import spec_mismatch
from farebox.automation.sessions.contract_reads import ContractReads, ReadRefused
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.stellar.scval_reader import address_in
from farebox.stellar.scval_writer import address_of
from farebox.stellar.xdr_reader import Malformed

_READER = OwnerId("venues")  # whose simulations these are: of no owner
_PAIR = "router_pair_for"


class RouterVenues:
    """Finds routers and pools of one network; see `PlanVenues`."""

    def __init__(self, named: AutomationContracts, reads: ContractReads) -> None:
        self._named, self._reads = named, reads

    async def resolve(self, plan: Plan) -> ResolvedPlan:
        """See `PlanVenues`."""
        if not isinstance(plan, DcaPlan | RebalancePlan):
            return ResolvedPlan()
        router = self._named.routers.get(plan.venue)
        if router is None:
            why = "The operator has configured no router of this venue for the network."
            raise spec_mismatch("spec.venue", why)
        if plan.venue is Venue.AQUARIUS:
            return ResolvedPlan(router=router)
        if isinstance(plan, DcaPlan):
            steps = [(plan.path[0], plan.path[1])]
        else:
            tokens = [token for token, _ in plan.weights]
            steps = [(one, other) for one in tokens for other in tokens if one != other]
        pools = {step: await self._pool(router, step) for step in steps}
        return ResolvedPlan(router=router, pools=pools)

    async def _pool(self, router: Address, step: tuple[Address, Address]) -> Address:
        try:
            found = await self._reads.read(_READER, router, _PAIR, *map(address_of, step))
            return address_in(found)
        except (ReadRefused, Malformed):
            why = f"The venue has no market of {step[0]} and {step[1]}."
            raise spec_mismatch("spec.path", why) from None
