"""A key that is bound to somebody else moves when the resource itself says so, and only then."""

from collections.abc import Mapping
from typing import Any

import pytest

from farebox.catalog.discovery.read import read_discovery
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.outbox import Ownership
from farebox.catalog.listing import Resource
from farebox.catalog.origin.binding_store import StoredBindings
from farebox.catalog.origin.offers import Offer, Offers, OriginSilent, Silence
from farebox.catalog.origin.takeover import Takeover
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.search.index_store import StoredIndex
from farebox.storage.pool import Database
from support.promises import case
from support.settled import (
    ASSET,
    OTHER_SELLER,
    SELLER,
    WEATHER,
    Paid,
    discovery,
    http_bazaar,
    journal,
)

USERS = "https://api.weather.example/users"
TEMPLATE: dict[str, Any] = http_bazaar(routeTemplate="/users/:id")
NOT_THERE = OriginSilent(Silence.NO_PAYMENT_ASKED, "404")
AWAY = OriginSilent(Silence.UNREACHABLE)


def pays(*recipients: Address, network: Network = Network.TESTNET) -> Offers:
    offers = (Offer(network, ASSET, BaseUnits(1), each) for each in recipients)
    return Offers(tuple(offers), b"{}")


class Said:
    """Resources with an answer each; every other is silent."""

    def __init__(self, answers: Mapping[str, Offers | OriginSilent]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def offers(self, url: str, *, method: str | None) -> Offers | OriginSilent:
        self.asked.append(url)
        return self._answers.get(url, AWAY)


@pytest.fixture
def ingestion(database: Database) -> Ingestion:
    return Ingestion(database, StoredIndex(), read_discovery)


def claimed(url: str, bazaar: dict[str, Any] | None = None) -> Resource:
    found = read_discovery(discovery(url, bazaar), pay_to=OTHER_SELLER)
    assert isinstance(found, Resource)
    return found


async def ask(database: Database, said: Said, resource: Resource) -> Ownership:
    takeover = Takeover(said, StoredBindings(database))
    return await takeover.ask(resource, Network.TESTNET, OTHER_SELLER)


@case("CT-040")
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (pays(OTHER_SELLER), Ownership.NAMES_IT),
        (pays(SELLER), Ownership.NAMES_OTHERS),
        (pays(SELLER, OTHER_SELLER), Ownership.NAMES_OTHERS),
        (pays(), Ownership.NAMES_OTHERS),
        (pays(OTHER_SELLER, network=Network.PUBNET), Ownership.NAMES_OTHERS),
        (NOT_THERE, Ownership.SILENT),
        (AWAY, Ownership.SILENT),
    ],
)
async def test_a_claim_stands_when_the_resource_names_the_claimant_and_not_the_bound_one(
    database: Database, ingestion: Ingestion, answer: Offers | OriginSilent, says: Ownership
) -> None:
    await ingestion.list(await journal(database, Paid()))
    said = Said({WEATHER: answer})
    assert await ask(database, said, claimed(WEATHER)) is says
    assert said.asked == [WEATHER]


@case("CT-040")
@pytest.mark.parametrize(
    ("where_bound", "says"),
    [
        (pays(SELLER), Ownership.NAMES_OTHERS),
        (pays(SELLER, OTHER_SELLER), Ownership.NAMES_OTHERS),
        (pays(OTHER_SELLER), Ownership.NAMES_IT),
        (NOT_THERE, Ownership.NAMES_IT),
        (AWAY, Ownership.SILENT),
    ],
)
async def test_one_place_of_a_template_does_not_speak_for_a_binding_that_another_upholds(
    database: Database,
    ingestion: Ingestion,
    where_bound: Offers | OriginSilent,
    says: Ownership,
) -> None:
    text = discovery(f"{USERS}/one", TEMPLATE)
    await ingestion.list(await journal(database, Paid(text=text)))
    said = Said({f"{USERS}/two": pays(OTHER_SELLER), f"{USERS}/one": where_bound})
    assert await ask(database, said, claimed(f"{USERS}/two", TEMPLATE)) is says
    assert said.asked == [f"{USERS}/two", f"{USERS}/one"]


async def test_a_key_that_is_free_meanwhile_needs_no_more_than_its_own_word(
    database: Database,
) -> None:
    said = Said({WEATHER: pays(OTHER_SELLER)})
    assert await ask(database, said, claimed(WEATHER)) is Ownership.NAMES_IT


async def test_a_later_place_of_the_owners_is_the_one_that_is_asked(
    database: Database, ingestion: Ingestion
) -> None:
    for ledger, place in ((100, "one"), (101, "two")):
        text = discovery(f"{USERS}/{place}", TEMPLATE)
        await ingestion.list(await journal(database, Paid(text=text, ledger=ledger)))
    bound = await StoredBindings(database).bound(
        Network.TESTNET, claimed(f"{USERS}/x", TEMPLATE).key
    )
    assert bound is not None
    assert (bound.pay_to, bound.asked_url, bound.method) == (SELLER, f"{USERS}/two", "GET")
