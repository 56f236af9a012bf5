"""The 402 of a resource is read over the network."""

import base64
import json
from pathlib import Path

import pytest

from farebox.catalog.origin.http_origin_client import MAX_ANSWER_BYTES, HttpOriginClient
from farebox.catalog.origin.payment_required import (
    OriginFailure,
    OriginFault,
    OriginPaymentRequired,
)
from farebox.kernel.networks import Network
from farebox.outbound.client import OutboundClient
from farebox.outbound.resolve import PublicResolver
from support.journal_rows import ASSET, SELLER
from support.outbound import SELLER as HOST
from support.outbound import URL, lookup, seller
from support.promises import case
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


async def _ask(folder: Path, answer: Answer, *, url: str = URL, deadline_s: float = 20) -> object:
    async with seller(folder, answer) as at:
        return await HttpOriginClient(at.client, deadline_s=deadline_s).fetch_payment_required(
            url, method="GET"
        )


async def test_payment_required_is_read_from_the_header_first(tmp_path: Path) -> None:
    body = json.dumps(TERMS | {"accepts": []}).encode()
    response = await _ask(tmp_path, answers(body, status=STATUS, headers=(_header(DOCUMENT),)))
    assert isinstance(response, OriginPaymentRequired)
    assert response.names_recipient(Network.TESTNET, SELLER)
    assert response.document == DOCUMENT


async def test_payment_required_is_read_from_the_body_without_a_header(tmp_path: Path) -> None:
    response = await _ask(tmp_path, answers(DOCUMENT, status=STATUS))
    assert isinstance(response, OriginPaymentRequired)
    assert response.names_recipient(Network.TESTNET, SELLER)


async def test_probe_uses_a_safe_method_without_a_payment(tmp_path: Path) -> None:
    table = (
        ("GET", b"GET", b""),
        (None, b"GET", b""),
        ("HEAD", b"HEAD", b""),
        ("POST", b"POST", b"{}"),
        ("DELETE", b"GET", b""),
        ("PUT", b"GET", b""),
        ("PATCH", b"GET", b""),
    )
    answer = answers(status=STATUS, headers=(_header(DOCUMENT),))
    async with seller(tmp_path, answer) as at:
        for number, (method, line, body) in enumerate(table, start=1):
            response = await HttpOriginClient(at.client).fetch_payment_required(URL, method=method)
            assert isinstance(response, OriginPaymentRequired), method
            assert len(at.upstream.requests) == number
            request = at.upstream.requests[-1]
            assert (request.split(b" ")[0], request.partition(b"\r\n\r\n")[2]) == (line, body)
            assert b"payment" not in request.lower()


@case("CT-041")
@pytest.mark.parametrize(
    ("answer", "why", "detail"),
    [
        (answers(DOCUMENT), OriginFault.NO_PAYMENT_ASKED, "200"),
        (answers(status="404 Not Found"), OriginFault.NO_PAYMENT_ASKED, "404"),
        (
            answers(status="302 Found", headers=(f"Location: {URL}",)),
            OriginFault.NO_PAYMENT_ASKED,
            "302",
        ),
        (answers(b"pay me", status=STATUS), OriginFault.UNREADABLE, ""),
        (answers(DOCUMENT, status=STATUS, headers=(_header(b"{}"),)), OriginFault.UNREADABLE, ""),
        (
            answers(DOCUMENT, status=STATUS, headers=("PAYMENT-REQUIRED: ?",)),
            OriginFault.UNREADABLE,
            "",
        ),
        (
            answers(b" " * MAX_ANSWER_BYTES + DOCUMENT, status=STATUS),
            OriginFault.NO_ANSWER,
            "answer_too_large",
        ),
        (drops(), OriginFault.NO_ANSWER, "connection_dropped"),
        (
            drips(b"X-A: b\r\n", head=b"HTTP/1.1 402 Pay\r\n"),
            OriginFault.NO_ANSWER,
            "no_answer_in_time",
        ),
        (
            drips(b" ", head=b"HTTP/1.1 402 Pay\r\n\r\n"),
            OriginFault.NO_ANSWER,
            "no_answer_in_time",
        ),
    ],
)
async def test_other_responses_are_failures_with_a_reason(
    tmp_path: Path, answer: Answer, why: OriginFault, detail: str
) -> None:
    deadline_s = 1 if detail == "no_answer_in_time" else 20
    assert await _ask(tmp_path, answer, deadline_s=deadline_s) == OriginFailure(why, detail)


@case("CT-041")
async def test_targets_that_are_not_called_are_failures_with_a_reason(tmp_path: Path) -> None:
    for url, why, detail in (
        ("https://10.0.0.1/", OriginFault.NOT_CALLED, "host_not_a_name"),
        ("http://seller.example.com/", OriginFault.NOT_CALLED, "url_not_https"),
        (f"https://{HOST}/users/{{id}}", OriginFault.NOT_CALLED, "url_malformed"),
        ("", OriginFault.NOT_CALLED, "url_not_https"),
        ("https://nobody.example.com/", OriginFault.UNREACHABLE, "name_not_found"),
    ):
        assert await _ask(tmp_path, answers(), url=url) == OriginFailure(why, detail), url


async def test_busy_or_closed_client_is_not_a_failure_of_the_resource(tmp_path: Path) -> None:
    async with seller(tmp_path, answers(DOCUMENT, status=STATUS)) as at:
        crowded = OutboundClient(PublicResolver(lookup({})), max_calls=0)
        closed = await HttpOriginClient(crowded).fetch_payment_required(URL, method="GET")
        async with crowded:
            busy = await HttpOriginClient(crowded).fetch_payment_required(URL, method="GET")
        assert isinstance(
            await HttpOriginClient(at.client).fetch_payment_required(URL, method="GET"),
            OriginPaymentRequired,
        )
    assert closed == OriginFailure(OriginFault.NOT_ASKED, "client_closed")
    assert busy == OriginFailure(OriginFault.NOT_ASKED, "too_many_calls")
