"""Pauses the plans of a network that no process could use for more than an hour (3.5 row 9).

The outage is a row: a process that can use the network ends it for all of them, and one that is
started anew goes on counting. The other network is not looked at.
"""

from datetime import timedelta
from typing import Final

import structlog

from farebox.automation.lifecycle import upkeep_store
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.lifecycle.stop_plans import pause_plans
from farebox.automation.plans.proposal_state import PauseReason
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database

PAUSE_AFTER: Final = timedelta(hours=1)
_OWN_VIEW_S: Final = 60.0  # a process that has just started knows nothing of the network

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class UnhealthyNetwork:
    """Watches one network."""

    def __init__(self, network: LifecycleNetwork, database: Database, clock: Clock) -> None:
        self._network, self._database, self._clock = network, database, clock
        self._out_since: float | None = None  # as this process has seen it

    async def run_once(self) -> None:
        """Record whether the network can be used; pause its plans after an hour without it.

        Raises:
            DatabaseUnavailable: the next pass looks again.
        """
        network = self._network.network
        if not self._network.availability.outages():
            self._out_since = None
            async with self._database.connection() as db:
                await upkeep_store.end_outage(db, network)
            return
        monotonic = self._clock.monotonic()
        self._out_since = monotonic if self._out_since is None else self._out_since
        now = self._clock.now()
        async with self._database.transaction() as db:
            since = await upkeep_store.begin_outage(db, network, now=now)
            is_ours = await upkeep_store.take_network(db, network)
        is_seen = monotonic - self._out_since >= _OWN_VIEW_S
        if not (is_ours and is_seen and now - since > PAUSE_AFTER):
            return
        paused = await pause_plans(
            self._database, self._clock, network, reason=PauseReason.NETWORK_UNHEALTHY
        )
        if paused.count:
            log.warning("automation.network_unhealthy", network=network.value, paused=paused.count)
