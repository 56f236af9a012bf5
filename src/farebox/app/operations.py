"""What every feature says of its routes, in one list."""

from collections.abc import Iterable

from farebox.accounts.operations import account_operations
from farebox.audit import operations as audit
from farebox.catalog import operations as catalog
from farebox.facilitator import operations as facilitator
from farebox.ingress import operations as ingress
from farebox.kernel.networks import Network
from farebox.search import operations as search
from farebox.vault import operations as vault
from farebox.web.operation import Operation


def operations(networks: Iterable[Network]) -> tuple[Operation, ...]:
    """Those of a service for these networks."""
    return (
        *facilitator.OPERATIONS,
        *catalog.OPERATIONS,
        *search.OPERATIONS,
        *account_operations(networks),
        *ingress.OPERATIONS,
        *vault.OPERATIONS,
        *audit.OPERATIONS,
    )
