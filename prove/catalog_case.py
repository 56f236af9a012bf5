"""Run one case: settle payments that name resources while the catalog's statements fail."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from farebox.x402.headers import EXTENSION_RESPONSES, decode_header
from prove.caller import post
from prove.catalog_faults import CatalogKind, inject_fault
from prove.environment import Environment, Replica, SignedPayment, open_environment
from prove.world import World

PAYMENTS: Final = 9
_WITHOUT_LISTING: Final = 3  # every third asks for no listing: the baseline of the latency
_BOUND_S: Final = 0.5  # the longest a settle may wait for its listing
_NOISE_S: Final = 0.5  # between two equal settles
_STAGGER_S: Final = 0.12
_LISTED_WITHIN_S: Final = 120.0
_LOOK_S: Final = 0.25
_SETTINGS: Final = {  # long waits, so that only the catalog fails, even on a busy machine
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
class CatalogCase:
    """One kind of fault, under one seed."""

    seed: int
    kind: CatalogKind

    def __str__(self) -> str:
        return f"SEED={self.seed} {self.kind.name}"


@dataclass(frozen=True, slots=True)
class SettleResponse:
    """A response of `/settle`: its latency, its body and its listing report."""

    asks_for_listing: bool
    took_s: float
    status: int
    body: dict[str, Any]
    listing: dict[str, Any] | None

    @property
    def is_success(self) -> bool:
        """Whether the payment is settled."""
        return self.status == 200 and self.body.get("success") is True

    @property
    def reports_listing(self) -> bool:
        """Whether it reports that the resource is listed, or the reason why not."""
        listing = self.listing
        return listing is not None and (
            listing.get("success") is True or bool(listing.get("reason"))
        )

    @property
    def is_listed(self) -> bool:
        """Whether it reports that the resource is listed."""
        return self.listing is not None and self.listing.get("success") is True

    def __str__(self) -> str:
        result = "success" if self.is_success else f"{self.status} {self.body.get('errorReason')}"
        listing = self.listing or {}
        reason = listing.get("reason", listing.get("status"))
        return f"{result} in {self.took_s:.2f} s ({reason})"


@dataclass(frozen=True, slots=True)
class Counted:
    """The final counts of journal and catalog."""

    confirmed: int  # confirmed settlements with something to list
    listings: int
    purchases: int  # as the listings count them
    documents: int  # as the search finds them
    open: int  # settlements without a listing report, and unfinished work


@dataclass(frozen=True, slots=True)
class CatalogOutcome:
    """The outcome of a case."""

    case: CatalogCase
    responses: list[SettleResponse]
    counted: Counted
    listed_after_s: float
    violations: list[str] = field(default_factory=list)

    @property
    def is_failed(self) -> bool:
        """Whether the case shows a defect."""
        return bool(self.violations or self.late)

    @property
    def with_listing(self) -> list[SettleResponse]:
        """The responses to payments that named their resource."""
        return [each for each in self.responses if each.asks_for_listing]

    @property
    def without_listing(self) -> list[SettleResponse]:
        """The responses to the other payments."""
        return [each for each in self.responses if not each.asks_for_listing]

    @property
    def late(self) -> list[SettleResponse]:
        """The responses that took longer than those without a listing plus the bound."""
        normal_s = max(each.took_s for each in self.without_listing)
        return [each for each in self.with_listing if each.took_s > normal_s + _BOUND_S + _NOISE_S]

    def __str__(self) -> str:
        responses = ", ".join(map(str, self.responses))
        violations = "; ".join(self.violations) or "no violation"
        return f"{self.case}: {responses}; {self.counted}: {violations}"


async def run_case(world: World, case: CatalogCase) -> CatalogOutcome:
    """Run one case."""
    rng = random.Random(f"{case.seed} {case.kind}")
    async with open_environment(world, _SETTINGS) as environment:
        replicas = list(await asyncio.gather(environment.start("a"), environment.start("b")))
        payments = [
            await environment.payment(
                turn, extra=_resource_of(case, turn) if _asks_for_listing(turn) else None
            )
            for turn in range(PAYMENTS)
        ]
        async with inject_fault(environment, replicas, case.kind, rng):
            responses = await asyncio.gather(
                *(
                    _settle(environment, replicas[turn % 2], payment, turn)
                    for turn, payment in enumerate(payments)
                )
            )
        began = time.monotonic()
        counted = await _until_listed(environment)
        listed_after_s = time.monotonic() - began
        return CatalogOutcome(
            case, responses, counted, listed_after_s, _find_violations(responses, counted)
        )


def _asks_for_listing(turn: int) -> bool:
    return turn % _WITHOUT_LISTING != 0


def _resource_of(case: CatalogCase, turn: int) -> dict[str, object]:
    url = f"https://seller-{turn}.example.com/{case.seed}/{case.kind.name.lower()}"
    resource = {"url": url, "description": "Weather of the day", "serviceName": "Skies"}
    return {"resource": resource, "extensions": {"bazaar": _BAZAAR}}


async def _settle(
    environment: Environment, replica: Replica, payment: SignedPayment, turn: int
) -> SettleResponse:
    asks_for_listing = _asks_for_listing(turn)
    await asyncio.sleep(turn * _STAGGER_S)
    began = time.monotonic()
    status, body, headers = await post(environment, f"{replica.url}/settle", payment.body)
    took_s = time.monotonic() - began
    listing = _listing(headers.get(EXTENSION_RESPONSES))
    return SettleResponse(asks_for_listing, took_s, status, body, listing)


def _listing(header: str | None) -> dict[str, Any] | None:
    responses = decode_header(header) if header is not None else None
    entry = responses.get("bazaar") if responses is not None else None
    return entry if isinstance(entry, dict) else None


async def _until_listed(environment: Environment) -> Counted:
    """Wait until no work is left, for two minutes at most; return the counts."""
    until = time.monotonic() + _LISTED_WITHIN_S
    while True:
        counted = await _count(environment)
        if not counted.open or time.monotonic() > until:
            return counted
        await asyncio.sleep(_LOOK_S)


async def _count(environment: Environment) -> Counted:
    (row,) = await environment.query(
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


def _find_violations(responses: Sequence[SettleResponse], counted: Counted) -> list[str]:
    violations = [
        f"the response of /settle was {each}" for each in responses if not each.is_success
    ]
    unexpected = [each for each in responses if each.reports_listing is not each.asks_for_listing]
    violations += [f"unexpected listing report: {each}" for each in unexpected]
    counts = (counted.listings, counted.purchases, counted.documents)
    if any(each != counted.confirmed for each in counts):
        violations.append("the catalog and the confirmed settlements differ")
    if counted.open:
        violations.append("work is left unfinished")
    return violations
