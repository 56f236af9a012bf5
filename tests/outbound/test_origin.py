"""Resources are asked for their own 402 over the network, and say what they say."""

import base64
import json
from pathlib import Path

import pytest

from farebox.catalog.origin.offers import (
    MAX_ANSWER_BYTES,
    Offers,
    Origin,
    OriginSilent,
    Silence,
)
from farebox.kernel.networks import Network
from support.outbound import SELLER as HOST
from support.outbound import URL, seller
from support.promises import case
from support.settled import ASSET, SELLER
from support.upstream import Answer, answers, drips, drops

TERMS = {
    "x402Version": 2,
    "error": "Payment required",
    "accepts": [
        {
            "scheme": "exact",
            "network": "stellar:testnet",
            "asset": ASSET,
            "amount": "10000",
            "payTo": SELLER,
        }
    ],
}
DOCUMENT = json.dumps(TERMS).encode()
STATUS = "402 Payment Required"


def _header(document: bytes) -> str:
    return f"PAYMENT-REQUIRED: {base64.b64encode(document).decode()}"


async def _ask(folder: Path, answer: Answer, *, url: str = URL, deadline_s: float = 2) -> object:
    async with seller(folder, answer) as at:
        return await Origin(at.client, deadline_s=deadline_s).offers(url, method="GET")


async def test_the_header_is_read_before_the_body(tmp_path: Path) -> None:
    body = json.dumps(TERMS | {"accepts": []}).encode()
    said = await _ask(tmp_path, answers(body, status=STATUS, headers=(_header(DOCUMENT),)))
    assert isinstance(said, Offers)
    assert said.name(Network.TESTNET, SELLER)
    assert said.document == DOCUMENT


async def test_the_body_is_read_where_there_is_no_header(tmp_path: Path) -> None:
    said = await _ask(tmp_path, answers(DOCUMENT, status=STATUS))
    assert isinstance(said, Offers)
    assert said.name(Network.TESTNET, SELLER)


@pytest.mark.parametrize(
    ("method", "line", "body"),
    [
        ("GET", b"GET", b""),
        (None, b"GET", b""),
        ("HEAD", b"HEAD", b""),
        ("POST", b"POST", b"{}"),
        ("DELETE", b"GET", b""),
        ("PUT", b"GET", b""),
        ("PATCH", b"GET", b""),
    ],
)
async def test_nothing_is_changed_or_removed_by_asking(
    tmp_path: Path, method: str | None, line: bytes, body: bytes
) -> None:
    answer = answers(status=STATUS, headers=(_header(DOCUMENT),))
    async with seller(tmp_path, answer) as at:
        said = await Origin(at.client).offers(URL, method=method)
    assert isinstance(said, Offers)
    (request,) = at.upstream.requests
    assert request.split(b" ")[0] == line
    assert request.partition(b"\r\n\r\n")[2] == body
    assert b"payment" not in request.lower()


@case("CT-041")
@pytest.mark.parametrize(
    ("answer", "why", "detail"),
    [
        (answers(DOCUMENT), Silence.NO_PAYMENT_ASKED, "200"),
        (answers(status="404 Not Found"), Silence.NO_PAYMENT_ASKED, "404"),
        (
            answers(status="302 Found", headers=(f"Location: {URL}",)),
            Silence.NO_PAYMENT_ASKED,
            "302",
        ),
        (answers(b"pay me", status=STATUS), Silence.UNREADABLE, ""),
        (answers(DOCUMENT, status=STATUS, headers=(_header(b"{}"),)), Silence.UNREADABLE, ""),
        (
            answers(DOCUMENT, status=STATUS, headers=("PAYMENT-REQUIRED: ?",)),
            Silence.UNREADABLE,
            "",
        ),
        (
            answers(b" " * MAX_ANSWER_BYTES + DOCUMENT, status=STATUS),
            Silence.NO_ANSWER,
            "answer_too_large",
        ),
        (drops(), Silence.NO_ANSWER, "connection_dropped"),
        (
            drips(b"X-A: b\r\n", head=b"HTTP/1.1 402 Pay\r\n"),
            Silence.NO_ANSWER,
            "no_answer_in_time",
        ),
        (
            drips(b" ", head=b"HTTP/1.1 402 Pay\r\n\r\n"),
            Silence.NO_ANSWER,
            "no_answer_in_time",
        ),
    ],
)
async def test_whatever_else_comes_is_silence_with_a_reason(
    tmp_path: Path, answer: Answer, why: Silence, detail: str
) -> None:
    assert await _ask(tmp_path, answer, deadline_s=0.5) == OriginSilent(why, detail)


@case("CT-041")
@pytest.mark.parametrize(
    ("url", "why", "detail"),
    [
        ("https://10.0.0.1/", Silence.NOT_CALLED, "host_not_a_name"),
        ("http://seller.example.com/", Silence.NOT_CALLED, "url_not_https"),
        (f"https://{HOST}/users/{{id}}", Silence.NOT_CALLED, "url_malformed"),
        ("", Silence.NOT_CALLED, "url_not_https"),
        ("https://nobody.example.com/", Silence.UNREACHABLE, "name_not_found"),
    ],
)
async def test_what_is_not_called_is_silent(
    tmp_path: Path, url: str, why: Silence, detail: str
) -> None:
    assert await _ask(tmp_path, answers(), url=url) == OriginSilent(why, detail)
