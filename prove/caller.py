"""The seller of a case: it sends a payment to /settle and repeats it until an answer is final."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import aiohttp
import msgspec

from prove.environment import Environment, Replica, SignedPayment
from prove.payment_check import Answer

_PAUSE_S: Final = 0.15
_ANSWER_S: Final = 30.0
_JSON: Final[Mapping[str, str]] = {"content-type": "application/json"}


async def post(
    environment: Environment,
    url: str,
    body: bytes,
    headers: Mapping[str, str] = _JSON,
    *,
    within_s: float = _ANSWER_S,
) -> tuple[int, dict[str, Any], Mapping[str, str]]:
    """Send a body of JSON; return status, body and headers; status 0 when no JSON came."""
    timeout = aiohttp.ClientTimeout(total=within_s)
    try:
        async with environment.web.post(
            url, data=body, headers=headers, timeout=timeout
        ) as response:
            found = msgspec.json.decode(await response.read(), type=dict[str, Any])
            return response.status, found, response.headers
    except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
        return 0, {}, {}


class Caller:
    """Sends one payment and keeps every answer in order."""

    def __init__(self, environment: Environment, payment: SignedPayment) -> None:
        self._environment, self.payment = environment, payment
        self.answers: list[Answer] = []
        self.headers = dict(_JSON)

    @property
    def is_answered(self) -> bool:
        """Whether one of the answers is final."""
        return any(answer.is_final for answer in self.answers)

    async def ask(self, replica: Replica) -> Answer:
        """Send one settle request to the replica."""
        url = f"{replica.url}/settle"
        status, body, headers = await post(self._environment, url, self.payment.body, self.headers)
        answer = Answer(status, body, headers.get("Retry-After"))
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
