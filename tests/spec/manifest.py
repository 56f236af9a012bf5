"""Every sentence of the specification that can be tested; each is held by a test."""

from typing import Final

from spec.agents import AGENTS
from spec.catalog import CATALOG
from spec.gateway import GATEWAY
from spec.owners import OWNERS
from spec.payments import PAYMENTS
from spec.promise import Promise
from spec.service import SERVICE

PROMISES: Final[tuple[Promise, ...]] = (*PAYMENTS, *SERVICE, *CATALOG, *AGENTS, *GATEWAY, *OWNERS)
