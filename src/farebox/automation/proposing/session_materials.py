"""What a mode gives to proposing: session material, and the values that only its contracts know."""

from datetime import datetime
from typing import Protocol

from farebox.automation.authority.plan_calls import ResolvedPlan
from farebox.automation.plan_body import PlanSessionBody
from farebox.automation.plans.plan import Plan
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.kernel.addresses import Address


class SessionMaterials(Protocol):
    """Makes what the wallet needs to authorize a plan of one mode (3.15)."""

    async def material(self, plan: StoredPlan, now: datetime) -> PlanSessionBody:
        """The material as of the newest ledger; the same plan gets the same policy and nonces.

        Raises:
            AutomationRefused: the account cannot have such a session.
            Outage: the network cannot be read now.
        """
        ...


class PlanVenues(Protocol):
    """Finds the contracts of a network that a plan calls besides those it names."""

    async def resolve(self, plan: Plan) -> ResolvedPlan:
        """The router and pools of a plan that trades.

        Raises:
            AutomationRefused: the venue is not configured, or has no such market.
            Outage: the network cannot be read now.
        """
        ...


class AccountKinds(Protocol):
    """Tells which kind of account an address is."""

    async def kind_of(self, account: Address) -> str:
        """`g`, `oz_b`, `oz_c`, `oz_d`, `passkey1` or `unknown`.

        Raises:
            Outage: the network cannot be read now.
        """
        ...
