"""A seller's client of its facilitator, over real HTTP."""

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from farebox.local.facilitator_client import FacilitatorUnavailable, HttpFacilitator
from farebox.local.faults import LocalFault
from farebox.local.loopback_server import bind, serving


def facilitator(answer: bytes, received: list[bytes]) -> Starlette:
    async def judge(request: Request) -> Response:
        received.append(await request.body())
        return Response(answer, media_type="application/json")

    return Starlette(
        routes=[Route(path, judge, methods=["POST"]) for path in ("/verify", "/settle")]
    )


async def test_facilitator_client_sends_the_payment_and_reads_the_verdict() -> None:
    received: list[bytes] = []
    app = facilitator(b'{"isValid":false,"success":true,"more":1}', received)
    async with serving(app, bind(0, option="--port")) as url, HttpFacilitator(url + "/") as client:
        verdict = await client.verify({"a": 1}, {"b": 2})
        receipt = await client.settle({"a": 1}, {"b": 2})
    assert verdict == receipt == {"isValid": False, "success": True, "more": 1}
    assert (
        received
        == [b'{"x402Version":2,"paymentPayload":{"a":1},"paymentRequirements":{"b":2}}'] * 2
    )


@pytest.mark.parametrize("answer", [b"", b"{}", b"[]", b'{"success":"yes"}', b"<html>"])
async def test_malformed_verdict_is_unavailable(answer: bytes) -> None:
    async with (
        serving(facilitator(answer, []), bind(0, option="--port")) as url,
        HttpFacilitator(url) as client,
    ):
        with pytest.raises(FacilitatorUnavailable, match="no answer to settle"):
            await client.settle({}, {})


async def test_facilitator_that_does_not_listen_is_unavailable() -> None:
    async with HttpFacilitator("http://127.0.0.1:1") as client:
        with pytest.raises(FacilitatorUnavailable, match="no answer to verify"):
            await client.verify({}, {})


def test_taken_port_is_one_sentence() -> None:
    with bind(0, option="--port") as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LocalFault, match=f"^Port {port} is taken: .* with --port.$"):
            bind(port, option="--port")
