"""The steps of `upto` on one devnet: what passes, what is refused, and what nobody can undo."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from stellar_sdk import scval
from stellar_sdk.soroban_rpc import GetTransactionStatus

from e2e.upto_captor import Captor
from e2e.upto_parties import LIFE, MOST, WINDOW_S, StepFailed, UptoParties, expect
from testing.machine import RunFailed

PART: Final = 1_234
_LONGEST: Final = 17_280
_AUTH: Final = "Error(Auth"
NOT_YET, EXPIRED, TOO_LATE, AMOUNT, CAPTURED, CANCELLED, VOIDED = (
    f"Error(Contract, #{code})" for code in range(1, 8)
)
Step = Callable[[], Awaitable[None]]


class UptoSteps(UptoParties):
    """Every step; each makes a grant of its own."""

    def all(self) -> list[tuple[str, Step]]:
        """The steps by name, in order."""
        return [
            ("authorize", self.authorize),
            ("capture nothing", lambda: self.capture(0)),
            ("capture a part", lambda: self.capture(PART)),
            ("capture the maximum", lambda: self.capture(MOST)),
            ("one signature serves every amount", self.any_amount),
            ("too much and less than nothing", self.amounts),
            ("other terms than were signed", self.terms),
            ("wrong captor", self.wrong_captor),
            ("another amount than the captor signed", self.captor_amount),
            ("replay", self.replay),
            ("cancel", self.cancel),
            ("void", self.void),
            ("cancel and capture in one ledger", self.race),
            ("no funds", self.no_funds),
            ("too early", self.too_early),
            ("too long", self.too_long),
            ("expiry by time", self.expiry_by_time),
            ("expiry by ledger, and replay after it", self.expiry_by_ledger),
        ]

    async def authorize(self) -> None:
        """A signed grant moves nothing, allows nothing, and could be captured."""
        grant, held = await self.grant(), await self.holdings()
        capture = await self.captor.capture(grant, self.signed(grant), MOST)
        expect("refusal", await self.chain.refusal(capture), "")
        await self.ends(grant, "Open")
        expect("holdings", await self.holdings(), held)
        expect("allowance", await self.chain.allowance(grant.payer), 0)

    async def capture(self, amount: int) -> None:
        """The amount moves once, payer to payee; nothing is left with the contract."""
        grant, (owned, received) = await self.grant(), await self.holdings()
        entry = self.signed(grant)
        landed = await self.chain.land(await self.captor.capture(grant, entry, amount))
        expect("outcome", landed.status, GetTransactionStatus.SUCCESS)
        returned = landed.returned and scval.from_int128(landed.returned)
        expect("returned", returned, amount)
        moved = ((grant.payer, grant.pay_to, amount),) if amount else ()
        expect("transfers", landed.transfers, moved)
        expect("holdings", await self.holdings(), (owned - amount, received + amount))
        await self.ends(grant, "Captured", amount)
        expect("allowance", await self.chain.allowance(grant.payer), 0)
        expect("kept", await self.chain.balance(grant.asset, self.chain.contract), 0)
        self.captured += amount
        again = await self.captor.capture(grant, self.signed(grant), amount)
        await self.refuses(again, CAPTURED)
        await self.refuses(await self.cancelled(grant, self.payer), CAPTURED)
        await self.refuses(await self.voided(grant, self.captor), CAPTURED)

    async def any_amount(self) -> None:
        """The payer signs before the amount is known: one entry passes for each."""
        grant, entry = await self.signed_grant()
        for amount in (0, 1, PART, MOST - 1, MOST):
            capture = await self.captor.capture(grant, entry, amount)
            expect(f"refusal of {amount}", await self.chain.refusal(capture), "")

    async def amounts(self) -> None:
        """More than the maximum is refused, in simulation and on the ledger."""
        grant, held = await self.grant(), await self.holdings()
        entry = self.signed(grant)
        for amount in (MOST + 1, 10 * MOST, 2**127 - 1, -1):
            await self.refuses(await self.captor.capture(grant, entry, amount), AMOUNT)
        nonce = secrets.randbelow(2**62)  # so that both touch the same entries of the ledger
        good = await self.captor.capture(grant, entry, MOST, nonce=nonce)
        more = await self.captor.capture(grant, entry, MOST + 1, nonce=nonce)
        landed = await self.chain.land(more, like=good)
        expect("outcome", landed.status, GetTransactionStatus.FAILED)
        expect("holdings", await self.holdings(), held)
        await self.ends(grant, "Open")

    async def terms(self) -> None:
        """A grant that differs in one field from the signed one is refused."""
        grant = await self.grant()
        entry, scene = self.signed(grant), self.chain.scene
        changed = [
            replace(grant, asset=scene.native),
            replace(grant, context="04" * 32),
            replace(grant, expiration_ledger=grant.expiration_ledger + 1),
            replace(grant, max_amount=MOST + 1),
            replace(grant, nonce=secrets.token_hex(32)),
            replace(grant, not_after=grant.not_after + 1),
            replace(grant, not_before=grant.not_before - 1),
            replace(grant, pay_to=self.stranger.key.public_key),
            replace(grant, payer=self.stranger.key.public_key),
        ]
        for each in changed:
            await self.refuses(await self.captor.capture(each, entry, PART), _AUTH)
        own = replace(grant, captor=self.stranger.key.public_key)
        await self.refuses(await self.stranger.capture(own, entry, PART), _AUTH)
        control = await self.captor.capture(grant, entry, PART)
        expect("the signed terms", await self.chain.refusal(control), "")

    async def wrong_captor(self) -> None:
        """Who is not the captor captures nothing: neither by its name nor without it."""
        grant, entry = await self.signed_grant()
        forged = Captor(self.chain, self.stranger.key)
        await self.refuses(await forged.capture(grant, entry, PART), _AUTH)
        await self.refuses(self.captor.bare(grant, entry, PART), _AUTH)
        payer = Captor(self.chain, self.payer)
        await self.refuses(await payer.capture(grant, entry, PART), _AUTH)
        await self.ends(grant, "Open")

    async def captor_amount(self) -> None:
        """Nobody changes the amount that the captor signed."""
        grant, entry = await self.signed_grant()
        capture = await self.captor.capture(grant, entry, MOST, signed_amount=PART)
        await self.refuses(capture, _AUTH)

    async def replay(self) -> None:
        """The same bytes, and the same grant under new signatures, are refused."""
        grant = await self.grant()
        first = await self.captor.capture(grant, self.signed(grant), PART)
        self.captured += PART
        await self.landed(first)
        held = await self.holdings()
        expect("refusal of the same bytes", bool(await self.chain.refusal(first)), True)
        again = await self.captor.capture(grant, self.signed(grant), PART)
        await self.refuses(again, CAPTURED)
        await self.refuses(await self.captor.capture(grant, self.signed(grant), 0), CAPTURED)
        expect("holdings", await self.holdings(), held)

    async def cancel(self) -> None:
        """The payer ends an open grant, and nobody else does."""
        grant = await self.grant()
        for other in (self.stranger.key, self.captor.key):
            await self.refuses(await self.cancelled(grant, other), _AUTH)
        await self.landed(await self.cancelled(grant, self.payer))
        await self.ends(grant, "Cancelled")
        entry = self.signed(grant)
        for amount in (0, PART):
            await self.refuses(await self.captor.capture(grant, entry, amount), CANCELLED)

    async def void(self) -> None:
        """The captor ends a grant for good; another captor's void ends nothing of it."""
        grant = await self.grant()
        await self.refuses(await self.voided(grant, self.stranger), _AUTH)
        foreign = replace(grant, captor=self.stranger.key.public_key)
        await self.landed(await self.voided(foreign, self.stranger))
        await self.ends(grant, "Open")
        await self.landed(await self.voided(grant, self.captor))
        await self.ends(grant, "Voided")
        entry = self.signed(grant)
        for amount in (0, PART):
            await self.refuses(await self.captor.capture(grant, entry, amount), VOIDED)

    async def race(self) -> None:
        """Of a cancel and a capture in one ledger exactly one succeeds."""
        grant, (owned, _) = await self.grant(), await self.holdings()
        capture = await self.captor.capture(grant, self.signed(grant), PART)
        cancel = await self.cancelled(grant, self.payer)
        ends = [each.status for each in await self.chain.land_together([capture, cancel])]
        both = {GetTransactionStatus.SUCCESS, GetTransactionStatus.FAILED}
        expect("outcomes", set(ends), both)
        has_paid = ends[0] is GetTransactionStatus.SUCCESS
        expected = ["Captured", PART] if has_paid else ["Cancelled"]
        await self.ends(grant, *expected)
        paid = PART if has_paid else 0
        expect("held by the payer", (await self.holdings())[0], owned - paid)
        self.captured += paid

    async def no_funds(self) -> None:
        """What the payer does not have is not captured, and the grant stays open."""
        owned, _ = await self.holdings()
        grant = replace(await self.grant(), max_amount=2 * owned)
        entry = self.signed(grant)
        refusal = await self.chain.refusal(await self.captor.capture(grant, entry, owned + 1))
        expect("refusal", "Error(Contract, #10)" in refusal, True)
        await self.ends(grant, "Open")
        within = await self.captor.capture(grant, entry, PART)
        expect("what it has", await self.chain.refusal(within), "")

    async def too_early(self) -> None:
        """Before `not_before` nothing is captured; from it on it is."""
        grant = await self.grant()
        grant = replace(grant, not_before=await self.chain.now() + 120)
        entry = self.signed(grant)
        await self.refuses(await self.captor.capture(grant, entry, PART), NOT_YET)
        await self.chain.jump(120)
        capture = await self.captor.capture(grant, entry, PART)
        expect("refusal", await self.chain.refusal(capture), "")

    async def too_long(self) -> None:
        """A grant that would outlive its record is refused."""
        grant = await self.grant()
        ledger = await self.chain.ledger()
        long = replace(grant, expiration_ledger=ledger + _LONGEST + 100)
        await self.refuses(await self.captor.capture(long, self.signed(long), PART), TOO_LATE)

    async def expiry_by_time(self) -> None:
        """After `not_after` nothing is captured."""
        grant, entry = await self.signed_grant()
        await self.chain.jump(WINDOW_S + 5)
        await self.refuses(await self.captor.capture(grant, entry, PART), EXPIRED)
        expect("allowance", await self.chain.allowance(grant.payer), 0)

    async def expiry_by_ledger(self) -> None:
        """After its last ledger a grant is void, captured before or not, record or none."""
        fresh, used = await self.grant(), await self.grant()
        fresh_entry = self.signed(fresh)
        used_entry = self.signed(used)
        self.captured += PART
        await self.landed(await self.captor.capture(used, used_entry, PART))
        await self.chain.jump(5, ledgers=LIFE + 10)
        held = await self.holdings()
        for grant, entry in ((fresh, fresh_entry), (used, used_entry)):
            refusal = await self.chain.refusal(await self.captor.capture(grant, entry, PART))
            expect("refusal of the expired signature", bool(refusal), True)
            again = self.sign_later(grant, await self.chain.ledger() + LIFE)
            await self.refuses(await self.captor.capture(grant, again, PART), EXPIRED)
        expect("holdings", await self.holdings(), held)


async def failed_steps(steps: UptoSteps) -> tuple[int, list[str]]:
    """Run every step; how many there are, and which failed and why."""
    failed = []
    names = steps.all()
    for name, step in names:
        try:
            await step()
        except (StepFailed, RunFailed) as fault:
            failed.append(f"{steps.chain.network.label} {name}: {fault}")
    return len(names), failed
