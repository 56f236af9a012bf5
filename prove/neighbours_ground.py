"""What an attacker has: accounts, addresses, money, wrappers of its own, and its requests."""

import asyncio
import itertools
import random
import secrets
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import msgspec
from stellar_sdk import Keypair

from farebox.gateway.wrapper import Upstream, WrapperLimits, WrapperSettings, WrapperTerm
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.secret import Secret
from farebox.local.devnet import Party
from farebox.web.client_address import site_name
from prove.auth_caller import FreeWallet, free_wallet
from prove.automation_world import owners_of
from prove.delivery_payments import PaymentMaker, ShopPayment
from prove.delivery_upstream import NAME
from prove.neighbours_honest import BUYERS, HttpRequest, Sender, SignedIn
from prove.owner_stage import OwnerStage
from prove.world import NETWORK
from testing.machine import RunFailed

_PAYERS: Final = slice(BUYERS.stop, None)  # of the owners of the scene: those who attack with money
WALLETS: Final = 8
SIGNED: Final = 30  # payments that are presented again and again
CHEAP: Final = BaseUnits(1)
_MOST: Final = 4_000  # requests of one attacker in a case
_ANSWER_S: Final = 12.0
_LIMITS: Final = WrapperLimits(requests_per_minute=10_000, concurrent_requests=500, timeout_s=10)


class Origin(StrEnum):
    """Where the requests of an attacker come from."""

    ONE_KEY = "from one account on the ledger"
    NEW_ACCOUNTS = "from many new accounts"
    SITE = "from a /48"


@dataclass(eq=False, slots=True)
class Ground:
    """What an attacker has."""

    stage: OwnerStage
    sender: Sender
    payments: PaymentMaker
    origin: Origin
    known: SignedIn  # its account on the ledger
    rng: random.Random
    name: str = field(default_factory=lambda: f"attacker-{secrets.token_hex(4)}")
    wallets: Sequence[FreeWallet] = ()
    sent: int = 0
    answers: Counter[int] = field(default_factory=Counter)  # by status
    numbers: Iterator[int] = field(default_factory=itertools.count)
    signed: deque[ShopPayment] = field(default_factory=deque)  # ahead

    async def begin(self) -> None:
        """Make its new accounts."""
        if self.origin is not Origin.ONE_KEY:
            made = [await free_wallet(self.stage.environment, keys=0) for _ in range(WALLETS)]
            self.wallets = made

    def address(self, number: int) -> str:
        """The address that a request comes from."""
        if self.origin is Origin.SITE:
            return f"2001:db8:66:{number % 0xFFFF:x}::1"
        return "203.0.113.7"

    def token(self, number: int) -> Secret[str]:
        """The credential of a request that needs one."""
        if not self.wallets:
            return self.known.token
        return self.wallets[number % len(self.wallets)].session

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        number: int,
        needs_token: bool = False,
        payment: str = "",
    ) -> HttpRequest:
        """Make a request of it; one from a /48 has no credential where none is needed."""
        has_token = needs_token or self.origin is not Origin.SITE
        token = self.token(number) if has_token else None
        return HttpRequest(method, path, self.address(number), body, token, payment)

    async def flood(
        self,
        make: Callable[[int], HttpRequest | Awaitable[HttpRequest]],
        *,
        at_once: int,
        pause_s: float = 0.2,
    ) -> None:
        """Send requests from so many workers, until cancelled or the most is sent."""

        async def work() -> None:
            while self.sent < _MOST:
                self.sent += 1
                made = make(next(self.numbers))
                request = made if isinstance(made, HttpRequest) else await made
                answer = await self.sender.send(request, within_s=_ANSWER_S)
                self.answers[answer.status] += 1
                await asyncio.sleep(pause_s)

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(work())

    async def open_wrapper(
        self, path: str = "/attacker", *, host: str = NAME, pay_to: Address | None = None
    ) -> str:
        """Have an enabled wrapper of its own, as one whose upstream was well once; its slug."""
        number = next(self.numbers)
        slug = f"{self.name}-{number}"
        wrapper = f"wrp_{secrets.token_hex(11)}"
        owner = self.known.owner if not self.wallets else self._wallet(number).owner
        scene = self.stage.scene
        recipient = pay_to or scene.payees[1].address
        term = WrapperTerm(NETWORK, Address(scene.asset), CHEAP, Address(recipient))
        upstream = Upstream(f"https://{host}{path}")
        settings = WrapperSettings(name="A", upstream=upstream, terms=(term,), limits=_LIMITS)
        client = site_name(self.address(number)) if self.wallets else None
        await self.stage.environment.query(
            "INSERT INTO wrapper_slugs (slug, owner, client, enabled_at)"
            " VALUES ($1, $2, $3, now())",
            *(slug, owner, client),
        )
        await self.stage.environment.query(
            "INSERT INTO wrappers (id, owner, slug, settings, is_established, is_enabled)"
            " VALUES ($1, $2, $3, $4::text::jsonb, $5, true)",
            *(wrapper, owner, slug, msgspec.json.encode(settings).decode(), not self.wallets),
        )
        return slug

    async def open_plan(self, body: Mapping[str, object]) -> str:
        """Have an active plan, as one that was paid for: its run is due later; the plan's id.

        Raises:
            RunFailed: the plan is refused.
        """
        number = next(self.numbers)
        request = self.ask("POST", "/v1/automations", body, number=number, needs_token=True)
        proposed = await self.sender.send(request)
        if proposed.status != 201:
            raise RunFailed(f"a plan of an attacker is refused: {proposed}")
        plan = str(proposed.json["proposal"]["id"])
        await self.stage.environment.query(
            "UPDATE automation_proposals SET status = 'active', runs_credited = 1,"
            " activated_at = now(), overdue_at = expires_at WHERE id = $1",
            plan,
        )
        await self.stage.environment.query(
            """
            INSERT INTO automation_runs (id, proposal_id, run_index, network, owner, account,
                scheduled_for, deadline_at, due_at)
            SELECT $2, id, 0, network, owner, account, now(), now() + interval '1 hour',
                now() + interval '1 hour' FROM automation_proposals WHERE id = $1
            """,
            *(plan, f"run_{secrets.token_hex(11)}"),
        )
        return plan

    def _wallet(self, number: int) -> FreeWallet:
        return self.wallets[number % len(self.wallets)]

    async def wrapper_ids(self) -> Sequence[tuple[str, Secret[str]]]:
        """The ids of its wrappers, each with a session of the owner."""
        sessions = {each.owner: each.session for each in self.wallets}
        sessions[self.known.owner] = self.known.token
        rows = await self.stage.environment.query(
            "SELECT id, owner FROM wrappers WHERE slug LIKE $1", f"{self.name}-%"
        )
        return [(row["id"], sessions[row["owner"]]) for row in rows]

    async def sign_real(self) -> str:
        """Sign a payment of the least amount, which the ledger takes; its header."""
        return (await self.sign_payment()).header

    async def sign_ahead(self, count: int) -> None:
        """Sign so many of the next payments now: an attacker signs on machines of its own.

        While it attacks, its signing would hold up the honest, who share its event loop.
        """
        self.signed.extend([await self.sign_payment() for _ in range(count)])

    async def sign_payment(self) -> ShopPayment:
        """Sign a payment of the least amount to itself, which the ledger takes."""
        if self.signed:
            return self.signed.popleft()
        parties = owners_of(self.stage.scene)[_PAYERS]
        payer = parties[next(self.numbers) % len(parties)]
        pay_to = self.stage.scene.payees[1].address
        return await self.payments.sign("attacker", payer=payer, amount=CHEAP, pay_to=pay_to)

    async def sign_bad(self, make: Callable[[], Party], **more: Any) -> list[ShopPayment]:
        """Sign payments for the honest wrapper that no ledger takes."""
        pay_to = self.stage.scene.payees[0].address
        more = {"pay_to": pay_to, **more}
        return [await self.payments.sign("attacker", payer=make(), **more) for _ in range(SIGNED)]

    def missing(self) -> Party:
        """An account that is not on the ledger."""
        key = Keypair.random()
        return Party(Address(key.public_key), Secret(key.secret))

    def poor(self) -> Party:
        """An account without the token."""
        key = self.stage.world.scenery.stranger
        return Party(Address(key.public_key), Secret(key.secret))

    def forged(self) -> Party:
        """A buyer's account, and a key that is not its own."""
        buyer = self.rng.choice(owners_of(self.stage.scene)[BUYERS])
        return Party(buyer.address, Secret(Keypair.random().secret))

    def rich(self) -> Party:
        """One of its accounts with money."""
        return self.rng.choice(owners_of(self.stage.scene)[_PAYERS])
