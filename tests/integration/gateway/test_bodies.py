"""The body of a paid request is received after its payment was read, in a room that all share."""

import asyncio
import base64
import errno
import json
import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from farebox.facilitator.settlement import NotSettled
from farebox.gateway.relay.received_body import MEMORY_BYTES
from farebox.kernel.networks import Network
from farebox.x402.reasons import Reason
from support.gateway import GatewayBench, Opened, code_of, sent, signature
from support.serving import serving
from support.upstream import answers
from testing.waiting import until

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
BODY = b"b" * 1_000
REFUSED = NotSettled(Reason.INVALID_SIGNATURE, Network.TESTNET)
OTHER_TERMS = base64.b64encode(
    json.dumps({"x402Version": 2, "accepted": {}, "payload": {"transaction": "AAAA"}}).encode()
).decode()


@asynccontextmanager
async def connection(at: GatewayBench) -> AsyncIterator[Connection]:
    """A connection to the gateway behind the server we use."""
    async with serving(at.client) as (host, port):
        reader, writer = await asyncio.open_connection(host, port)
        try:
            yield reader, writer
        finally:
            writer.close()
            await writer.wait_closed()


def head(at: GatewayBench, method: str, payment: str, length: int = 0) -> bytes:
    return (
        f"{method} {at.url} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n"
        f"Connection: close\r\npayment-signature: {payment}\r\n\r\n"
    ).encode()


async def answer_to_head(at: GatewayBench, payment: str) -> bytes:
    """Send the head of a paid request and none of its body; the first line that comes."""
    async with connection(at) as (reader, writer):
        writer.write(head(at, "POST", payment, len(BODY)))
        return await asyncio.wait_for(reader.readline(), 20)


async def test_payment_that_cannot_be_read_is_answered_before_its_body_comes(
    opened: Opened,
) -> None:
    """Also one of other terms."""
    async with opened() as at:
        for payment, status in (("?", b"400"), (OTHER_TERMS, b"402")):
            assert (await answer_to_head(at, payment)).startswith(b"HTTP/1.1 " + status)
            assert at.spool.taken_bytes == 0


async def test_payment_that_breaks_a_rule_is_answered_before_its_body_comes(
    opened: Opened,
) -> None:
    async with opened(refusal=REFUSED) as at:
        payment = signature(await at.offer(method="POST"), "one")
        assert (await answer_to_head(at, payment)).startswith(b"HTTP/1.1 402")


async def test_payment_that_can_be_settled_waits_for_its_body(opened: Opened) -> None:
    """The control of the tests above."""
    async with opened() as at, connection(at) as (reader, writer):
        payment = signature(await at.offer(method="POST"), "one")
        writer.write(head(at, "POST", payment, len(BODY)) + BODY[:1])
        await until(lambda: at.spool.taken_bytes == 1)
        assert at.settler.judged == []
        writer.write(BODY[1:])
        assert (await asyncio.wait_for(reader.readline(), 20)).startswith(b"HTTP/1.1 200")
        assert sent(at)[0].endswith(BODY)


async def test_body_beyond_the_share_of_its_client_settles_nothing(opened: Opened) -> None:
    async with opened(spool_bytes=8 * len(BODY)) as at:
        answer = await at.pay(method="POST", body=8 * BODY)
        assert (answer.status, code_of(answer)) == (429, "too_many_requests")
        assert int(answer.headers["retry-after"]) >= 1
        assert (at.settler.judged, at.settler.settled) == ([], [])
        assert (await at.pay(method="POST", body=BODY)).status == 200
        assert at.spool.taken_bytes == 0


async def test_body_without_room_settles_nothing(opened: Opened) -> None:
    async with opened(spool_bytes=8 * len(BODY)) as at:
        with at.spool.open("two") as other:
            with at.spool.open("one") as large:
                large.add(7 * BODY)
                other.add(BODY)
                answer = await at.pay(method="POST", body=b"b")
                assert (answer.status, code_of(answer)) == (503, "service_unavailable")
                assert int(answer.headers["retry-after"]) >= 1
                assert (at.settler.judged, at.settler.settled) == ([], [])
                empty = await at.pay(payment="two")
                assert empty.status == 200, "a request without a body needs no room"
            assert (await at.pay(method="POST", body=b"b")).status == 200


async def test_body_that_the_disk_does_not_take_settles_nothing(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with opened() as at:
        with monkeypatch.context() as full:
            full.setattr(tempfile, "TemporaryFile", refuse)
            answer = await at.pay(method="POST", body=b"b" * (MEMORY_BYTES + 1))
        assert (answer.status, code_of(answer)) == (503, "service_unavailable")
        assert (at.settler.judged, at.settler.settled, at.spool.taken_bytes) == ([], [], 0)
        assert (await at.pay(method="POST", body=b"b" * (MEMORY_BYTES + 1))).status == 200


async def test_upstream_that_breaks_in_the_middle_is_no_fault_of_the_service(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    """Controls: an application that raises what the gateway does has a trace in the log; one that
    leaves its response without an end has an error.
    """
    async with opened(answer=answers(b"x" * 200_000, length=300_000)) as at:
        payment = signature(await at.offer(), "one")
        with capture_logs() as logged:
            async with connection(at) as (reader, writer):
                writer.write(head(at, "GET", payment))
                answer = await asyncio.wait_for(reader.read(), 20)
        _, _, body = answer.partition(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200")
        assert 0 < len(body) < 300_000
        (request,) = [each for each in logged if each["event"] == "request"]
        why = (request["error"], request["fault"])
        assert why == ("upstream_response_cut", "upstream_response_incomplete")
        assert [each for each in logged if "exc_info" in each or "broken" in each["event"]] == []
        assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
