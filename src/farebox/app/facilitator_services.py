"""The composition root of the facilitator: what judges and settles payments on all networks."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from starlette.routing import BaseRoute

from farebox.app.assembly import Loop
from farebox.app.network_services import NetworkServices, Shared
from farebox.catalog.reason_registry import REASONS
from farebox.facilitator.http import Ingress, facilitator_routes
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.listing_report import ListingReports
from farebox.facilitator.requests.answer import Answering
from farebox.facilitator.requests.idempotency import RequestNames
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.settling.verify_known import KnownVerifier
from farebox.facilitator.verification.verify import Verifier
from farebox.kernel.networks import Network
from farebox.storage.pool import Database


@dataclass(frozen=True, slots=True)
class FacilitatorServices:
    """The facilitator as constructed, nothing of it running yet."""

    settler: Settler
    routes: Sequence[BaseRoute]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_facilitator(
    shared: Shared,
    reads: Database,
    networks: Mapping[Network, NetworkServices],
    ingress: Ingress,
    reports: ListingReports,
) -> FacilitatorServices:
    """Everything behind `/verify`, `/settle` and `/supported`.

    Who looks a settlement up takes its connection from `reads`.
    """
    verifier = Verifier({name: each.verified for name, each in networks.items()}, shared.clock)
    settler = Settler(
        verifier,
        {name: each.sender for name, each in networks.items()},
        shared.journal,
        shared.returns,
        shared.clock,
        shared.waits,
        shared.departure,
        foreign={name: each.foreign for name, each in networks.items()},
    )
    names = RequestNames(shared.database, shared.clock, shared.journal.attempts)
    ledgers = {name: each.ledgers for name, each in networks.items()}
    answering = Answering(settler, names, ledgers, shared.clock)
    operators = {name: each.operators for name, each in networks.items()}
    shown = SettlementJournal(reads, shared.clock)
    return FacilitatorServices(
        settler,
        routes=facilitator_routes(
            KnownVerifier(verifier, shown),
            answering,
            shown,
            operators,
            ingress,
            reports,
            REASONS,
        ),
        tasks=[
            Loop("request names", names.run),
            Loop("claim returns", shared.returns.run),
        ],
    )
