"""One attempt to deliver a paid request, with a real TLS upstream and a recorded buyer."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.attempt import NotDelivered
from farebox.gateway.delivery.deliver import Deliverer
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.pass_response import BuyerLeft
from farebox.gateway.delivery.reconcile import GatewayReconciler
from farebox.gateway.payment import GatewayPayment
from farebox.gateway.relay.breaker import UpstreamBreaker
from farebox.gateway.relay.received_body import BodySpool, ReceivedBody
from farebox.gateway.relay.relay import Relay, UpstreamRequest, UpstreamSlots
from farebox.gateway.relay.response_headers import RawHeader
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.clock import SystemClock
from farebox.outbound.client import MAX_CALLS
from farebox.storage.pool import Database
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import Sealer
from support.gateway_payments import HASH, enabled_wrapper, new_payment
from support.outbound import SELLER, Seller, seller
from support.upstream import Answer
from support.vault import OLD, keys

KEPT: Final = 1000
Attempt = Callable[..., AbstractAsyncContextManager["Attempted"]]


@dataclass(slots=True)
class RecordedResponse:
    """The buyer's side; it leaves after `leaves_after` bytes of the body."""

    leaves_after: int | None = None
    limit_bytes: int | None = None
    has_left: bool = False
    status: int = 0
    headers: list[RawHeader] = field(default_factory=list)
    length: int | None = None
    body: bytes = b""
    is_whole: bool = False

    def limit_time(self, within_s: float) -> None:
        """The buyer takes everything at once."""

    def while_connected(self) -> AbstractAsyncContextManager[None]:
        """The buyer leaves within no wait."""
        return nullcontext()

    async def start(self, status: int, headers: list[RawHeader], *, length: int | None) -> None:
        """Keep status and headers."""
        self.status, self.headers, self.length = status, headers, length

    async def write(self, part: bytes, *, is_last: bool = False) -> None:
        """Keep a part of the body."""
        self.body += part
        if self.leaves_after is not None and len(self.body) > self.leaves_after:
            raise BuyerLeft
        self.is_whole = is_last

    async def wait_until_taken(self) -> None:
        """Every part is kept at once."""


@dataclass(slots=True)
class Attempted:
    """A paid request, its upstream and its buyer."""

    database: Database
    seller: Seller
    delivery: Deliverer
    relay: Relay
    keeper: ResponseKeeper
    wrapper: Wrapper
    payment: GatewayPayment
    buyer: RecordedResponse
    body: ReceivedBody
    method: str = "GET"

    async def deliver(self, **request: Any) -> NotDelivered | None:
        """Deliver once."""
        may_repeat = request.pop("may_repeat", True)
        own: dict[str, Any] = {
            "url": f"https://{SELLER}/data",
            "method": self.method,
            "body": self.body,
            "timeout_s": 20,
            "max_response_bytes": 100_000,
        }
        return await self.delivery.deliver(
            self.payment,
            UpstreamRequest(**(own | request)),
            self.buyer,
            kept_bytes=KEPT,
            may_repeat=may_repeat,
        )

    async def lose(self) -> None:
        """Let the time of the attempt pass, and end it as the reconciler does."""
        async with self.database.connection() as db:
            await db.execute("UPDATE gateway_payments SET attempt_until = now()")
        await GatewayReconciler(self.database, SystemClock()).reconcile()

    async def begin(self) -> None:
        """Begin another attempt."""
        async with self.database.connection() as db:
            begun = await payment_store.start_attempt(
                db, self.payment, attempt_for=timedelta(hours=1), concurrent_requests=50
            )
        assert begun is not None
        self.payment = begun

    async def pay_again(self) -> None:
        """Pay for another request, whose attempt begins."""
        self.payment, self.buyer = await paid(self.database, self.wrapper), RecordedResponse()

    async def row(self) -> GatewayPayment:
        """The payment as it is stored."""
        async with self.database.connection() as db:
            row = await payment_store.find_payment(db, self.payment.identity)
        assert row is not None
        return row

    async def stored(self) -> int:
        """How many responses are stored."""
        async with self.database.connection() as db:
            return int(await db.fetchval("SELECT count(*) FROM gateway_responses"))


async def paid(database: Database, wrapper: Wrapper) -> GatewayPayment:
    """Record a new payment that has landed, and begin an attempt."""
    hour, new = timedelta(hours=1), new_payment(wrapper)
    async with database.connection() as db:
        held = await reservation_store.reserve(db, new, held_for=hour)
        assert held is not None
        payment = await payment_store.record_paid(db, held, HASH, attempt_for=hour)
    assert payment is not None
    return payment


def attempts_of(database: Database, folder: Path) -> Attempt:
    """Open attempts to deliver new payments."""

    @asynccontextmanager
    async def opened(
        answer: Answer, *, max_calls: int = MAX_CALLS, **buyer: Any
    ) -> AsyncIterator[Attempted]:
        wrapper = await enabled_wrapper(database)
        payment = await paid(database, wrapper)
        clock = SystemClock()
        sealer = ByteSealer(Sealer(keys(OLD), domain="gateway response"))
        async with seller(folder, answer, max_calls=max_calls) as at:
            relay = Relay(at.client, UpstreamSlots(MAX_CALLS), UpstreamBreaker(), clock)
            keeper = ResponseKeeper(database, sealer)
            delivery = Deliverer(database, relay, keeper, clock)
            with BodySpool().open("") as body:
                buyer_side = RecordedResponse(**buyer)
                yield Attempted(
                    database, at, delivery, relay, keeper, wrapper, payment, buyer_side, body
                )

    return opened
