"""The composition root of proposing: its routes, over the automation of each network."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from farebox.app.assembly import Loop
from farebox.app.automation_network import AutomationNetwork
from farebox.app.automation_services import AutomationServices, fee_policy, plan_availability
from farebox.app.database_pools import Pools
from farebox.app.network_services import NetworkServices
from farebox.app.settings import Settings
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.limits import LIMITS
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.proposing.draft_plan import PlanDrafting
from farebox.automation.proposing.first_run_trial import FirstRunTrial
from farebox.automation.proposing.funds_check import FundsCheck
from farebox.automation.proposing.mode_materials import (
    ModeMaterials,
    OpenMaterials,
    PresignedMaterials,
)
from farebox.automation.proposing.plan_resolution import PlanResolution
from farebox.automation.proposing.preflight import Preflight, PreflightParts
from farebox.automation.proposing.proposals_http import proposal_endpoints
from farebox.automation.proposing.propose import Proposing
from farebox.automation.proposing.proposing_network import ProposingNetwork, ProposingNetworks
from farebox.automation.proposing.quotes import Quotes
from farebox.automation.proposing.read_proposals import ProposalReader
from farebox.automation.proposing.record_proposal import ProposalRecorder
from farebox.automation.proposing.run_fees import FeeNetwork, RunFees
from farebox.automation.proposing.session_materials import SessionMaterials
from farebox.automation.proposing.signed_ahead import SignedAheadCalls
from farebox.automation.proposing.target_code import TargetReader
from farebox.automation.sessions.contracts_watch import NEEDED
from farebox.ingress.rate_limiter import ActionQuota, RateLimiter, change_limit
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class ProposingServices:
    """The constructed routes of proposing; it has no loops of its own."""

    endpoints: Sequence[Endpoint]
    reader: ProposalReader
    preflights: Mapping[Network, Preflight]
    tasks: Sequence[Loop] = ()
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_proposing(
    settings: Settings,
    pools: Pools,
    clock: Clock,
    services: Mapping[Network, NetworkServices],
    automation: AutomationServices,
    quotes: Quotes,
    limiter: RateLimiter,
) -> ProposingServices:
    """Build the routes of proposing; networks without a paymaster answer that they have none."""
    built = {
        name: replace(
            _network(settings, pools, name, services[name], each),
            is_free=quotes.is_free(name),
        )
        for name, each in automation.networks.items()
    }
    networks = ProposingNetworks(built, tuple(services))
    changes = ActionQuota(limiter, change_limit(settings.ingress.changes_per_minute))
    recorder = ProposalRecorder(pools.accounts, quotes, changes, LIMITS)
    proposing = Proposing(pools.accounts, clock, networks, quotes, recorder)
    reader = ProposalReader(pools.accounts, clock, networks, quotes)
    endpoints = proposal_endpoints(proposing, reader, networks, LIMITS)
    preflights = {name: each.preflight for name, each in built.items()}
    return ProposingServices(endpoints, reader, preflights)


def _network(
    settings: Settings,
    pools: Pools,
    name: Network,
    services: NetworkServices,
    automation: AutomationNetwork,
) -> ProposingNetwork:
    drafting = PlanDrafting(
        PlanResolution(TargetReader(name, services.rpc), automation.sessions.venues),
        SignedAheadCalls(name, RunSimulator(services.simulations)),
        services.operators,
        LIMITS,
        automation.sessions.life,
        ledger_now=services.ledgers.now,
        executor=automation.paymaster.executor,
        highest_fee=fee_policy(settings.networks[name]).ceiling,
    )
    return ProposingNetwork(
        availability=plan_availability(services, automation),
        drafting=drafting,
        preflight=build_preflight(settings, pools, name, services, automation),
        materials=ModeMaterials(_materials(services, automation)),
        delegates=automation.delegates,
        kinds=automation.sessions.kinds,
        contracts=automation.sessions.bodies,
        venues=[*automation.sessions.contracts.named.routers],
    )


def build_run_fees(
    settings: Settings,
    pools: Pools,
    services: Mapping[Network, NetworkServices],
    automation: AutomationServices,
) -> RunFees:
    """Build the reading of fees for prices that are made anew."""
    return RunFees(
        {
            name: FeeNetwork(
                plan_availability(services[name], each),
                build_preflight(settings, pools, name, services[name], each),
            )
            for name, each in automation.networks.items()
        }
    )


def build_preflight(
    settings: Settings,
    pools: Pools,
    name: Network,
    services: NetworkServices,
    automation: AutomationNetwork,
) -> Preflight:
    """Build what judges plans of a network before they are sold, and before they are installed."""
    trial = FirstRunTrial(
        automation.steps.builder,
        RunSimulator(services.simulations),
        fee_policy(settings.networks[name]),
        pools.accounts,
        automation.trees.try_as_account,
        ledger_now=services.ledgers.now,
        fee_stats=lambda: services.verified.market.fees,
    )
    funds = FundsCheck(TargetReader(name, services.rpc), services.rpc)
    parts = PreflightParts(
        services.rpc,
        automation.steps.check,
        funds,
        trial,
        automation.sessions.costs,
        pools.accounts,
        automation.steps.journal,
    )
    return Preflight(name, parts)


def _materials(
    services: NetworkServices, automation: AutomationNetwork
) -> dict[AuthorityMode, SessionMaterials]:
    """The material of each mode; a mode that is not among them cannot be proposed."""
    presigned = PresignedMaterials(
        automation.paymaster.nonce_key, automation.sessions.life, ledger_now=services.ledgers.now
    )
    materials: dict[AuthorityMode, SessionMaterials] = {
        AuthorityMode.OPEN: OpenMaterials(),
        AuthorityMode.PRESIGNED: presigned,
    }
    sessions, named = automation.sessions, automation.sessions.contracts.named.contracts
    for mode in (AuthorityMode.SESSION, AuthorityMode.MANDATE):
        if named.keys() >= set(NEEDED[mode]):
            materials[mode] = sessions.materials
    return materials
