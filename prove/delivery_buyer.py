"""The buyer of a case: it presents one payment, and repeats its request until it knows the end."""

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from prove.caller import repeat_until_final
from prove.environment import Environment, Replica, SignedPayment

_GOODS: Final = re.compile(rb"response ([0-9]+) ")  # in every body of the scripted upstream
_ANSWER_S: Final = 40.0
_AGAIN: Final = (0, 429, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class BuyerAnswer:
    """A response of the gateway; status 0 when the connection broke before its end."""

    status: int
    body: bytes = b""
    receipt: dict[str, Any] | None = None
    has_offer: bool = False

    @property
    def attempts_left(self) -> int | None:
        """How many attempts the response says are left; None where it says nothing."""
        try:
            return int(json.loads(self.body)["error"]["details"]["attemptsLeft"])
        except (ValueError, LookupError, TypeError):
            return None

    @property
    def is_final(self) -> bool:
        """Whether the buyer need not repeat its request."""
        return self.status not in _AGAIN or self.attempts_left == 0

    @property
    def goods(self) -> set[int]:
        """The numbers of the upstream's responses in it."""
        return {int(number) for number in _GOODS.findall(self.body)}

    @property
    def is_paid(self) -> bool:
        """Whether it proves the payment."""
        return self.receipt is not None and self.receipt.get("success") is True

    def __str__(self) -> str:
        if self.status == 0:
            return "cut off"
        return f"{self.status}{' with a receipt' if self.receipt else ''} {self.body[:60]!r}"


@dataclass(slots=True)
class GatewayBuyer:
    """Sends one request with one payment and keeps every answer in order."""

    environment: Environment
    payment: SignedPayment
    slug: str
    method: str
    answers: list[BuyerAnswer] = field(default_factory=list)

    async def ask(self, replica: Replica) -> BuyerAnswer:
        """Send the request to a replica once."""
        url = f"{replica.url}/gateway/{self.slug}/item?n=1"
        answer = await ask_gateway(self.environment, self.method, url, payment_header(self.payment))
        self.answers.append(answer)
        return answer

    async def repeat_until_final(self, *, until: float) -> bool:
        """Repeat the request on live replicas until an answer is final; False when none was."""
        return await repeat_until_final(self.environment, self.ask, until=until)


async def ask_gateway(environment: Environment, method: str, url: str, payment: str) -> BuyerAnswer:
    """Send a request with the value of `PAYMENT-SIGNATURE` and read the whole answer."""
    try:
        async with environment.web.request(
            method,
            url,
            headers={"PAYMENT-SIGNATURE": payment},
            data=b"{}" if method == "POST" else None,
            timeout=aiohttp.ClientTimeout(total=_ANSWER_S),
        ) as response:
            body = await response.read()
            receipt = response.headers.get("PAYMENT-RESPONSE")
            return BuyerAnswer(
                response.status,
                body,
                None if receipt is None else json.loads(base64.b64decode(receipt)),
                "PAYMENT-REQUIRED" in response.headers,
            )
    except (aiohttp.ClientError, TimeoutError):
        return BuyerAnswer(0)


def payment_header(payment: SignedPayment) -> str:
    """Return the value of `PAYMENT-SIGNATURE`."""
    payload = json.loads(payment.body)["paymentPayload"]
    return base64.b64encode(json.dumps(payload).encode()).decode()
