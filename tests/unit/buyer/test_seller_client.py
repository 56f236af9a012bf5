"""The seller client, over real loopback sockets: each request is sent once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from farebox.buyer import seller_client
from farebox.buyer.seller_client import HttpSellerClient, SellerRequest, SellerUnavailable
from farebox.kernel.secret import Secret

Handler = Callable[[bytes], bytes | None]


class Seller:
    """Answers raw bytes with raw bytes; None drops the connection."""

    def __init__(self, answer: Handler) -> None:
        self.heard: list[bytes] = []
        self.url = ""
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        self.heard.append(request)
        answer = self._answer(request)
        if answer is not None:
            writer.write(answer)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def seller(answer: Handler) -> AsyncIterator[Seller]:
    shop = Seller(answer)
    server = await asyncio.start_server(shop.serve, "127.0.0.1", 0, limit=2**20)
    async with server:
        shop.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield shop


def reply(status: str, headers: str = "", body: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def test_response_has_the_x402_headers() -> None:
    headers = "PAYMENT-REQUIRED: abc\r\npayment-response: def\r\nContent-Type: text/plain\r\n"
    async with (
        seller(lambda _: reply("402 Payment Required", headers, "hi")) as shop,
        HttpSellerClient() as web,
    ):
        answer = await web.send(SellerRequest(shop.url, headers={"X-Mine": "1"}))
    assert (answer.status, answer.body, answer.content_type) == (402, b"hi", "text/plain")
    assert (answer.payment_required, answer.payment_response) == ("abc", "def")
    assert b"X-Mine: 1\r\n" in shop.heard[0]
    assert b"PAYMENT-SIGNATURE" not in shop.heard[0]


async def test_payment_headers_of_30_kb_are_sent_and_received() -> None:
    long = "x" * 30_000
    async with (
        seller(lambda _: reply("200 OK", f"PAYMENT-RESPONSE: {long}\r\n")) as shop,
        HttpSellerClient() as web,
    ):
        answer = await web.send(SellerRequest(shop.url), Secret(long))
    assert answer.payment_response == long
    assert f"PAYMENT-SIGNATURE: {long}\r\n".encode() in shop.heard[0]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_dropped_connection_is_never_retried(method: str) -> None:
    async with seller(lambda _: None) as shop, HttpSellerClient() as web:
        with pytest.raises(SellerUnavailable) as away:
            await web.send(SellerRequest(shop.url, method=method), Secret("signed"))
    assert not away.value.certainly_not_sent
    assert len(shop.heard) == 1


async def test_truncated_response_is_unavailable() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    async with seller(lambda _: half) as shop, HttpSellerClient() as web:
        with pytest.raises(SellerUnavailable) as away:
            await web.send(SellerRequest(shop.url))
    assert not away.value.certainly_not_sent


@pytest.mark.parametrize(
    ("headers", "extra", "is_cut"), [("", 0, False), ("", 1, True), ("X: y\r\n", 500_000, True)]
)
async def test_body_above_the_limit_is_cut_and_says_so(
    monkeypatch: pytest.MonkeyPatch, headers: str, extra: int, *, is_cut: bool
) -> None:
    monkeypatch.setattr(seller_client, "MAX_BODY_BYTES", 100_000)
    body = "x" * (100_000 + extra)
    async with seller(lambda _: reply("200 OK", headers, body)) as shop, HttpSellerClient() as web:
        answer = await web.send(SellerRequest(shop.url), Secret("signed"))
    assert (len(answer.body), answer.is_cut) == (100_000, is_cut)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 999999 ?\r\n\r\n",
        b"\x00\xff" * 100,
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    ],
)
async def test_hostile_response_leaves_the_payment_open_and_is_asked_for_once(
    answer: bytes,
) -> None:
    async with seller(lambda _: answer) as shop, HttpSellerClient(timeout_s=5) as web:
        with pytest.raises(SellerUnavailable) as away:
            await web.send(SellerRequest(shop.url), Secret("signed"))
    assert not away.value.certainly_not_sent
    assert len(shop.heard) == 1


async def test_seller_that_never_ends_its_response_is_given_up_at_the_timeout() -> None:
    done = asyncio.Event()

    async def begin(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nx")
        await writer.drain()
        await done.wait()
        writer.close()

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, HttpSellerClient(timeout_s=0.2) as web:
        with pytest.raises(SellerUnavailable) as away:
            await web.send(SellerRequest(f"http://127.0.0.1:{port}/"), Secret("signed"))
        done.set()
    assert not away.value.certainly_not_sent


async def test_silent_seller_is_unavailable_at_the_timeout() -> None:
    silent = asyncio.Event()

    async def wait(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.wait()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, HttpSellerClient(timeout_s=0.05) as web:
        with pytest.raises(SellerUnavailable) as away:
            await web.send(SellerRequest(f"http://127.0.0.1:{port}/"))
        silent.set()
    assert not away.value.certainly_not_sent


async def test_redirect_is_not_followed() -> None:
    async with (
        seller(lambda _: reply("302 Found", "Location: http://elsewhere.test/\r\n")) as shop,
        HttpSellerClient() as web,
    ):
        answer = await web.send(SellerRequest(shop.url), Secret("signed"))
    assert (answer.status, answer.location) == (302, "http://elsewhere.test/")
    assert len(shop.heard) == 1


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/", "Nothing listens at 127.0.0.1:1"),
        ("http://nowhere.invalid/", "The name nowhere.invalid cannot be resolved"),
        ("ftp://127.0.0.1/", "not an http or https URL"),
        ("weather", "not an http or https URL"),
        ("http://", "not an http or https URL"),
    ],
)
async def test_failure_before_sending_is_certainly_not_sent(url: str, words: str) -> None:
    async with HttpSellerClient() as web:
        with pytest.raises(SellerUnavailable, match=words) as away:
            await web.send(SellerRequest(url))
    assert away.value.certainly_not_sent


async def test_seller_without_tls_is_named() -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply("400 Bad Request"))
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, HttpSellerClient() as web:
        with pytest.raises(SellerUnavailable, match="is not trusted") as away:
            await web.send(SellerRequest(f"https://127.0.0.1:{port}/"), Secret("signed"))
    assert away.value.certainly_not_sent
