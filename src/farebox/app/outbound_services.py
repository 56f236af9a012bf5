"""The client for other people's addresses, as the settings want it."""

from farebox.app.settings import OutboundSettings
from farebox.outbound.client import OutboundClient
from farebox.outbound.resolve import (
    FixedLookup,
    LoopbackResolver,
    PublicResolver,
    Resolver,
    SystemLookup,
)


def build_outbound(settings: OutboundSettings) -> OutboundClient:
    """One client for the process; it calls nobody before it is entered."""
    return OutboundClient(_resolver(settings), authority=settings.test_authority)


def _resolver(settings: OutboundSettings) -> Resolver:
    known = settings.test_resolver
    if known is None:
        return PublicResolver(SystemLookup())
    return LoopbackResolver(known.servers, FixedLookup(known.addresses))
