"""Payments at the gateway for tests: wrappers in the database, and reservations for them."""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from farebox.facilitator.settlement import (
    NotSettled,
    PaymentIdentity,
    Settled,
    SettleOutcome,
    StoredResponse,
)
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.facilitator.verification.verdict import Accepted, SignedTransfer
from farebox.gateway.delivery.keep_response import ResponseKeeper, ResponseSealer
from farebox.gateway.delivery.outcome import PayOutcome
from farebox.gateway.delivery.pass_response import ResponseWriter
from farebox.gateway.delivery.pay import PaidRequest, Payer
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.payment import BuyerRequest
from farebox.gateway.relay.breaker import UpstreamBreaker
from farebox.gateway.relay.relay import UpstreamSlot, UpstreamSlots, owners_share
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault.stored_secret import Purpose
from support.journal_rows import Paid, insert_settlement
from support.outbound import SELLER
from support.payments import fresh_nonce
from support.vault import new_owner, random_value, vault_replica
from support.wrappers import OTHER_PAY_TO, wrapper_fields, wrappers_of

HASH: Final = "ab" * 32  # of the transaction of every payment


async def enabled_wrapper(database: Database, **members: Any) -> Wrapper:
    """Create a wrapper of a new owner and enable it."""
    return await wrapper_of(database, new_owner(), **members)


async def wrapper_of(database: Database, owner: Caller, **members: Any) -> Wrapper:
    """Create a wrapper of the owner and enable it."""
    wrappers = wrappers_of(database)
    created = await wrappers.create(owner, "r", wrapper_fields(**members))
    return await wrappers.enable(owner, "r", created.id)


async def wrapper_with_secret(
    database: Database,
    value: Secret[str] | None = None,
    *,
    purpose: Purpose = Purpose.HEADER,
    **members: Any,
) -> Wrapper:
    """Create and enable a wrapper whose upstream is the seller and takes a credential."""
    owner = new_owner()
    secret = await vault_replica(database).keep(owner, value or random_value(), purpose=purpose)
    upstream = f"https://{SELLER}/"
    return await wrapper_of(database, owner, upstream_url=upstream, secret_id=secret.id, **members)


def new_payment(wrapper: Wrapper, *, body: bytes = b"", method: str = "GET") -> NewPayment:
    """A payment that the gateway has not seen, for a request to the wrapper."""
    return NewPayment(
        identity=PaymentIdentity(Network.TESTNET, Address(OTHER_PAY_TO), fresh_nonce()),
        wrapper=wrapper,
        term=wrapper.settings.terms[0],
        request=BuyerRequest(wrapper.slug, method, "/", None, body.ljust(32)),
        request_digest=secrets.token_bytes(32),
        presented_digest=secrets.token_bytes(32),
    )


class ScriptedSettler:
    """Answers with the outcomes given, one after the other, the last one again and again."""

    def __init__(self, *outcomes: SettleOutcome | Exception, takes_s: float = 0.0) -> None:
        self._outcomes, self._takes_s = list(outcomes), takes_s
        self.verdict: Accepted | NotSettled | Exception | None = None
        self.judged: list[SettleRequest] = []
        self.settled: list[SettleRequest] = []
        self.accepted: list[Accepted | None] = []  # the verdicts that they were settled by
        self.at_once = self.at_once_max = 0

    async def judge(self, request: SettleRequest) -> Accepted | NotSettled | None:
        """Return or raise the verdict."""
        self.judged.append(request)
        await asyncio.sleep(self._takes_s)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict

    async def settle(
        self, request: SettleRequest, *, accepted: Accepted | None = None
    ) -> SettleOutcome | StoredResponse:
        """Return or raise the next outcome."""
        self.settled.append(request)
        self.accepted.append(accepted)
        self.at_once += 1
        self.at_once_max = max(self.at_once, self.at_once_max)
        await asyncio.sleep(self._takes_s)
        self.at_once -= 1
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def find_hash(self, identity: PaymentIdentity) -> str:
        """No hash is known."""
        return ""


class PatientSettler(ScriptedSettler):
    """Refuses a payment once so many calls are about to be judged."""

    def __init__(self, refusal: NotSettled, *, calls: int) -> None:
        super().__init__(refusal)
        self.verdict = refusal
        self._calls, self._are_here = calls, asyncio.Event()

    def count(self) -> None:
        """Note that one more call is about to be judged."""
        self._calls -= 1
        if not self._calls:
            self._are_here.set()

    async def judge(self, request: SettleRequest) -> Accepted | NotSettled | None:
        """Return the verdict once every call is here."""
        await self._are_here.wait()
        return await super().judge(request)


async def land(database: Database, new: NewPayment) -> NewPayment:
    """Insert a confirmed settlement, and return the payment with its identity."""
    identity = await insert_settlement(database, Paid())
    async with database.connection() as db:
        await db.execute(
            "UPDATE settlements SET request_digest = $2 WHERE nonce = $1",
            identity.nonce,
            new.request_digest,
        )
    return replace(new, identity=identity)


def settled(new: NewPayment) -> Settled:
    """The outcome of a payment that has landed."""
    return Settled(new.identity, new.request_digest, HASH)


@dataclass(slots=True)
class WaitingBuyer:
    """A buyer who waits for the response until it leaves."""

    has_left: bool = False


def paid_request(
    new: NewPayment,
    *,
    buyer: WaitingBuyer | None = None,
    is_private: bool = True,
    is_for_sale: bool = True,
    slots: int = 1,
) -> PaidRequest:
    """A request with this payment; the settler of a test does not read the transfer."""
    settle = SettleRequest(cast(SignedTransfer, None), new.identity)
    slot = UpstreamSlot(
        UpstreamSlots(slots), UpstreamBreaker(), SystemClock(), new.wrapper, new.identity
    )
    waiting = cast(ResponseWriter, buyer or WaitingBuyer())
    return PaidRequest(new, settle, slot, waiting, is_private=is_private, is_for_sale=is_for_sale)


@dataclass(frozen=True, slots=True)
class OtherPayment:
    """A payment that takes and gives back a slot of a wrapper, beside those of the test."""

    slots: UpstreamSlots
    wrapper: Wrapper
    identity: PaymentIdentity

    def take(self) -> bool:
        """Take the slot, if the owner may."""
        return self.slots.take(self.wrapper, self.identity)

    def release(self) -> None:
        """Give it back."""
        self.slots.release(self.wrapper, self.identity)


def other_payment(slots: UpstreamSlots, wrapper: Wrapper) -> OtherPayment:
    """A payment of another buyer to the wrapper."""
    return OtherPayment(slots, wrapper, new_payment(wrapper).identity)


@dataclass(frozen=True, slots=True)
class SlotCounters:
    """What the counters of upstream slots say."""

    free: int
    of_new: int = 0
    held: Mapping[str, int] = field(default_factory=dict)  # by owner
    payments: int = 0  # whose slots are held, at each wrapper

    @property
    def agree(self) -> bool:
        """Whether no counter is negative, and all count the same slots."""
        is_negative = min(self.free, self.of_new, *self.held.values(), 0) < 0
        return not is_negative and self.of_new <= sum(self.held.values()) == self.payments


def counters_of(slots: UpstreamSlots) -> SlotCounters:
    """Read the counters."""
    room = slots._room
    return SlotCounters(room.free, room._of_new, dict(room._held), len(slots._slots))


class LastCallSlots(UpstreamSlots):
    """A control: a slot goes back to the wrapper of the last call that gives it back."""

    def release(self, wrapper: Wrapper, payment: PaymentIdentity) -> None:
        """Give it back."""
        self._slots[wrapper.id, payment].share = owners_share(wrapper)
        super().release(wrapper, payment)


class OnePaymentSlots(LastCallSlots):
    """A control: calls with one payment share a slot, whichever wrappers they are for."""

    def is_held_for(self, wrapper: Wrapper, payment: PaymentIdentity) -> bool:
        """Whether any call with the payment has its slot."""
        return super().is_held_for(replace(wrapper, id=""), payment)

    def take(self, wrapper: Wrapper, payment: PaymentIdentity) -> bool:
        """Take the slot of the payment."""
        return super().take(replace(wrapper, id=""), payment)

    def release(self, wrapper: Wrapper, payment: PaymentIdentity) -> None:
        """Give it back."""
        super().release(replace(wrapper, id=""), payment)


@dataclass(frozen=True, slots=True)
class FindingPayer:
    """Finds the payment before it pays, as the gateway does."""

    payer: Payer

    async def pay(self, request: PaidRequest) -> PayOutcome:
        """Pay for the request."""
        return await self.payer.pay(request, await self.payer.find(request.new.identity))


def payer_of(
    database: Database, settler: ScriptedSettler, *, sealer: ResponseSealer | None = None
) -> FindingPayer:
    """The use case of paying, with a scripted settler."""
    keeper = ResponseKeeper(database, sealer)
    return FindingPayer(Payer(database, settler, keeper, SystemClock()))
