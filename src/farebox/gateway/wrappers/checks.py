"""The checks of a wrapper that need the network: its upstream and its recipients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from farebox.catalog.tokens.token import TokenKind, identify_token
from farebox.facilitator.verification.operator_rules import AssetPolicy, AssetRule
from farebox.gateway.wrapper import WrapperSettings, WrapperTerm, route_terms
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.slots import Requester, Share
from farebox.outbound.client import OutboundClient
from farebox.outbound.faults import CallNotSent, CallRefused, NotSentReason
from farebox.stellar.balance_call import balance_envelope
from farebox.stellar.contract_instance import instance_key, read_contract_code
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    Simulated,
    SimulationRefused,
    UnreadableSimulation,
    read_simulation,
)
from farebox.stellar.simulation_slots import SimulationPurpose, SimulationSlots
from farebox.stellar.soroban_rpc import SorobanRpc

_RESOLVE_S: Final = 5.0
_NO_TRUSTLINE: Final = "It has no trustline for the token on {network}: it cannot be paid."
_NOT_A_TOKEN: Final = "It is no token contract on {network}, or payTo cannot hold it."  # noqa: S105 - a sentence
_ARCHIVED: Final = "The token, or its balance of payTo, is archived on {network}."


@dataclass(frozen=True, slots=True)
class PaymentNetwork:
    """A network that the service settles on; `is_ours` recognizes the operator's accounts."""

    node: SorobanRpc
    simulations: SimulationSlots
    assets: AssetPolicy
    is_ours: Callable[[Address], bool]


class NetworkChecks:
    """Checks that upstreams can be called and that what is offered could be settled."""

    def __init__(self, client: OutboundClient, networks: Mapping[Network, PaymentNetwork]) -> None:
        self._client, self._networks = client, networks

    async def check(self, settings: WrapperSettings, caller: Caller) -> None:
        """Check the upstream's address, and that every recipient can hold its tokens.

        Lookups and simulations count in the caller's share.

        Raises:
            InvalidWrapper: the upstream is this service or not public, a network is not served, or
                a recipient cannot be paid.
            Outage: it cannot be checked now.
        """
        await self._check_upstream(settings.upstream.url, caller.share)
        routes = (route_terms(settings, each) for each in settings.routes)
        terms = {term for own in (settings.terms, *routes) for term in own}
        pairs = {(term.network, term.asset, term.pay_to): term for term in terms}
        for _, term in sorted(pairs.items()):
            await self._check_recipient(term, caller.share)

    async def _check_upstream(self, url: str, share: Share) -> None:
        try:
            await self._client.check_address(url, deadline_s=_RESOLVE_S, owner=share)
        except CallRefused as refusal:
            why = f"It cannot be called: {refusal.reason.value}."
            raise InvalidWrapper("upstreamUrl", why) from None
        except CallNotSent as error:
            if error.is_own_congestion or error.reason is NotSentReason.DEADLINE:
                raise
            why = f"It cannot be called: {error.reason.value}."
            raise InvalidWrapper("upstreamUrl", why) from None

    async def _check_recipient(self, term: WrapperTerm, share: Share) -> None:
        network = self._networks.get(term.network)
        if network is None:
            raise InvalidWrapper("network", f"{term.network.value} is not served here.")
        if network.is_ours(term.pay_to):
            raise InvalidWrapper("payTo", "It is an account of the service itself.")
        if not await _is_settled(term, network):
            raise InvalidWrapper("asset", f"It is not settled here on {term.network.value}.")
        await _check_balance(term, network, share)


async def _check_balance(term: WrapperTerm, network: PaymentNetwork, share: Share) -> None:
    """Check, by a simulated call, that the recipient can hold the token."""
    envelope = balance_envelope(term.asset, term.pay_to)
    requester = Requester(SimulationPurpose.PREVIEW, share)
    answer = await network.simulations.simulate(envelope, requester)
    simulation = read_simulation(answer.result)
    match simulation:
        case Simulated():
            return
        case SimulationRefused(kind=RefusalKind.TRUSTLINE):
            raise InvalidWrapper("payTo", _NO_TRUSTLINE.format(network=term.network.value))
        case SimulationRefused():
            raise InvalidWrapper("asset", _NOT_A_TOKEN.format(network=term.network.value))
        case NeedsRestore():
            raise InvalidWrapper("asset", _ARCHIVED.format(network=term.network.value))
        case UnreadableSimulation(part=part):
            raise Outage("node", f"The simulation cannot be read: {part}.")
        case _:
            assert_never(simulation)


async def _is_settled(term: WrapperTerm, network: PaymentNetwork) -> bool:
    """Whether the operator settles payments in the token."""
    if isinstance(network.assets, frozenset):
        return term.asset in network.assets
    if network.assets is AssetRule.ANY:
        return True
    key = instance_key(term.asset)
    entries = (await network.node.ledger_entries([key])).entries
    data = next((entry.data for entry in entries if entry.key == key), None)
    code = None if data is None else read_contract_code(data, term.asset)
    return identify_token(code, term.asset, term.network).kind is TokenKind.ASSET_CONTRACT
