"""The composition root of automation: one scheduler and paymaster for each network that has one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from farebox.app.assembly import Loop
from farebox.app.automation_network import (
    AutomationLedger,
    AutomationLimitsOfNetwork,
    AutomationNetwork,
    build_automation_network,
)
from farebox.app.database_pools import Pools
from farebox.app.lifespan import restart_on_failure
from farebox.app.network_services import NetworkServices
from farebox.app.settings import NetworkSettings, Settings
from farebox.app.vault_services import AutomationSealers
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import Venue
from farebox.automation.proposing.availability import Availability
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.automation.sessions.installing import NetworkInstallations
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.fees import FeePolicy
from farebox.stellar.signers import read_signers

NO_MASTER_KEYS = "automation_master_keys_missing"


@dataclass(frozen=True, slots=True)
class AutomationServices:
    """The constructed automation; nothing runs yet. A network without a paymaster has none."""

    networks: Mapping[Network, AutomationNetwork]
    tasks: Sequence[Loop] = ()

    @property
    def installations(self) -> Mapping[AuthorityMode, NetworkInstallations]:
        """What installs the sessions of each mode that has one."""
        installing = NetworkInstallations(
            {name: each.sessions.installations for name, each in self.networks.items()}
        )
        return dict.fromkeys((AuthorityMode.SESSION, AuthorityMode.MANDATE), installing)

    async def close(self, *, within_s: float) -> None:
        """Claim no more runs, and wait for those in progress."""
        for each in self.networks.values():
            await each.scheduler.close(within_s=within_s)


def build_automation(
    settings: Settings,
    pools: Pools,
    clock: Clock,
    networks: Mapping[Network, NetworkServices],
    sealers: AutomationSealers | None,
) -> AutomationServices:
    """Build automation for each network with a paymaster; without master keys there is none."""
    built: dict[Network, AutomationNetwork] = {}
    for name, services in networks.items():
        own = settings.networks[name]
        paymaster = read_signers(own.relayer_secret, own.paymaster_secret).paymaster
        if paymaster is None:
            continue
        if sealers is None:
            services.part.warn(lambda: (NO_MASTER_KEYS,))
            continue
        network = build_automation_network(
            _ledger(name, services, own), paymaster, _limits(own), pools.runs, clock, sealers
        )
        services.part.warn(_warnings_of(network))
        built[name] = network
    return AutomationServices(
        built,
        [
            restart_on_failure(Loop(f"{name.value} {loop.name}", loop.run), clock)
            for name, each in built.items()
            for loop in each.tasks
        ],
    )


def plan_availability(services: NetworkServices, automation: AutomationNetwork) -> Availability:
    """Whether plans can be proposed and changed on a network now."""
    return Availability(
        outages=lambda: services.part.outages,
        is_funded=lambda: automation.watch.is_available,
    )


def _warnings_of(network: AutomationNetwork) -> Callable[[], tuple[str, ...]]:
    return lambda: (*network.watch.warnings, *network.sessions.contracts.warnings)


def _ledger(network: Network, services: NetworkServices, own: NetworkSettings) -> AutomationLedger:
    """The network as settlement uses it: nodes, clock, submitter and slots are shared."""
    return AutomationLedger(
        network=network,
        rpc=services.rpc,
        ledgers=services.ledgers,
        submitter=services.submitter,
        simulator=services.simulations,
        operators=services.operators,
        fee_stats=lambda: services.verified.market.fees,
        outages=lambda: services.part.outages,
        contracts=_contracts(own),
    )


def _contracts(own: NetworkSettings) -> AutomationContracts:
    """What the operator has named of the contracts and the venues."""
    contracts = {
        ServiceContract.GUARD: own.session_guard,
        ServiceContract.VERIFIER: own.session_verifier,
        ServiceContract.INSTALLER: own.session_installer,
        ServiceContract.FACTORY: own.mandate_factory,
    }
    routers = {Venue.SOROSWAP: own.soroswap_router, Venue.AQUARIUS: own.aquarius_router}
    return AutomationContracts(
        {each: at for each, at in contracts.items() if at is not None},
        {each: at for each, at in routers.items() if at is not None},
    )


def fee_policy(own: NetworkSettings) -> FeePolicy:
    """The operator's limits for one transaction of a run."""
    return FeePolicy(
        ceiling=own.automation_max_fee,
        inclusion_cap=min(own.max_inclusion_fee, own.automation_max_fee),
    )


def _limits(own: NetworkSettings) -> AutomationLimitsOfNetwork:
    return AutomationLimitsOfNetwork(
        fees=fee_policy(own),
        budgets=AutomationBudgets(
            total=own.automation_budget_total, owner=own.automation_budget_owner
        ),
        floor=own.automation_balance_floor,
        install_fees=FeePolicy(
            ceiling=own.automation_install_fee,
            inclusion_cap=min(own.max_inclusion_fee, own.automation_install_fee),
        ),
    )
