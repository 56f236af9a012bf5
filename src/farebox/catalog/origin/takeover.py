"""Whose a resource is, when a payment for it went to another than the one it is bound to."""

from dataclasses import dataclass
from typing import Final, Protocol

from farebox.catalog.ingestion.outbox import Ownership
from farebox.catalog.listing import Resource
from farebox.catalog.origin.offers import Origins, OriginSilent, Silence
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network

_MAY_SPEAK_LATER: Final = frozenset({Silence.UNREACHABLE, Silence.NO_ANSWER})


@dataclass(frozen=True, slots=True)
class Bound:
    """Who a key is bound to, and where that can be asked."""

    pay_to: Address
    asked_url: str
    method: str | None


class Bindings(Protocol):
    """Knows who keys are bound to."""

    async def bound(self, network: Network, key: str) -> Bound | None:
        """The binding; None when there is none.

        Raises:
            DatabaseUnavailable: it cannot be said.
        """
        ...


class Takeover:
    """Lets a resource speak for itself."""

    def __init__(self, origins: Origins, bindings: Bindings) -> None:
        self._origins, self._bindings = origins, bindings

    async def ask(self, resource: Resource, network: Network, pay_to: Address) -> Ownership:
        """Whether the resource names `pay_to`, and no longer the one it is bound to.

        One that names both stays where it is, so that no two recipients can take it from each
        other in turns. A route template is one key for many places, and who owns one of them may
        not own the others: the place that the binding was made by is asked as well.

        Raises:
            DatabaseUnavailable: the binding cannot be read.
        """
        said = await self._origins.offers(resource.asked_url, method=resource.method)
        if isinstance(said, OriginSilent):
            return Ownership.SILENT
        bound = await self._bindings.bound(network, resource.key)
        if not said.name(network, pay_to) or (bound and said.name(network, bound.pay_to)):
            return Ownership.NAMES_OTHERS
        if bound is None or bound.asked_url in ("", resource.asked_url):
            return Ownership.NAMES_IT
        return await self._ask_where_bound(bound, network)

    async def _ask_where_bound(self, bound: Bound, network: Network) -> Ownership:
        """A place that answers and no longer names its recipient does not hold the key."""
        said = await self._origins.offers(bound.asked_url, method=bound.method)
        if isinstance(said, OriginSilent):
            return Ownership.SILENT if said.why in _MAY_SPEAK_LATER else Ownership.NAMES_IT
        upheld = said.name(network, bound.pay_to)
        return Ownership.NAMES_OTHERS if upheld else Ownership.NAMES_IT
