"""The composition root of the facilitator: what judges and settles payments on all networks."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from starlette.routing import BaseRoute

from farebox.app.assembly import Loop
from farebox.app.network_services import NetworkServices, Shared
from farebox.catalog.reason_registry import REASONS
from farebox.facilitator.http import Ingress, facilitator_routes
from farebox.facilitator.listing_report import ListingReports
from farebox.facilitator.requests.answer import Answering
from farebox.facilitator.requests.idempotency import RequestNames
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.verification.verify import Verifier
from farebox.kernel.networks import Network


@dataclass(frozen=True, slots=True)
class FacilitatorServices:
    """The facilitator as constructed, nothing of it running yet."""

    settler: Settler
    routes: Sequence[BaseRoute]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_facilitator(
    shared: Shared,
    networks: Mapping[Network, NetworkServices],
    ingress: Ingress,
    reports: ListingReports,
) -> FacilitatorServices:
    """Everything behind `/verify`, `/settle` and `/supported`."""
    verifier = Verifier({name: each.verified for name, each in networks.items()}, shared.clock)
    settler = Settler(
        verifier,
        {name: each.sender for name, each in networks.items()},
        shared.journal,
        shared.clock,
        shared.waits,
        shared.departure,
        foreign={name: each.foreign for name, each in networks.items()},
    )
    names = RequestNames(shared.database, shared.clock)
    ledgers = {name: each.ledgers for name, each in networks.items()}
    answering = Answering(settler, names, ledgers, shared.clock)
    operators = {name: each.operators for name, each in networks.items()}
    return FacilitatorServices(
        settler,
        routes=facilitator_routes(
            verifier, answering, shared.journal, operators, ingress, reports, REASONS
        ),
        tasks=[Loop("request names", names.run)],
    )
