"""Closes the ledgers of a case: at once when a settlement waits for one, or without it."""

import asyncio
import contextlib
from enum import StrEnum
from typing import Final

from farebox.local.devnet import Devnet
from farebox.local.faults import LocalFault

LIFE_S: Final = 20  # of an envelope, as configured; a node takes none with less than ten left
_SLOW_S: Final = 1.0
_FAST_S: Final = 0.12
_DROPPED_AFTER: Final = 4  # empty ledgers until a pending transaction is dropped
_JUMP_EVERY: Final = 8
_HELD_LEDGERS: Final = 3  # empty ledgers before a replacement envelope lands
_HELD_S: Final = 0.5


class Landing(StrEnum):
    """The fate of a transaction that was sent before the crash."""

    LANDS = "lands"
    NEVER = "never"


class LedgerCloser:
    """Closes a devnet's ledgers, faster once the settlement has crashed."""

    def __init__(self, devnet: Devnet) -> None:
        self._devnet = devnet
        self._due = asyncio.Event()
        self._pace_s = _SLOW_S
        self._is_sent = False
        self._drops_pending = self._is_paused = False
        self._ticks = 0
        self._holds_next = False
        self._held = 0  # empty ledgers that are still due

    def on_response(self, label: str) -> None:
        """Close a ledger once an envelope was sent and the ledger watch has polled."""
        if label == "rpc sendTransaction":
            self._is_sent = True
            if self._holds_next:
                self._holds_next, self._held, self._pace_s = False, _HELD_LEDGERS, _HELD_S
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
            if not self._is_paused:
                with contextlib.suppress(LocalFault):  # the devnet is on its way out
                    await self._tick()

    async def _tick(self) -> None:
        self._ticks += 1
        if self._drops_pending and self._ticks % _JUMP_EVERY == 0:
            await self._devnet.jump(LIFE_S + 1)
        await self._devnet.close(empty=self._drops_pending or self._held > 0)
        self._held = max(0, self._held - 1)

    async def expire_sent(self) -> None:
        """Pass the time bound of sent envelopes; the next one lands after some ledgers."""
        self._holds_next, self._pace_s = True, _FAST_S
        await self._devnet.jump(LIFE_S + 1, ledgers=2)

    def pause(self) -> None:
        """Close no ledger until `speed_up` or `drop_pending`."""
        self._is_paused = True

    async def speed_up(self) -> None:
        """Let pending transactions land now, and close ledgers fast."""
        self._is_paused, self._pace_s = False, _FAST_S
        self._holds_next, self._held = False, 0
        await self._devnet.close()

    async def drop_pending(self) -> None:
        """Drop pending and later transactions and pass their time bounds."""
        self._drops_pending, self._is_paused, self._pace_s = True, False, _FAST_S
        await self._devnet.close(_DROPPED_AFTER, empty=True)
        await self._devnet.jump(LIFE_S + 1, ledgers=2)

    async def resume(self, *, slowly: bool = False) -> None:
        """Let ledgers include pending transactions again; `slowly`: at the pace of the start."""
        self._drops_pending = self._is_paused = False
        self._pace_s = _SLOW_S if slowly else self._pace_s
        await self._devnet.close(2)
