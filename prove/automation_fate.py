"""Decides what becomes of the first envelope of a case on the network."""

import asyncio
import contextlib
import random
from typing import Final

from stellar_sdk import Keypair

from farebox.local.faults import LocalFault
from prove.ask_node import read_newest
from prove.automation_case import Fate
from prove.environment import Environment
from prove.run_envelopes import RunEnvelope
from prove.stranger import land_operation

_LEAPS_S: Final = (5, 15, 40)
_NO_LEDGER_S: Final = 3.0
_STEP_S: Final = 21
_STEP_LEDGERS: Final = 5
_PAST_LEDGERS: Final = 14  # more than an attempt may wait
_ROUNDS: Final = 8


class EnvelopeFate:
    """Acts on the first envelope: `before` and `after` the node has it; `again`: on the second."""

    def __init__(
        self, environment: Environment, fate: Fate, stranger: Keypair, rng: random.Random
    ) -> None:
        self._environment, self._fate, self._stranger = environment, fate, stranger
        self._is_stranger_first = rng.random() < 0.5
        self._leap_s = rng.choice(_LEAPS_S)
        self._kept: RunEnvelope | None = None

    async def before(self, envelope: RunEnvelope) -> None:
        """Let the stranger act, if it is the first."""
        if self._fate is Fate.STRANGER and self._is_stranger_first:
            await self._replay(envelope)
            await self._environment.devnet.close()

    async def after(self, envelope: RunEnvelope) -> None:
        """Let the network do with the envelope what the case says."""
        devnet = self._environment.devnet
        match self._fate:
            case Fate.STRANGER if not self._is_stranger_first:
                await self._replay(envelope)
            case Fate.FOREIGN:
                with contextlib.suppress(LocalFault):  # the node has not taken it
                    await devnet.land_wrapped(envelope.tx_hash)
            case Fate.CLOCK:
                await devnet.jump(self._leap_s)
            case Fate.SLOW:
                self._environment.ledger_closer.pause()
                self._environment.later.append(asyncio.create_task(self._close_later()))
            case Fate.NEVER | Fate.KEPT:
                self._kept = envelope if self._fate is Fate.KEPT else None
                dropping = asyncio.create_task(self._outlive(envelope))
                self._environment.later.append(dropping)
            case _:
                return

    async def again(self, envelope: RunEnvelope) -> None:
        """Let the stranger use what it has kept of the first envelope, before the second one."""
        kept, self._kept = self._kept, None
        if kept is not None and envelope.inner_hash != kept.inner_hash:
            await self._replay(kept)
            await self._environment.devnet.close()

    async def _close_later(self) -> None:
        await asyncio.sleep(_NO_LEDGER_S)
        await self._environment.ledger_closer.resume(slowly=True)

    async def _outlive(self, envelope: RunEnvelope) -> None:
        """Drop what waits until the envelope's bounds have passed."""
        closer, devnet = self._environment.ledger_closer, self._environment.devnet
        began, _ = await read_newest(self._environment)
        await closer.drop_pending()
        for _ in range(_ROUNDS):
            ledger, closed_at = await read_newest(self._environment)
            if closed_at > envelope.max_time and ledger > began + _PAST_LEDGERS:
                break
            await devnet.jump(_STEP_S, ledgers=_STEP_LEDGERS)
        await closer.resume(slowly=True)

    async def _replay(self, envelope: RunEnvelope) -> None:
        """Send the signed entry of the envelope in a transaction of the stranger's."""
        with contextlib.suppress(LocalFault):  # the network refuses it by now
            await land_operation(self._environment, envelope.operation, self._stranger)
