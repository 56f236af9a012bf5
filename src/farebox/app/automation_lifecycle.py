"""The composition root of the life of plans: its routes, and the loops of each network."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from farebox.app.assembly import Loop
from farebox.app.automation_network import AutomationNetwork
from farebox.app.automation_services import AutomationServices, plan_availability
from farebox.app.database_pools import Pools
from farebox.app.lifespan import restart_on_failure
from farebox.app.network_services import NetworkServices
from farebox.app.proposing_services import ProposingServices
from farebox.app.vault_services import AutomationSealers
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.lifecycle.activate import Activation
from farebox.automation.lifecycle.change_plan import PlanChanges
from farebox.automation.lifecycle.changes_http import change_endpoints
from farebox.automation.lifecycle.ended_sessions import EndedSessions
from farebox.automation.lifecycle.event_feed import EventFeed
from farebox.automation.lifecycle.history_http import history_endpoints
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.lifecycle.pending_installations import PendingInstallations
from farebox.automation.lifecycle.plan_warnings import PlanWarnings
from farebox.automation.lifecycle.read_history import RunHistory
from farebox.automation.lifecycle.repeat_run import RunRepeat
from farebox.automation.lifecycle.unhealthy_network import UnhealthyNetwork
from farebox.automation.lifecycle.upkeep_loop import LifecycleUpkeep, UpkeepStep
from farebox.automation.proposing.preflight import Preflight
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.web.endpoint import Endpoint

_BALANCES_EVERY = 12  # passes


@dataclass(frozen=True, slots=True)
class LifecycleServices:
    """The constructed life of plans; nothing runs yet."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_lifecycle(
    pools: Pools,
    clock: Clock,
    services: Mapping[Network, NetworkServices],
    automation: AutomationServices,
    sealers: AutomationSealers | None,
    plans: ProposingServices,
) -> LifecycleServices:
    """Build the routes of plans' lives, and the loop of each network with automation."""
    networks = {
        name: _network(name, services[name], built, plans.preflights[name])
        for name, built in automation.networks.items()
    }
    database, installations = pools.accounts, automation.installations
    entries = None if sealers is None else sealers.entries
    activation = Activation(database, clock, networks, entries, installations)
    finishing = Activation(pools.runs, clock, networks, entries, installations)
    changes = PlanChanges(database, clock, networks, installations)
    feed, history = EventFeed(database, clock), RunHistory(database)
    loops = [
        *(
            Loop(f"{name.value} plans", _upkeep(each, services[name], pools, clock, finishing).run)
            for name, each in networks.items()
        ),
        *(
            Loop(f"{name.value} closings", _closings(name, each, clock).run)
            for name, each in automation.networks.items()
        ),
    ]
    return LifecycleServices(
        endpoints=[
            *change_endpoints(activation, changes, plans.reader),
            *history_endpoints(history, RunRepeat(database, clock, networks), feed),
        ],
        tasks=[restart_on_failure(each, clock) for each in (Loop("plan events", feed.run), *loops)],
    )


def _network(
    name: Network, services: NetworkServices, built: AutomationNetwork, preflight: Preflight
) -> LifecycleNetwork:
    return LifecycleNetwork(
        network=name,
        availability=plan_availability(services, built),
        preflight=preflight,
        builder=built.steps.builder,
        check=built.steps.check,
        ledger=built.steps.ledger,
        ledgers=built.steps.ledgers,
        nonce_key=built.paymaster.nonce_key,
    )


def _upkeep(
    network: LifecycleNetwork,
    services: NetworkServices,
    pools: Pools,
    clock: Clock,
    activation: Activation,
) -> LifecycleUpkeep:
    database = pools.upkeep
    simulator = RunSimulator(services.simulations)
    pending = PendingInstallations(network.network, database, activation)
    warnings = PlanWarnings(network, simulator, database, clock)
    return LifecycleUpkeep(
        network.network,
        clock,
        [
            UpkeepStep("installations", pending.run_once),
            UpkeepStep("sessions", EndedSessions(network, database, clock).run_once),
            UpkeepStep("outage", UnhealthyNetwork(network, database, clock).run_once),
            UpkeepStep("warnings", warnings.run_once, every=_BALANCES_EVERY),
        ],
    )


def _closings(name: Network, built: AutomationNetwork, clock: Clock) -> LifecycleUpkeep:
    """A loop of its own: it waits for transactions."""
    return LifecycleUpkeep(name, clock, [UpkeepStep("closings", built.sessions.closings.run_once)])
