"""The seller's side of a payment over real HTTP, with a facilitator that records its calls."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from farebox.buyer.offer import Offer, Option, read_offer
from farebox.buyer.seller_client import HttpSellerClient, SellerRequest, SellerResponse
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.example_api import example_api, requirements
from farebox.local.facilitator_client import FacilitatorUnavailable, Json
from farebox.local.loopback_server import bind, serving
from farebox.x402.headers import decode_header, encode_header
from support.offers import SELLER

HASH = "cd" * 32
SETTLED: Json = {"success": True, "transaction": HASH, "network": "stellar:testnet"}
PENDING: Json = {
    "success": False,
    "errorReason": "settlement_pending",
    "transaction": HASH,
    "network": "stellar:testnet",
}
TERMS = [
    requirements(network, pay_to=Address(SELLER), price=BaseUnits(500_000)) for network in Network
]


@dataclass
class RecordingFacilitator:
    verdict: Json = field(default_factory=lambda: {"isValid": True})
    receipts: list[Json | FacilitatorUnavailable] = field(default_factory=lambda: [SETTLED])
    calls: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = field(
        default_factory=list
    )

    async def verify(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        self.calls.append(("verify", payload, terms))
        return self.verdict

    async def settle(self, payload: Mapping[str, object], terms: Mapping[str, object]) -> Json:
        self.calls.append(("settle", payload, terms))
        receipt = self.receipts.pop(0)
        if isinstance(receipt, FacilitatorUnavailable):
            raise receipt
        return receipt


@dataclass
class RecordingWatcher:
    seen: list[Json] = field(default_factory=list)

    def on_verified(self, verdict: Json) -> None:
        self.seen.append(verdict)

    def on_settled(self, receipt: Json) -> None:
        self.seen.append(receipt)


class Visitor:
    def __init__(self, web: HttpSellerClient, url: str) -> None:
        self._web, self.url = web, url

    async def get(self, path: str, payload: object = None) -> SellerResponse:
        header = Secret(encode_header(payload)) if payload is not None else None
        return await self._web.send(SellerRequest(self.url + path), header)


@asynccontextmanager
async def visitor(facilitator: RecordingFacilitator) -> AsyncIterator[Visitor]:
    app = example_api(facilitator, TERMS, RecordingWatcher())
    async with serving(app, bind(0, option="--port")) as url, HttpSellerClient() as web:
        yield Visitor(web, url)


def payment(**changes: object) -> Json:
    body: Json = {"x402Version": 2, "accepted": TERMS[1], "payload": {"transaction": "AAAA"}}
    return body | changes


async def test_paid_route_responds_402_with_a_readable_offer() -> None:
    async with visitor(RecordingFacilitator()) as visit:
        answer = await visit.get("/weather")
        url = visit.url
    offer = read_offer(answer.payment_required)
    assert answer.status == 402
    assert isinstance(offer, Offer)
    assert offer.resource is not None
    assert offer.resource["url"] == f"{url}/weather"
    assert [type(option) for option in offer.options] == [Option, Option]


async def test_free_route_names_the_paid_route() -> None:
    async with visitor(RecordingFacilitator()) as visit:
        answer = await visit.get("/")
        assert answer.status == 200
        assert f"{visit.url}/weather".encode() in answer.body


async def test_payment_is_verified_then_settled_and_gets_its_receipt() -> None:
    facilitator = RecordingFacilitator()
    async with visitor(facilitator) as visit:
        answer = await visit.get("/weather", payment())
    assert (answer.status, decode_header(answer.payment_response or "")) == (200, SETTLED)
    assert b"Lisbon" in answer.body
    assert [(call, terms) for call, _, terms in facilitator.calls] == [
        ("verify", TERMS[1]),
        ("settle", TERMS[1]),
    ]
    assert facilitator.calls[0][1] == payment()


async def test_invalid_payment_gets_402_and_is_never_settled() -> None:
    facilitator = RecordingFacilitator(verdict={"isValid": False, "invalidReason": "too_late"})
    async with visitor(facilitator) as visit:
        answer = await visit.get("/weather", payment())
    offer = read_offer(answer.payment_required)
    assert isinstance(offer, Offer)
    assert (answer.status, offer.error) == (402, "too_late")
    assert [call for call, _, _ in facilitator.calls] == ["verify"]


async def test_pending_settlement_is_repeated_once_with_the_same_body() -> None:
    facilitator = RecordingFacilitator(receipts=[PENDING, SETTLED])
    async with visitor(facilitator) as visit:
        answer = await visit.get("/weather", payment())
    assert answer.status == 200
    _, first, second = facilitator.calls
    assert first == second


async def test_settlement_that_stays_pending_gets_402_with_its_receipt() -> None:
    facilitator = RecordingFacilitator(receipts=[PENDING, PENDING])
    async with visitor(facilitator) as visit:
        answer = await visit.get("/weather", payment())
    assert (answer.status, answer.body) == (402, b"{}")
    assert decode_header(answer.payment_response or "") == PENDING
    assert answer.payment_required is None


async def test_unavailable_facilitator_gives_502() -> None:
    facilitator = RecordingFacilitator(receipts=[FacilitatorUnavailable("settle")])
    async with visitor(facilitator) as visit:
        answer = await visit.get("/weather", payment())
    assert (answer.status, answer.payment_response) == (502, None)
    assert b"no answer to settle" in answer.body


@pytest.mark.parametrize(
    "accepted",
    [
        None,
        "exact",
        TERMS[0] | {"amount": "499999"},
        {name: value for name, value in TERMS[0].items() if name != "extra"},
        TERMS[0] | {"extra": {"areFeesSponsored": False}},
        TERMS[0] | {"more": 1},
    ],
)
async def test_payment_for_other_terms_is_refused(accepted: object) -> None:
    facilitator = RecordingFacilitator()
    async with visitor(facilitator) as visit:
        answer = await visit.get("/weather", payment(accepted=accepted))
    assert answer.status == 402
    assert facilitator.calls == []


async def test_payment_may_add_members_to_extra() -> None:
    more = TERMS[0] | {"extra": {"areFeesSponsored": True, "note": {"mine": 1}}}
    async with visitor(RecordingFacilitator()) as visit:
        assert (await visit.get("/weather", payment(accepted=more))).status == 200


async def test_malformed_payment_header_is_a_bad_request() -> None:
    async with visitor(RecordingFacilitator()) as visit:
        answer = await visit.get("/weather", [])
    assert answer.status == 400
