"""Interceptors that present one devnet as two nodes, each with faults of its own."""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from farebox.local.devnet import Devnet
from farebox.local.faults import LocalFault
from prove.case import NodeFault
from prove.interceptor import Interceptor

T = TypeVar("T")
LEDGER_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class FaultSet:
    """The faults of a node, and the calls that they affect."""

    faults: tuple[NodeFault, ...] = ()
    is_alternating: bool = False  # every second call; else every call
    after_close_s: float = math.inf  # only calls within these seconds after two ledgers in four

    def __str__(self) -> str:
        names = " and ".join(map(_name, self.faults)) or "none"
        if self.after_close_s < math.inf:
            return f"{names} for {self.after_close_s:g} s after two ledgers in four"
        return f"{names} with every second call" if self.is_alternating else names


def _name(fault: NodeFault) -> str:
    kind, *rest = fault.effect.values()
    values = [str(value).partition("\n")[0][:60] for value in rest]
    methods = fault.rule.get("methods")
    return " ".join([str(kind), *values]) + (f" {methods}" if methods else "")


NO_FAULTS: Final = FaultSet()


class LedgerTimer:
    """Closes a devnet's ledgers a second apart."""

    def __init__(self, devnet: Devnet) -> None:
        self._devnet = devnet
        self._closed_at = -math.inf  # of the loop's clock
        self._ledgers = 0

    def is_within(self, seconds: float) -> bool:
        """Whether a ledger closed within `seconds`; of four ledgers the first two count."""
        age_s = asyncio.get_running_loop().time() - self._closed_at
        return age_s <= seconds and (self._ledgers % 4 < 2 or seconds == math.inf)

    async def run(self) -> None:
        """Close ledgers until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            with contextlib.suppress(LocalFault):  # the devnet is on its way out
                await self._devnet.close()
            self._closed_at = loop.time()
            self._ledgers += 1
            due = max(due + LEDGER_S, self._closed_at)
            await asyncio.sleep(due - self._closed_at)


class FaultSwitch:
    """Sets the faults of one node at a time on the devnet.

    It changes them while no call is under way. Calls under the same faults run concurrently.
    """

    def __init__(self, devnet: Devnet) -> None:
        self._devnet = devnet
        self._set: tuple[NodeFault, ...] = ()
        self._under_way = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def under(self, faults: tuple[NodeFault, ...]) -> AsyncIterator[None]:
        """Set exactly these faults within the block.

        Raises:
            LocalFault: the devnet knows no such fault.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: not self._under_way or self._set == faults)
            if self._set != faults:
                await self._set_to(faults)
            self._under_way += 1
        try:
            yield
        finally:
            async with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    async def _set_to(self, faults: tuple[NodeFault, ...]) -> None:
        await self._devnet.clear_faults()
        for fault in faults:
            await self._devnet.fault(fault.effect, **fault.rule)
        self._set = faults


class NodeInterceptor(Interceptor):
    """Intercepts the calls to one node; `fault_set` may be replaced at any time.

    `name` is the setting that names the node to the service.
    """

    def __init__(self, name: str, switch: FaultSwitch, timer: LedgerTimer) -> None:
        super().__init__(name)
        self.name = name
        self._switch, self._timer = switch, timer
        self._calls = 0
        self.fault_set = NO_FAULTS

    async def intercept(self, label: str, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver a call to the devnet under the faults of this node.

        Alternating faults spare the first of two calls.
        """
        self._calls += 1
        is_spared = self.fault_set.is_alternating and self._calls % 2 == 1
        is_spared = is_spared or not self._timer.is_within(self.fault_set.after_close_s)
        async with self._switch.under(() if is_spared else self.fault_set.faults):
            return await super().intercept(label, deliver)
