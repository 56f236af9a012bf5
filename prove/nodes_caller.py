"""A seller that verifies and settles a payment, and repeats the body until an answer is final."""

import asyncio
import math
from collections.abc import Sequence
from typing import Final

from farebox.x402.reasons import REGISTRY, Reason, Retry
from prove.caller import Caller, post
from prove.environment import Environment, Replica, SignedPayment
from prove.payment_check import Answer

_PAUSE_S: Final = 0.4
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
                await asyncio.sleep(_PAUSE_S)
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
