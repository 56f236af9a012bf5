"""What proposing uses of each network, and the one that a request names."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.plan_body import PlanSessionBody, SessionContractBody
from farebox.automation.plans.quote import QuotedFees
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.draft_plan import PlanDrafting
from farebox.automation.proposing.drafted_plan import DraftedPlan
from farebox.automation.proposing.mode_materials import ModeMaterials, generation_of
from farebox.automation.proposing.preflight import Preflight
from farebox.automation.proposing.preflight_report import PreflightReport, failed, passed
from farebox.automation.proposing.session_materials import AccountKinds
from farebox.automation.proposing.wire import ProposeRequest
from farebox.automation.refusal import AutomationUnavailable
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network


@dataclass(frozen=True, slots=True)
class ProposingNetwork:
    """The parts of one network; `kinds` is None where no kind of account can be told.

    `contracts` and `venues` are what the operator has configured for sessions and trades. With
    `is_free` runs cost nothing.
    """

    availability: Availability
    drafting: PlanDrafting
    preflight: Preflight
    materials: ModeMaterials
    delegates: DelegateKeys
    kinds: AccountKinds | None = None
    contracts: Sequence[SessionContractBody] = ()
    venues: Sequence[str] = ()
    is_free: bool = True

    async def draft(self, caller: Caller, request: ProposeRequest, now: datetime) -> DraftedPlan:
        """Draft a plan in a mode that is offered.

        Raises:
            AutomationRefused: a rule refuses it, with the member.
            NetworkUnavailable: the network cannot be read now.
            AutomationUnavailable: runs are not paid for now.
        """
        self.availability.check()
        async with self.availability.reading():
            draft = await self.drafting.draft(caller, request, now=now)
            self.materials.check(draft.mode)
        return draft

    async def judge(self, plan: StoredPlan, now: datetime) -> PreflightReport:
        """Judge a plan as of the newest ledger.

        Raises:
            NetworkUnavailable: the network cannot be read now.
        """
        async with self.availability.reading():
            report = await self.preflight.judge(plan, now)
        if self.availability.is_funded():
            paid = passed("paymaster", "The service can pay the network's fees.")
        else:
            paid = failed("paymaster", "The service cannot pay the network's fees now.")
        return replace(report, checks=(paid, *report.checks))

    def quoted_fees(self, plan: StoredPlan, report: PreflightReport) -> QuotedFees:
        """The fees by which a plan is priced, its preflight being known.

        A run whose fee is not known is priced by the plan's own limit.
        """
        run = report.fee or plan.terms.max_fee
        return QuotedFees(run, None if self.is_free else report.install)

    async def session(self, plan: StoredPlan, now: datetime) -> PlanSessionBody:
        """The session material of a plan as of the newest ledger.

        Raises:
            AutomationRefused: the account cannot have such a session.
            NetworkUnavailable: the network cannot be read now.
        """
        async with self.availability.reading():
            return await self.materials.material(plan, now)

    async def kind_of(self, account: Address | None) -> str:
        """The kind of an account, as its row has it; raises as `judge`."""
        if self.kinds is None or account is None:
            return generation_of(account)
        async with self.availability.reading():
            return await self.kinds.kind_of(account)


class ProposingNetworks:
    """The networks with a paymaster, among all that the service knows (`served`)."""

    def __init__(
        self, networks: Mapping[Network, ProposingNetwork], served: Collection[Network]
    ) -> None:
        self._networks, self.served = networks, tuple(served)

    def find(self, name: Network) -> ProposingNetwork | None:
        """The parts of a network; None where it has no paymaster here."""
        return self._networks.get(name)

    def require(self, name: Network) -> ProposingNetwork:
        """The parts of a network.

        Raises:
            Refusal: `unsupported_network`.
            AutomationUnavailable: it has no paymaster here.
        """
        if name not in self.served:
            raise Refusal(ErrorCode.UNSUPPORTED_NETWORK, field="network")
        network = self._networks.get(name)
        if network is None:
            raise AutomationUnavailable
        return network
