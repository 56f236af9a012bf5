"""A bound key moves to another recipient only when the resource itself names that recipient."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.reader import DirectReader
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.outbox import OwnershipVerdict
from farebox.catalog.listing import Resource
from farebox.catalog.listing_store import find_bound_origins
from farebox.catalog.origin.ownership_verifier import OriginOwnershipVerifier
from farebox.catalog.origin.payment_required import (
    OriginFailure,
    OriginFault,
    OriginPaymentRequired,
    PaymentOption,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.search.index_store import StoredIndex
from farebox.storage.pool import Database
from support.journal_rows import (
    ASSET,
    OTHER_SELLER,
    SELLER,
    WEATHER,
    Paid,
    discovery,
    http_bazaar,
    insert_settlement,
)
from support.listings import no_gateway
from support.promises import case

USERS = "https://api.weather.example/users"
TEMPLATE: dict[str, Any] = http_bazaar(routeTemplate="/users/:id")
NOT_THERE = OriginFailure(OriginFault.NO_PAYMENT_ASKED, "404")
AWAY = OriginFailure(OriginFault.UNREACHABLE)
CROWDED = OriginFailure(OriginFault.NOT_ASKED)


def pays(*recipients: Address, network: Network = Network.TESTNET) -> OriginPaymentRequired:
    offers = (PaymentOption(network, ASSET, BaseUnits(1), each) for each in recipients)
    return OriginPaymentRequired(tuple(offers), b"{}")


class FixedOrigins:
    """An origin client with fixed responses; every other URL is unreachable."""

    def __init__(self, answers: Mapping[str, OriginPaymentRequired | OriginFailure]) -> None:
        self._answers = answers
        self.requests: list[str] = []

    async def fetch_payment_required(
        self, url: str, *, method: str | None
    ) -> OriginPaymentRequired | OriginFailure:
        self.requests.append(url)
        return self._answers.get(url, AWAY)


@pytest.fixture
def ingestion(database: Database) -> Ingestion:
    return Ingestion(database, StoredIndex(), DirectReader(), no_gateway())


def claimed(url: str, bazaar: dict[str, Any] | None = None) -> Resource:
    found = parse_discovery(discovery(url, bazaar), pay_to=OTHER_SELLER)
    assert isinstance(found, DiscoveredResource)
    return found.resource


async def ask(database: Database, origins: FixedOrigins, resource: Resource) -> OwnershipVerdict:
    takeover = OriginOwnershipVerifier(origins, database)
    return await takeover.verify(resource, Network.TESTNET, OTHER_SELLER)


async def verdicts(
    database: Database,
    resource: Resource,
    answers: Sequence[OriginPaymentRequired | OriginFailure],
) -> list[OwnershipVerdict]:
    """The verdict for each answer of the bound URL; the claimed one names the claimant."""
    found = []
    for where_bound in answers:
        origins = FixedOrigins({f"{USERS}/two": pays(OTHER_SELLER), f"{USERS}/one": where_bound})
        found.append(await ask(database, origins, resource))
        assert origins.requests == [f"{USERS}/two", f"{USERS}/one"]
    return found


@case("CT-040")
async def test_verify_confirms_when_the_resource_names_only_the_claimant(
    database: Database, ingestion: Ingestion
) -> None:
    await ingestion.list(await insert_settlement(database, Paid()))
    for answer, verdict in (
        (pays(OTHER_SELLER), OwnershipVerdict.CONFIRMED),
        (pays(SELLER), OwnershipVerdict.DENIED),
        (pays(SELLER, OTHER_SELLER), OwnershipVerdict.DENIED),
        (pays(), OwnershipVerdict.DENIED),
        (pays(OTHER_SELLER, network=Network.PUBNET), OwnershipVerdict.DENIED),
        (NOT_THERE, OwnershipVerdict.UNKNOWN),
        (AWAY, OwnershipVerdict.UNKNOWN),
        (CROWDED, OwnershipVerdict.NOT_CHECKED),
    ):
        origins = FixedOrigins({WEATHER: answer})
        assert await ask(database, origins, claimed(WEATHER)) is verdict, answer
        assert origins.requests == [WEATHER]


@case("CT-040")
async def test_verify_checks_the_url_of_a_template_that_the_bound_recipient_was_paid_at(
    database: Database, ingestion: Ingestion
) -> None:
    text = discovery(f"{USERS}/one", TEMPLATE)
    await ingestion.list(await insert_settlement(database, Paid(text=text)))
    answers = (
        pays(SELLER),
        pays(SELLER, OTHER_SELLER),
        pays(OTHER_SELLER),
        NOT_THERE,
        AWAY,
        CROWDED,
    )
    resource = claimed(f"{USERS}/two", TEMPLATE)
    assert await verdicts(database, resource, answers) == [
        *[OwnershipVerdict.DENIED] * 2,
        *[OwnershipVerdict.CONFIRMED] * 2,
        OwnershipVerdict.UNKNOWN,
        OwnershipVerdict.NOT_CHECKED,
    ]


@case("CT-040")
async def test_verify_checks_the_keys_of_others_that_a_new_template_covers(
    database: Database, ingestion: Ingestion
) -> None:
    await ingestion.list(await insert_settlement(database, Paid(discovery(f"{USERS}/one"))))
    answers = (pays(SELLER), pays(OTHER_SELLER), AWAY)
    for template in ("/users/:id", "/:a/:b"):
        resource = claimed(f"{USERS}/two", http_bazaar(routeTemplate=template))
        assert await verdicts(database, resource, answers) == [
            OwnershipVerdict.DENIED,
            OwnershipVerdict.CONFIRMED,
            OwnershipVerdict.UNKNOWN,
        ]


async def test_verify_checks_no_key_that_a_template_does_not_cover(
    database: Database, ingestion: Ingestion
) -> None:
    await ingestion.list(await insert_settlement(database, Paid(discovery(f"{USERS}/one"))))
    for template in ("/user_/:id", "/users/:id/:more", "/user./:id"):
        url = "https://api.weather.example" + template.replace(":id", "two").replace(":more", "x")
        origins = FixedOrigins({url: pays(OTHER_SELLER), f"{USERS}/one": pays(SELLER)})
        resource = claimed(url, http_bazaar(routeTemplate=template))
        assert await ask(database, origins, resource) is OwnershipVerdict.CONFIRMED
        assert origins.requests == [url]


async def test_verify_confirms_an_unbound_key_by_its_own_answer(
    database: Database,
) -> None:
    origins = FixedOrigins({WEATHER: pays(OTHER_SELLER)})
    assert await ask(database, origins, claimed(WEATHER)) is OwnershipVerdict.CONFIRMED


async def test_find_bound_origin_returns_the_url_paid_last(
    database: Database, ingestion: Ingestion
) -> None:
    for ledger, place in ((100, "one"), (101, "two")):
        text = discovery(f"{USERS}/{place}", TEMPLATE)
        await ingestion.list(await insert_settlement(database, Paid(text=text, ledger=ledger)))
    async with database.connection() as db:
        (bound,) = await find_bound_origins(
            db, Network.TESTNET, claimed(f"{USERS}/x", TEMPLATE), OTHER_SELLER, limit=5
        )
    assert (bound.pay_to, bound.paid_url, bound.method) == (SELLER, f"{USERS}/two", "GET")
