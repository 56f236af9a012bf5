"""The hostile cases: pairs of payments, strangers, leavers, upstreams, nodes that contradict."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

from farebox.gateway.wrapper import WrapperLimits
from farebox.kernel.amounts import BaseUnits
from farebox.local.certificates import Authority
from prove.delivery_case import SLUG, DeliveryOutcome, keep_serving, open_gateway
from prove.delivery_faults import ContradictingNode, Outage, SendPolicy, read_late
from prove.delivery_payments import PaymentMaker
from prove.delivery_shop import BUYER, THIEF, Shop
from prove.delivery_upstream import ScriptedUpstream, UpstreamFault
from prove.delivery_verdict import judge_shop, read_evidence
from prove.environment import AMOUNT
from prove.world import World

_NAMES: Final = ("a", "b")
_TOO_DEAR: Final = BaseUnits(9 * 10**17)  # more than any payer has
_SETTLED_WITHIN_S: Final = 60.0
_PAIRS: Final = 6
_LEAVERS: Final = 8
_STATUSES_EACH: Final = 20  # of a seed; twenty seeds play all
_FIRST_STATUSES: Final = (
    200, 204, 206, 301, 304, 307, 400, 401, 402, 403, 404, 407, 408, 409, 429, 451, 499, 500, 502,
    503, 504, 599,
)  # fmt: skip
_SIZES: Final = (0, 3_000, 60_000, 400_000)
_STORED_BYTES: Final = 60_000
_HUGE_BYTES: Final = 14_000_000  # more than all buffers between the service and its buyer
_LEAVES_WITHIN_S: Final = 0.8
_USED: Final = 409
_UNDELIVERED: Final = frozenset({401, 402, 407, 408, 429})
_OUTAGE_S: Final = 3600
_UNDECIDABLE: Final = 100
_TOKENS: Final = (900, 1_024, 1_025, 1_026, 1_050, 3_000)  # the parser pauses behind 1,024 chunks
_SENDS: Final = 3  # envelopes of one sequence whose treatment is drawn
_LIMITS: Final = WrapperLimits(
    requests_per_minute=10_000,
    concurrent_requests=500,
    timeout_s=2,
    max_response_bytes=16_000_000,
    kept_response_bytes=65_536,
)
_KEEPS_LITTLE: Final = replace(_LIMITS, kept_response_bytes=4_096)


class HostileKind(StrEnum):
    """What somebody tries, or what fails."""

    TWO_PRICES = "two payments with one nonce, the second for less and to the buyer itself"
    LANDED_BEFORE = "a payment that another facilitator has landed before"
    LANDED_DURING = "a stranger lands the payment while ours is lost"
    LANDED_AFTER = "the landed authorization in an envelope of other bytes"
    SETTLED_BY_STRANGER = "a stranger sends the payment to /settle as soon as it is public"
    REBUILT = "the very bytes of a payment without a private part, a minute after its landing"
    LEAVES = "buyers leave at every byte"
    STREAM_LEFT = "buyers of a stream leave"
    STATUSES = "the upstream answers with every status"
    UNDECIDABLE = "a hundred payments that cannot be decided"
    READ_LATE = "the upstream leaves behind its whole response, which is read late"
    OUTAGE = "the node is away for an hour of its time"
    ENVELOPES = "the node takes, forgets and refuses the envelopes of one sequence"


@dataclass(frozen=True, slots=True)
class ShopCase:
    """A kind, and the seed of everything that is random in it."""

    seed: int
    number: int
    kind: HostileKind
    replicas: int = 1

    def __str__(self) -> str:
        return f"SEED={self.seed} CASE={self.number}: {self.kind}; {self.replicas} replicas"

    @property
    def price(self) -> BaseUnits:
        """The price of the wrapper."""
        is_dear = self.kind is HostileKind.TWO_PRICES and self.seed % 3 != 2
        return _TOO_DEAR if is_dear else AMOUNT

    @property
    def limits(self) -> WrapperLimits:
        """The limits of the wrapper."""
        return _KEEPS_LITTLE if self.kind is HostileKind.READ_LATE else _LIMITS


_NUMBERS: Final = 200_000  # above those of the other cases of the proof


def draw_hostile(seed: int) -> list[ShopCase]:
    """Plan every kind once."""
    return [
        ShopCase(seed, _NUMBERS + number, kind, replicas=1 + (seed + number) % 2)
        for number, kind in enumerate(HostileKind)
    ]


async def run_hostile(world: World, authority: Authority, case: ShopCase) -> DeliveryOutcome:
    """Run one hostile case."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    rng = random.Random(f"hostile {case.seed} {case.kind}")
    upstream = ScriptedUpstream()
    async with open_gateway(
        world, authority, upstream, limits=case.limits, price=case.price
    ) as environment:
        replicas = [await environment.start(name) for name in _NAMES[: case.replicas]]
        payments = PaymentMaker(environment, rng)
        shop = Shop(environment, upstream, replicas, SLUG, rng, payments)
        environment.waiting.append(asyncio.create_task(keep_serving(environment)))
        await _PLAYS[case.kind](shop, case)
        await environment.devnet.clear_faults()
        await environment.ledger_closer.speed_up()
        await shop.wait_until_settled(within_s=_SETTLED_WITHIN_S)
        evidence = await read_evidence(shop)
        states = sorted({str(row["state"]) for row in evidence.rows.values()}) or ["gone"]
        return DeliveryOutcome(
            case=case,
            state="+".join(states),
            findings=judge_shop(evidence),
            answers=[str(ask) for ask in shop.asks[-4:]],
            took_s=loop.time() - began,
        )


async def _play_two_prices(shop: Shop, case: ShopCase) -> None:
    """One buyer presents a proper payment and a cheap one with its nonce, in every order."""
    for pair in range(_PAIRS):
        payer = shop.payments.take_payer()
        honest = await shop.payments.sign(THIEF, payer=payer, amount=case.price)
        cheap = await shop.payments.sign(
            THIEF,
            payer=payer,
            amount=BaseUnits(1),
            pay_to=shop.payments.take_payer().address,
            nonce=honest.nonce,
        )
        lag_s = shop.rng.choice((0.0, 0.02, 0.1))
        for replica in shop.replicas:
            replica.interceptor.start_counting()
            replica.interceptor.pause = lambda lag_s=lag_s: lag_s
        first, second = (cheap, honest) if pair % 3 == 2 else (honest, cheap)
        asked = asyncio.create_task(shop.ask(THIEF, first))
        for _ in range(3):
            await asyncio.sleep(shop.rng.random() * (0.02 + lag_s))
            await shop.ask(THIEF, second)
        await asked


async def _play_landed_before(shop: Shop, case: ShopCase) -> None:
    payment = await shop.payments.sign(BUYER)
    await shop.payments.land_elsewhere(payment)
    await shop.environment.devnet.close()
    shop.early_landings.add(payment.identity)
    for replica in shop.replicas:
        stolen = shop.payments.rewrap(payment, THIEF)
        await asyncio.gather(
            shop.ask(THIEF, stolen, replica=replica), shop.ask(BUYER, payment, replica=replica)
        )
        await shop.ask(THIEF, stolen, replica=replica)


async def _play_landed_during(shop: Shop, case: ShopCase) -> None:
    """The buyer's envelope is lost, and a stranger lands its authorization."""
    environment = shop.environment
    await environment.devnet.fault({"kind": "out_of_sync"}, methods=("sendTransaction",), count=1)
    payment = await shop.payments.sign(BUYER)
    buying = asyncio.create_task(shop.buy(payment))
    await shop.wait_until_sent(payment)
    await environment.devnet.jump(2)  # close times are in whole seconds: past that of the claim
    await shop.payments.land_elsewhere(payment)
    await environment.ledger_closer.expire_sent()
    await shop.ask(THIEF, shop.payments.rewrap(payment, THIEF))
    await buying
    await shop.ask(THIEF, shop.payments.rewrap(payment, THIEF))


async def _play_landed_after(shop: Shop, case: ShopCase) -> None:
    """A stranger asks with what the ledger shows, before and after the buyer has its response."""
    fails = case.seed % 2 == 0
    shop.upstream.faults.extend([UpstreamFault.STATUS] * (2 if fails else 0))
    payment = await shop.payments.sign(BUYER, has_identifier=case.seed % 3 != 0)
    await shop.ask(BUYER, payment)
    for _ in range(3):
        await shop.ask(THIEF, shop.payments.rewrap(payment, THIEF))
    await shop.buy(payment)
    await shop.ask(THIEF, shop.payments.rewrap(payment, THIEF))


async def _play_settled_by_stranger(shop: Shop, case: ShopCase) -> None:
    """The payment lands after its buyer was told so, or while it waits, and a stranger is first."""
    shop.environment.ledger_closer.pause()
    payment = await shop.payments.sign(BUYER, has_identifier=case.seed % 2 == 0)
    asked = asyncio.create_task(shop.ask(BUYER, payment))
    await shop.wait_until_sent(payment)
    if case.seed % 3 != 2:
        await asked
    await shop.environment.devnet.close()
    took = await asyncio.gather(*(shop.settle(payment.settle_body) for _ in range(3)))
    await asked
    await shop.environment.ledger_closer.speed_up()
    await shop.buy(payment)
    shop.stolen += sum(took) + await shop.settle(payment.settle_body)


async def _play_rebuilt(shop: Shop, case: ShopCase) -> None:
    """All of a payment without an identifier is public: its bytes can be built again."""
    plain = await shop.payments.sign(BUYER, has_identifier=False)
    private = await shop.payments.sign(BUYER)
    for payment in (plain, private):
        await shop.buy(payment)
        await shop.buy(payment)  # the retry of a stock client
    await shop.environment.query(
        "UPDATE gateway_payments SET paid_at = paid_at - interval '61 seconds'"
    )
    await shop.ask(THIEF, plain)
    await shop.buy(private)


async def _play_leaves(shop: Shop, case: ShopCase) -> None:
    """Buyers leave before the call, while it lasts, and after some bytes of the response."""
    for number in range(_LEAVERS):
        await _leave_once(shop, number, size=shop.rng.choice(_SIZES))
    await _leave_once(shop, _LEAVERS, size=_HUGE_BYTES, after=shop.rng.randrange(1, 10_000))


async def _leave_once(shop: Shop, number: int, *, size: int, after: int | None = None) -> None:
    """Leave after so many bytes of the answer, at once (-1), or after a while (0); then repeat."""
    rng = shop.rng
    if after is None:
        after = rng.choice((-1, 0, 1, rng.randrange(1, 600), rng.randrange(1, size + 300)))
    if after <= 0:  # what is in the buffers of the kernel counts as read
        size = min(size, _STORED_BYTES)
    method = "GET" if size == _HUGE_BYTES else rng.choice(("GET", "GET", "POST"))
    target = f"/item?n={number}&bytes={size}"
    payment = await shop.payments.sign(BUYER)
    shop.upstream.takes_s = rng.choice((0.0, 0.0, 0.4))
    until = asyncio.get_running_loop().time() + rng.random() * _LEAVES_WITHIN_S

    def is_time(seen: bytes) -> bool:
        if after < 0:
            return True
        return len(seen) >= after if after else asyncio.get_running_loop().time() > until

    await shop.leave(payment, is_time, target=target, method=method)
    shop.upstream.takes_s = 0.0
    answer = await shop.repeat(payment, target=target, method=method)
    # a POST of unknown outcome is owed; a long response that was sent whole is not stored
    if method == "GET" and (answer.status != _USED or size == _HUGE_BYTES):
        shop.honest.append((payment, target))


async def _play_stream_left(shop: Shop, case: ShopCase) -> None:
    """Buyers read a part of an event stream; who got no event gets the stream again."""
    for number, events in enumerate((1, 1, 8, 8)):
        payment = await shop.payments.sign(BUYER)
        target = f"/item?n={number}&events={events}"
        if number % 2 == 0:
            await shop.buy(payment, target=target)
            continue
        awaited = shop.rng.choice((b"a comment", b"data: response"))
        await shop.leave(payment, partial(_has_read, awaited), target=target)
        await shop.repeat(payment, target=target)


def _has_read(awaited: bytes, seen: bytes) -> bool:
    return awaited in seen


async def _play_statuses(shop: Shop, case: ShopCase) -> None:
    """Every status is delivered, or answered 502 with the receipt and tried again."""
    later = [each for each in range(200, 600) if each not in _FIRST_STATUSES]
    share = later[(case.seed - 2) * _STATUSES_EACH :][:_STATUSES_EACH]
    statuses = _FIRST_STATUSES if case.seed == 1 else share

    async def buy(number: int, status: int) -> None:
        payment = await shop.payments.sign(BUYER)
        target = f"/item?n={number}&status={status}"
        is_delivered = status < 500 and status // 100 != 3 and status not in _UNDELIVERED
        if is_delivered and status != 204:
            await shop.buy(payment, target=target)
            return
        await shop.ask(BUYER, payment, target=target)
        await shop.ask(THIEF, shop.payments.rewrap(payment, THIEF), target=target)

    for first in range(0, len(statuses), 4):
        group = statuses[first : first + 4]
        await asyncio.gather(*(buy(first + n, each) for n, each in enumerate(group)))


async def _play_undecidable(shop: Shop, case: ShopCase) -> None:
    """A hundred old rows cannot be decided; the payment of a dead process is resolved."""
    environment = shop.environment
    await shop.insert_undecidable(_UNDECIDABLE)
    shop.upstream.faults.append(UpstreamFault.KILL)
    payment = await shop.payments.sign(BUYER)
    await shop.ask(BUYER, payment)
    # its buyer stays away meanwhile: a call of its own would end the attempt
    shop.is_held_up = not await shop.wait_until_settled(within_s=_SETTLED_WITHIN_S)
    await shop.buy(payment)
    deleted = await environment.query(
        "DELETE FROM gateway_payments WHERE slug = 'undecidable' RETURNING nonce"
    )
    shop.released = _UNDECIDABLE - len(deleted)


async def _play_read_late(shop: Shop, case: ShopCase) -> None:
    """Buy responses in small chunks; their upstream leaves before the service reads the last."""
    for replica in shop.replicas:
        replica.interceptor.start_counting()
        replica.interceptor.call_fault = read_late

    async def buy(tokens: int) -> None:
        payment = await shop.payments.sign(BUYER)
        # an upstream gets a POST once, so that no second attempt hides what the first one lost
        await shop.buy(payment, target=f"/item?n=1&tokens={tokens}", method="POST")

    await asyncio.gather(*(buy(tokens) for tokens in _TOKENS))


async def _play_outage(shop: Shop, case: ShopCase) -> None:
    """The node goes away while the payment is under way, and an hour of its time passes."""
    environment, outage, shop.may_fail = shop.environment, Outage(), True
    lands = case.seed % 2 == 0
    if not lands:
        await environment.devnet.fault(
            {"kind": "out_of_sync"}, methods=("sendTransaction",), count=1
        )
    payment = await shop.payments.sign(BUYER)
    asked = asyncio.create_task(shop.ask(BUYER, payment))
    await shop.wait_until_sent(payment)
    for replica in shop.replicas:
        replica.interceptor.start_counting()
        replica.interceptor.call_fault = outage
    if lands:
        await environment.devnet.close()
    await asked
    await environment.devnet.jump(_OUTAGE_S, ledgers=20)
    await shop.ask(BUYER, payment)
    outage.is_over = True
    await shop.buy(payment)


async def _play_envelopes(shop: Shop, case: ShopCase) -> None:
    """Envelopes of one sequence are taken, forgotten and refused; one of them may land."""
    policies = [shop.rng.choice(list(SendPolicy)) for _ in range(_SENDS)]
    policies[case.seed % _SENDS] = SendPolicy.DENIES
    shop.may_fail = True
    node = ContradictingNode(shop.environment, policies)
    for replica in shop.replicas:
        replica.interceptor.deliver_call = node  # type: ignore[method-assign] # the proof's node
    shop.environment.ledger_closer.pause()
    payment = await shop.payments.sign(BUYER)
    asked = asyncio.create_task(shop.ask(BUYER, payment))
    await shop.wait_until_sent(payment)
    await asyncio.sleep(shop.rng.random() * 2)
    await shop.environment.ledger_closer.speed_up()
    await asked
    await shop.buy(payment)


Play = Callable[[Shop, ShopCase], Awaitable[None]]
_PLAYS: Final[dict[HostileKind, Play]] = {
    HostileKind.TWO_PRICES: _play_two_prices,
    HostileKind.LANDED_BEFORE: _play_landed_before,
    HostileKind.LANDED_DURING: _play_landed_during,
    HostileKind.LANDED_AFTER: _play_landed_after,
    HostileKind.SETTLED_BY_STRANGER: _play_settled_by_stranger,
    HostileKind.REBUILT: _play_rebuilt,
    HostileKind.LEAVES: _play_leaves,
    HostileKind.STREAM_LEFT: _play_stream_left,
    HostileKind.STATUSES: _play_statuses,
    HostileKind.UNDECIDABLE: _play_undecidable,
    HostileKind.READ_LATE: _play_read_late,
    HostileKind.OUTAGE: _play_outage,
    HostileKind.ENVELOPES: _play_envelopes,
}
