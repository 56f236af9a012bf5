"""Whether plans can be proposed on a network now, and how its outage is answered."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from farebox.automation.refusal import AutomationUnavailable, NetworkUnavailable
from farebox.stellar.ledger_clock import ClockStale
from farebox.stellar.rpc import RpcUnavailable

_DEADLINE_S: Final = 30.0  # of everything that one request asks the network

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Availability:
    """The state of one network, read without a call."""

    outages: Callable[[], tuple[str, ...]]  # why the network cannot be used now
    is_funded: Callable[[], bool]  # its paymaster is, and has channels

    @property
    def is_given(self) -> bool:
        """Whether plans can be proposed now."""
        return not self.outages() and self.is_funded()

    def check(self) -> None:
        """Check that plans can be proposed now.

        Raises:
            NetworkUnavailable: no node answers.
            AutomationUnavailable: runs are not paid for.
        """
        reasons = self.outages()
        if reasons:
            log.info("automation.network_unavailable", why=", ".join(reasons))
            raise NetworkUnavailable
        if not self.is_funded():
            raise AutomationUnavailable

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Bound the time of one request's reads, and tell an outage of the network as one.

        Raises:
            NetworkUnavailable: no node answers, or not in time.
        """
        try:
            async with asyncio.timeout(_DEADLINE_S):
                yield
        except (RpcUnavailable, ClockStale) as outage:
            log.info("automation.network_unavailable", why=outage.message)
            raise NetworkUnavailable from None
        except TimeoutError:
            log.info("automation.network_unavailable", why=f"no answer in {_DEADLINE_S} s")
            raise NetworkUnavailable from None
