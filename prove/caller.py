"""The seller of a case: it sends a payment to /settle and repeats it until an answer is final."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import aiohttp
import msgspec

from prove.environment import Environment, Replica, SignedPayment
from prove.payment_check import Answer

_PAUSE_S: Final = 0.15
_ANSWER_S: Final = 30.0


class Caller:
    """Sends one payment and keeps every answer in order."""

    def __init__(self, environment: Environment, payment: SignedPayment) -> None:
        self._environment, self.payment = environment, payment
        self.answers: list[Answer] = []
        self.headers = {"content-type": "application/json"}

    @property
    def is_answered(self) -> bool:
        """Whether one of the answers is final."""
        return any(answer.is_final for answer in self.answers)

    async def ask(self, replica: Replica) -> Answer:
        """Send one settle request to the replica."""
        timeout = aiohttp.ClientTimeout(total=_ANSWER_S)
        url, body = f"{replica.url}/settle", self.payment.body
        try:
            async with self._environment.web.post(
                url, data=body, headers=self.headers, timeout=timeout
            ) as response:
                retry_after = response.headers.get("Retry-After")
                answer = Answer(
                    response.status, msgspec.json.decode(await response.read()), retry_after
                )
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
            answer = Answer(0, {})
        self.answers.append(answer)
        return answer

    async def repeat_until_final(self, *, until: float) -> bool:
        """Repeat the request on live replicas until an answer is final; False when none was."""
        return await repeat_until_final(self._environment, self.ask, until=until)


class JudgedAnswer(Protocol):
    """An answer that says whether its request need not be repeated."""

    @property
    def is_final(self) -> bool: ...


async def repeat_until_final(
    environment: Environment,
    ask: Callable[[Replica], Awaitable[JudgedAnswer]],
    *,
    until: float,
) -> bool:
    """Ask live replicas in turn until an answer is final; False when none was."""
    loop = asyncio.get_running_loop()
    turn = 0
    while loop.time() < until:
        alive = environment.alive
        if alive:
            turn += 1
            if (await ask(alive[turn % len(alive)])).is_final:
                return True
        await asyncio.sleep(_PAUSE_S)
    return False
