"""A proposal after every rule that needs no row: what its terms will be, and what it calls."""

from dataclasses import dataclass, field

from farebox.automation.authority.build_spec import build_spec
from farebox.automation.authority.stored_calls import RunCalls, encode_calls
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.plan import (
    DisbursementPlan,
    Plan,
    authorization_limit,
    transactions_per_run,
)
from farebox.automation.plans.policy_id import compute_policy_id, intent_hash
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import write_spec
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.plans.wire import OnLegError, PlanSpec
from farebox.automation.schedules.missed_runs import LatenessRule
from farebox.automation.schedules.schedule import Schedule
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network


@dataclass(frozen=True, slots=True)
class DraftedPlan:
    """A plan that may be proposed; it has no id and no delegate yet.

    `account` is the owner's wallet, None for an operator. `actor` makes the calls of its runs as
    far as is known: the account, or the executor of an open plan.
    """

    owner: OwnerId
    network: Network
    account: Address | None
    actor: Address
    title: str
    mode: AuthorityMode
    plan: Plan
    spec: PlanSpec = field(repr=False)
    calls: RunCalls = field(repr=False)
    schedule: Schedule
    window: PlanWindow
    rule: LatenessRule
    session_interval_s: int
    run_limit: int
    max_fee: Stroops
    target_wasm_hash: bytes | None = None

    @property
    def legs(self) -> int:
        """The transactions of one run."""
        return transactions_per_run(self.plan)

    def intent(self) -> bytes:
        """32 bytes that equal plans share."""
        return intent_hash(
            self.network,
            self.account or self.actor,
            self.plan.kind,
            mode=self.mode,
            schedule=self.schedule,
            spec=self.spec,
        )

    def policy_spec(self, delegate: bytes) -> bytes:
        """The XDR of what the delegate's key (32 bytes) may do, by which the policy is named.

        The account of an open plan's spec is the executor: nothing of the owner's is in reach.

        Raises:
            AutomationRefused: the contracts would refuse the spec.
        """
        is_open = self.mode is AuthorityMode.OPEN
        spec = build_spec(
            self.plan,
            self.calls.planned,
            account=self.actor if is_open or self.account is None else self.account,
            mode=self.mode,
            delegate=delegate,
            window=self.window,
            interval_s=self.session_interval_s,
            runs=self.run_limit,
        )
        return write_spec(spec)

    def terms(self, proposal_id: str, delegate: bytes) -> PlanTerms:
        """The terms of the plan under an id, with its delegate's public key.

        Raises:
            AutomationRefused: the contracts would refuse the spec.
        """
        policy_spec = self.policy_spec(delegate)
        plan = self.plan
        on_leg_error = plan.on_leg_error if isinstance(plan, DisbursementPlan) else OnLegError.STOP
        return PlanTerms(
            id=proposal_id,
            owner=self.owner,
            network=self.network,
            account=self.account,
            kind=plan.kind,
            mode=self.mode,
            policy_id=compute_policy_id(self.network, policy_spec),
            delegate=delegate,
            calls=encode_calls(self.calls),
            schedule=self.schedule,
            window=self.window,
            rule=self.rule,
            max_fee=self.max_fee,
            run_limit=self.run_limit,
            auth_limit=authorization_limit(plan, self.run_limit),
            session_spec=policy_spec,
            target_wasm_hash=self.target_wasm_hash,
            session_interval_s=self.session_interval_s,
            legs=self.legs,
            on_leg_error=on_leg_error,
        )
