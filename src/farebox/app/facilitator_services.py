"""The composition root of the facilitator on all networks."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from farebox.app.assembly import Loop
from farebox.app.network_services import NetworkServices, SharedWiring
from farebox.catalog.reason_registry import REASONS
from farebox.facilitator.http import facilitator_endpoints
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.listing_report import ListingReports
from farebox.facilitator.payment_http import PaymentAccess
from farebox.facilitator.settling.idempotency import StoredResponses
from farebox.facilitator.settling.journal_verifier import JournalVerifier
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.verification.verify import Verifier
from farebox.kernel.networks import Network
from farebox.mcp.rpc_error import rpc_sentences
from farebox.storage.pool import Database
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class FacilitatorServices:
    """The constructed facilitator; nothing runs yet."""

    settler: Settler
    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_facilitator(
    shared: SharedWiring,
    reads: Database,
    networks: Mapping[Network, NetworkServices],
    access: PaymentAccess,
    reports: ListingReports,
) -> FacilitatorServices:
    """Build `/verify`, `/settle` and `/supported`; `reads` is the pool for look-ups."""
    ledgers = {name: each.ledgers for name, each in networks.items()}
    responses = StoredResponses(shared.database, shared.journal, ledgers, shared.clock)
    verifier = Verifier({name: each.verified for name, each in networks.items()}, shared.clock)
    settler = Settler(
        verifier,
        {name: each.sender for name, each in networks.items()},
        shared.journal,
        responses,
        shared.releaser,
        shared.clock,
        shared.timeouts,
        shared.shutdown,
        foreign={name: each.foreign for name, each in networks.items()},
    )
    shown = SettlementJournal(reads, shared.clock, attempts=shared.journal.attempts)
    return FacilitatorServices(
        settler,
        endpoints=facilitator_endpoints(
            JournalVerifier(verifier, shown),
            settler,
            responses,
            shown,
            {name: each.operators for name, each in networks.items()},
            access,
            reports,
            REASONS,
            rpc_sentences(),
        ),
        tasks=[
            Loop("idempotency keys", responses.run),
            Loop("claim releases", shared.releaser.run),
        ],
    )
