"""Who buys: the buyer of a case with one payment, and all who ask the shop of a hostile case."""

import asyncio
import base64
import contextlib
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from farebox.x402.reasons import Reason
from prove.caller import repeat_until_final
from prove.delivery_payments import PaymentMaker, ShopPayment
from prove.delivery_upstream import ScriptedUpstream
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


BUYER: Final = "buyer"
THIEF: Final = "thief"
_PAUSE_S: Final = 0.2
_LOOK_S: Final = 0.2
_NO_CONTENT: Final = 204
_SMALL_BUFFER: Final = 4096
_READ_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Ask:
    """One request with a payment, by one actor, and its answer."""

    actor: str
    payment: ShopPayment
    answer: BuyerAnswer
    target: str
    has_left: bool = False  # the actor closed the connection before the end

    @property
    def has_goods(self) -> bool:
        """Whether a response that the actor paid for arrived, as far as it was read."""
        if self.answer.status == _NO_CONTENT:
            return self.answer.is_paid
        return 200 <= self.answer.status <= 499 and bool(self.answer.goods)

    def __str__(self) -> str:
        left = ", left" if self.has_left else ""
        return f"{self.actor} with {self.payment.owner}'s: {self.answer}{left}"


@dataclass(slots=True)
class Shop:
    """What a hostile case acts on; `asks` are in the order of their ends."""

    environment: Environment
    upstream: ScriptedUpstream
    replicas: Sequence[Replica]
    slug: str
    rng: random.Random
    payments: PaymentMaker
    asks: list[Ask] = field(default_factory=list)
    early_landings: set[tuple[str, int]] = field(default_factory=set)  # before the service knew
    honest: list[tuple[ShopPayment, str]] = field(default_factory=list)  # who must get a response
    stolen: int = 0  # successes of /settle that strangers got
    may_fail: bool = False  # the network may lose an honest payment for good
    is_held_up: bool = False  # an attempt did not end while others could not be decided
    released: int = 0  # payments that could not be decided, and whose reservation is gone

    def pick(self) -> Replica:
        """Choose a live replica."""
        return self.rng.choice(self.environment.alive or self.replicas)

    async def ask(
        self,
        actor: str,
        payment: ShopPayment,
        *,
        target: str = "/item?n=1",
        method: str = "GET",
        replica: Replica | None = None,
    ) -> BuyerAnswer:
        """Send a request with the payment and read the whole answer."""
        url = f"{(replica or self.pick()).url}/gateway/{self.slug}{target}"
        answer = await ask_gateway(self.environment, method, url, payment.header)
        self.asks.append(Ask(actor, payment, answer, target))
        return answer

    async def buy(
        self,
        payment: ShopPayment,
        *,
        target: str = "/item?n=1",
        method: str = "GET",
        within_s: float = 40.0,
    ) -> BuyerAnswer:
        """Ask as the honest buyer, and repeat the same request until it is final."""
        self.honest.append((payment, target))
        return await self.repeat(payment, target=target, method=method, within_s=within_s)

    async def repeat(
        self,
        payment: ShopPayment,
        *,
        target: str = "/item?n=1",
        method: str = "GET",
        within_s: float = 40.0,
    ) -> BuyerAnswer:
        """Ask as the buyer until an answer is final, or time is up."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while True:
            answer = await self.ask(BUYER, payment, target=target, method=method)
            if answer.is_final or loop.time() > until:
                return answer
            await asyncio.sleep(_PAUSE_S)

    async def leave(
        self,
        payment: ShopPayment,
        is_time: Callable[[bytes], bool],
        *,
        target: str = "/item?n=1",
        method: str = "GET",
        within_s: float = 20.0,
    ) -> bytes:
        """Ask over a socket of its own and close it once `is_time` says so of what was read.

        Little fits into the buffers of the socket, so that what is not read stays at the service.
        """
        url = urlsplit(self.pick().url)
        reader, writer = await asyncio.open_connection(url.hostname, url.port, limit=_SMALL_BUFFER)
        body = b"{}" if method == "POST" else b""
        writer.write(
            f"{method} /gateway/{self.slug}{target} HTTP/1.1\r\nHost: {url.netloc}\r\n"
            f"Content-Length: {len(body)}\r\nPAYMENT-SIGNATURE: {payment.header}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        seen = b""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while not is_time(seen) and loop.time() < until:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    part = await reader.read(_READ_BYTES)
                    seen += part
                    if not part:
                        break
        writer.transport.abort()
        head, _, rest = seen.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1]) if head else 0
        self.asks.append(Ask(BUYER, payment, BuyerAnswer(status, rest), target, has_left=True))
        return seen

    async def settle(self, body: bytes) -> bool:
        """Send the body to /settle as a stranger; whether it got the success."""
        headers = {"content-type": "application/json"}
        url = f"{self.pick().url}/settle"
        async with self.environment.web.post(url, data=body, headers=headers) as response:
            return (await response.json()).get("success") is True

    async def wait_until_settled(self, *, within_s: float) -> bool:
        """Wait until no call and no loop has work of a payment before it; whether that came."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while loop.time() < until:
            if not await self._has_work():
                return True
            await asyncio.sleep(_LOOK_S)
        return False

    async def _has_work(self) -> bool:
        (row,) = await self.environment.query(
            "SELECT (SELECT count(*) FROM gateway_payments WHERE slug = $1 AND"
            "   (state = 'reserved' OR attempt_until IS NOT NULL)) AS open,"
            " (SELECT coalesce(sum(in_progress), 0) FROM wrapper_counters) AS in_progress,"
            " (SELECT count(*) FROM settlements WHERE finished_at IS NULL) AS unfinished",
            self.slug,
        )
        return bool(row["open"] or row["in_progress"] or row["unfinished"])

    async def wait_until_sent(self, payment: ShopPayment) -> None:
        """Wait until the envelope of the payment was sent."""
        until = asyncio.get_running_loop().time() + 10
        while asyncio.get_running_loop().time() < until:
            rows = await self.environment.query(
                "SELECT state FROM settlements WHERE payer = $1 AND nonce = $2", *payment.identity
            )
            if rows and rows[0]["state"] in ("sending", "submitted"):
                return
            await asyncio.sleep(0.02)

    async def insert_undecidable(self, count: int) -> None:
        """Insert reserved payments whose settlement has no outcome that can be proven."""
        await self.environment.query(
            """
            WITH numbers AS (SELECT generate_series(1, $1) AS n), settled AS (
                INSERT INTO settlements (network, payer, nonce, claim_id, request_digest,
                    claimed_at, asset, amount, pay_to, expires_at_ledger, max_timeout_s,
                    budget_owner, state, reason, finished_at, tx_hash, envelope, source,
                    source_sequence, max_time, fee_limit, sent_after_ledger)
                SELECT 'stellar:testnet', 'G' || n, n, gen_random_uuid(), sha256(n::text::bytea),
                    now() - interval '1 day', 'C', 1, 'G', 1, 60, 'shared', 'unproven',
                    $2, now() - interval '1 day', sha256(('t' || n)::bytea), '\\x00',
                    'GS' || n, 1, now() - interval '1 day', 100, 1 FROM numbers)
            INSERT INTO gateway_payments (network, payer, nonce, wrapper_id, owner, slug, binding,
                request_digest, method, path, asset, amount, pay_to, state, minute, month,
                reserved_at)
            SELECT 'stellar:testnet', 'G' || n, n, 'wrp_none', 'user_p', 'undecidable',
                sha256(n::text::bytea), sha256(n::text::bytea), 'GET', '/', 'C', 1, 'G', 'reserved',
                date_trunc('minute', now()), date_trunc('month', now(), 'UTC'),
                now() - interval '1 day' FROM numbers
            """,
            count,
            Reason.OUTCOME_UNPROVEN.value,
        )
