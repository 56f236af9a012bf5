"""The sellers of cases: they send a payment to /settle, and repeat it until an answer is final."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import aiohttp
import msgspec

from farebox.x402.reasons import REGISTRY, Reason, Retry
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


_SLOW_PAUSE_S: Final = 0.4
_VERIFY_S: Final = 20.0


class NodesCaller(Caller):
    """Keeps every answer; `refusals` are the reasons of `/verify` whose retry class is never."""

    def __init__(self, environment: Environment, payment: SignedPayment) -> None:
        super().__init__(environment, payment)
        self.refusals: list[str] = []
        self.settled_at = math.inf  # of the loop's clock

    @property
    def is_settled(self) -> bool:
        """Whether an answer reported success."""
        return self.settled_at < math.inf

    @property
    def is_refused(self) -> bool:
        """Whether an answer was final and none reported success."""
        return not self.is_settled and self.is_answered

    async def pay(
        self,
        replicas: Sequence[Replica],
        *,
        after_s: float,
        until: float,
        verifies: bool = False,
        at_both: bool = False,
        gives_up: bool = False,
    ) -> None:
        """Settle at the first replica, repeat at each in turn until an answer is final.

        `at_both`: all replicas get the body at once first; `gives_up`: nothing is repeated.
        """
        await asyncio.sleep(after_s)
        if verifies:
            await self._verify(replicas[0])
        if at_both:
            await asyncio.gather(*map(self.ask, replicas))
        turn = 0
        loop = asyncio.get_running_loop()
        while not self.is_answered and loop.time() < until:
            if turn > 0:
                await asyncio.sleep(_SLOW_PAUSE_S)
            await self.ask(replicas[turn % len(replicas)])
            turn += 1
            if gives_up:
                return

    async def ask(self, replica: Replica) -> Answer:
        """Send one settle request to the replica."""
        answer = await super().ask(replica)
        if answer.is_success:
            self.settled_at = min(self.settled_at, asyncio.get_running_loop().time())
        return answer

    async def _verify(self, replica: Replica) -> None:
        url = f"{replica.url}/verify"
        _, body, _ = await post(self._environment, url, self.payment.body, within_s=_VERIFY_S)
        reason = str(body.get("invalidReason", ""))
        if body.get("isValid") is not True and forbids_another_try(reason):
            self.refusals.append(reason)


def forbids_another_try(reason: str) -> bool:
    """Whether the registry gives the reason the retry class never."""
    return reason in set(Reason) and REGISTRY[Reason(reason)].retry is Retry.NEVER
