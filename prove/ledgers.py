"""Who closes the ledgers of a case: at once when a settlement waits for one, or never with it."""

import asyncio
import contextlib
from enum import StrEnum
from typing import Final

from farebox.local.devnet import Devnet
from farebox.local.faults import LocalFault

LIFE_S: Final = 20  # of an envelope, as configured; a node takes none with less than ten left
_SLOW_S: Final = 1.0
_FAST_S: Final = 0.12
_DROPPED_AFTER: Final = 4  # ledgers that pass what waits over before it is dropped
_JUMP_EVERY: Final = 8


class Landing(StrEnum):
    """What becomes of what the network was handed before the kill."""

    LANDS = "lands"
    NEVER = "never"


class LedgerHand:
    """Closes a devnet's ledgers by hand, faster once the settlement it times has been cut off."""

    def __init__(self, devnet: Devnet) -> None:
        self._devnet = devnet
        self._due = asyncio.Event()
        self._pace_s = _SLOW_S
        self._is_sent = False
        self._is_starving = self._is_still = False
        self._beats = 0

    def heard(self, label: str) -> None:
        """A call was answered: once an envelope is out and the watch looks, a ledger closes."""
        if label == "rpc sendTransaction":
            self._is_sent = True
        elif label == "rpc getHealth" and self._is_sent:
            self._is_sent = False
            self._due.set()

    async def run(self) -> None:
        """Close ledgers until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pace_s):
                    await self._due.wait()
            self._due.clear()
            if not self._is_still:
                with contextlib.suppress(LocalFault):  # the devnet is on its way out
                    await self._beat()

    async def _beat(self) -> None:
        self._beats += 1
        if self._is_starving and self._beats % _JUMP_EVERY == 0:
            await self._devnet.jump(LIFE_S + 1)
        await self._devnet.close(empty=self._is_starving)

    def wait(self) -> None:
        """No ledger closes until the case says how things go on."""
        self._is_still = True

    async def hasten(self) -> None:
        """What waits lands now, and ledgers follow fast."""
        self._is_still, self._pace_s = False, _FAST_S
        await self._devnet.close()

    async def starve(self) -> None:
        """What waits, and whatever comes, never lands: it is dropped and its time runs out."""
        self._is_starving, self._is_still, self._pace_s = True, False, _FAST_S
        await self._devnet.close(_DROPPED_AFTER, empty=True)
        await self._devnet.jump(LIFE_S + 1, ledgers=2)

    async def relent(self) -> None:
        """Ledgers take in what waits again."""
        self._is_starving = False
        await self._devnet.close(2)
