"""The seller's side of a case: hands in a body, and hands it in again until it is answered."""

import asyncio
from typing import Final

import aiohttp
import msgspec

from prove.arena import Arena, Replica, SignedPayment
from prove.truth import Answer

_PAUSE_S: Final = 0.15
_ANSWER_S: Final = 30.0


class Caller:
    """Keeps every answer it was given, in order."""

    def __init__(self, arena: Arena, payment: SignedPayment) -> None:
        self._arena, self.payment = arena, payment
        self.answers: list[Answer] = []

    @property
    def is_answered(self) -> bool:
        """Whether an answer so far was final."""
        return any(answer.is_final for answer in self.answers)

    async def ask(self, replica: Replica) -> Answer:
        """One request, to the replica given."""
        timeout = aiohttp.ClientTimeout(total=_ANSWER_S)
        headers = {"content-type": "application/json"}
        url, body = f"{replica.url}/settle", self.payment.body
        try:
            async with self._arena.web.post(
                url, data=body, headers=headers, timeout=timeout
            ) as told:
                answer = Answer(told.status, msgspec.json.decode(await told.read()))
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
            answer = Answer(0, {})
        self.answers.append(answer)
        return answer

    async def insist(self, *, until: float) -> bool:
        """Ask whoever is alive until an answer is final; False when none was by `until`."""
        loop = asyncio.get_running_loop()
        turn = 0
        while loop.time() < until:
            alive = self._arena.alive
            if alive:
                turn += 1
                if (await self.ask(alive[turn % len(alive)])).is_final:
                    return True
            await asyncio.sleep(_PAUSE_S)
        return False
