"""The limits of plans, and what automation offers on each network, as `/limits` shows them."""

from farebox.automation.limits import SHORTEST_INTERVAL_S, SHORTEST_POLL_S, AutomationLimits
from farebox.automation.proposing.proposing_network import ProposingNetworks
from farebox.automation.proposing.wire import AutomationNetworkBody, LimitsBody
from farebox.kernel.networks import Network


def limits_in_force(limits: AutomationLimits, networks: ProposingNetworks) -> LimitsBody:
    """Render the limits as of now."""
    return LimitsBody(
        open_plans_per_owner=limits.open_plans_per_owner,
        runs=limits.runs,
        horizon_seconds=int(limits.horizon.total_seconds()),
        calls_per_session=limits.calls_per_session,
        receivers_per_session=limits.receivers_per_session,
        receivers_per_batch=limits.receivers_per_batch,
        presigned_entries=limits.presigned_entries,
        shortest_interval_seconds=SHORTEST_INTERVAL_S,
        shortest_poll_seconds=SHORTEST_POLL_S,
        networks=[_network_body(name, networks) for name in networks.served],
    )


def _network_body(name: Network, networks: ProposingNetworks) -> AutomationNetworkBody:
    network = networks.find(name)
    if network is None:
        return AutomationNetworkBody(
            name, is_available=False, is_free=True, modes=[], contracts=[], venues=[]
        )
    return AutomationNetworkBody(
        name,
        is_available=network.availability.is_given,
        is_free=network.is_free,
        modes=list(network.materials.modes),
        contracts=list(network.contracts),
        venues=list(network.venues),
    )
