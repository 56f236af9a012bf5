"""Play one case: settle payments that name resources while the catalog's statements go wrong."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import msgspec

from farebox.x402.headers import EXTENSION_RESPONSES, decode_header
from prove.arena import Arena, Replica, SignedPayment, opened_arena
from prove.catalog_faults import Kind, faulty
from prove.world import World

PAYMENTS: Final = 9
_UNASKED: Final = 3  # every third asks for no listing: so long a settlement takes here and now
_BOUND_S: Final = 0.5  # what a settle may wait for its listing
_NOISE_S: Final = 0.5  # between two settles that do the same
_STAGGER_S: Final = 0.12
_ANSWER_S: Final = 30.0
_LISTED_WITHIN_S: Final = 120.0
_LOOK_S: Final = 0.25
_SETTINGS: Final = {  # nothing but the catalog is to go wrong, on a busy machine neither
    "FAREBOX_SETTLE_DEADLINE_S": "25",
    "FAREBOX_CHANNEL_WAIT_S": "20",
    "FAREBOX_RPC_TIMEOUT_S": "20",
    "FAREBOX_TRANSACTION_LIFE_S": "60",
}
_BAZAAR: Final = {
    "info": {"input": {"type": "http", "method": "GET", "queryParams": {"city": "Lisbon"}}},
    "schema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"input": {"type": "object"}},
        "required": ["input"],
    },
}


@dataclass(frozen=True, slots=True)
class Case:
    """One way to go wrong, under the dice of a seed."""

    seed: int
    kind: Kind

    def __str__(self) -> str:
        return f"SEED={self.seed} {self.kind.name}"


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of `/settle`: how long it took, what it says, and what of the listing."""

    is_asked: bool  # for a listing
    took_s: float
    status: int
    body: dict[str, Any]
    listing: dict[str, Any] | None

    @property
    def is_success(self) -> bool:
        """Whether the payment is settled."""
        return self.status == 200 and self.body.get("success") is True

    @property
    def says_why(self) -> bool:
        """Whether it says that the resource is listed, or why it is not."""
        said = self.listing
        return said is not None and (said.get("success") is True or bool(said.get("reason")))

    @property
    def is_listed(self) -> bool:
        """Whether it says that the resource is listed."""
        return self.listing is not None and self.listing.get("success") is True

    def __str__(self) -> str:
        said = "success" if self.is_success else f"{self.status} {self.body.get('errorReason')}"
        listing = self.listing or {}
        return f"{said} in {self.took_s:.2f} s ({listing.get('reason', listing.get('status'))})"


@dataclass(frozen=True, slots=True)
class Counted:
    """What database and catalog come to in the end."""

    confirmed: int  # final successes with something to list
    listings: int
    purchases: int  # as the listings count them
    documents: int  # as the search finds them
    open: int  # settlements that say nothing of their listing, and work that is left


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to."""

    case: Case
    told: list[Told]
    counted: Counted
    listed_after_s: float
    why: list[str] = field(default_factory=list)

    @property
    def asked(self) -> list[Told]:
        """The answers to payments that named their resource."""
        return [each for each in self.told if each.is_asked]

    @property
    def unasked(self) -> list[Told]:
        """The answers to the others."""
        return [each for each in self.told if not each.is_asked]

    @property
    def late(self) -> list[Told]:
        """Who waited longer than those who asked for no listing at the same time, and the bound."""
        normal_s = max(each.took_s for each in self.unasked)
        return [each for each in self.asked if each.took_s > normal_s + _BOUND_S + _NOISE_S]

    def __str__(self) -> str:
        told = ", ".join(map(str, self.told))
        return f"{self.case}: {told}; {self.counted}: {'; '.join(self.why) or 'as it should be'}"


async def play(world: World, case: Case) -> Outcome:
    """The outcome of one case."""
    dice = random.Random(f"{case.seed} {case.kind}")
    async with opened_arena(world, _SETTINGS) as arena:
        replicas = list(await asyncio.gather(arena.start("a"), arena.start("b")))
        payments = [
            await arena.payment(turn, about=_about(case, turn) if _is_asked(turn) else None)
            for turn in range(PAYMENTS)
        ]
        async with faulty(arena, replicas, case.kind, dice):
            told = await asyncio.gather(
                *(
                    _settle(arena, replicas[turn % 2], payment, turn)
                    for turn, payment in enumerate(payments)
                )
            )
        began = time.monotonic()
        counted = await _until_listed(arena)
        listed_after_s = time.monotonic() - began
        return Outcome(case, told, counted, listed_after_s, _wrong(told, counted))


def _is_asked(turn: int) -> bool:
    return turn % _UNASKED != 0


def _about(case: Case, turn: int) -> dict[str, object]:
    url = f"https://seller-{turn}.example.com/{case.seed}/{case.kind.name.lower()}"
    resource = {"url": url, "description": "Weather of the day", "serviceName": "Skies"}
    return {"resource": resource, "extensions": {"bazaar": _BAZAAR}}


async def _settle(arena: Arena, replica: Replica, payment: SignedPayment, turn: int) -> Told:
    is_asked = _is_asked(turn)
    await asyncio.sleep(turn * _STAGGER_S)
    timeout = aiohttp.ClientTimeout(total=_ANSWER_S)
    headers = {"content-type": "application/json"}
    began = time.monotonic()
    try:
        async with arena.web.post(
            f"{replica.url}/settle", data=payment.body, headers=headers, timeout=timeout
        ) as answer:
            body = msgspec.json.decode(await answer.read(), type=dict[str, Any])
            header = answer.headers.get(EXTENSION_RESPONSES)
            took_s = time.monotonic() - began
            return Told(is_asked, took_s, answer.status, body, _listing(header))
    except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
        return Told(is_asked, time.monotonic() - began, 0, {}, None)


def _listing(header: str | None) -> dict[str, Any] | None:
    told = decode_header(header) if header is not None else None
    entry = told.get("bazaar") if told is not None else None
    return entry if isinstance(entry, dict) else None


async def _until_listed(arena: Arena) -> Counted:
    """What is counted once nothing is left to do, or after two minutes."""
    until = time.monotonic() + _LISTED_WITHIN_S
    while True:
        counted = await _count(arena)
        if not counted.open or time.monotonic() > until:
            return counted
        await asyncio.sleep(_LOOK_S)


async def _count(arena: Arena) -> Counted:
    (row,) = await arena.query(
        """
        SELECT (SELECT count(*) FROM settlements
                WHERE state = 'confirmed'
                  AND (discovery IS NOT NULL OR listing_outcome IS NOT NULL)) AS confirmed,
               (SELECT count(*) FROM listings WHERE removed_at IS NULL) AS listings,
               (SELECT coalesce(sum(settlements), 0)::bigint FROM listing_payers) AS purchases,
               (SELECT count(*) FROM search_documents WHERE died IS NULL) AS documents,
               (SELECT count(*) FROM settlements
                WHERE state NOT IN ('failed', 'dead')
                  AND discovery IS NOT NULL AND listing_outcome IS NULL)
               + (SELECT count(*) FROM listing_attempts)
               + (SELECT count(*) FROM listing_decisions) AS open
        """
    )
    return Counted(**dict(row))


def _wrong(told: Sequence[Told], counted: Counted) -> list[str]:
    why = [f"a settle came to {each}" for each in told if not each.is_success]
    silent = [each for each in told if each.says_why is not each.is_asked]
    why += [f"of the listing is said: {each}" for each in silent]
    many = (counted.listings, counted.purchases, counted.documents)
    if any(each != counted.confirmed for each in many):
        why.append("the catalog and the final successes differ")
    if counted.open:
        why.append("something is left open")
    return why
