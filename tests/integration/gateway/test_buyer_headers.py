"""Headers by which a buyer would turn an upstream against its seller."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import orjson
import pytest

from farebox.gateway.relay import hidden_value, request_headers
from farebox.storage.pool import Database
from farebox.vault.stored_secret import Purpose
from support.gateway import GatewayBench, Opened, code_of, sent
from support.outbound import SELLER
from support.vault import new_owner, random_value, vault_replica
from support.wrappers import wrapper_fields, wrappers_of

Echo = Callable[[Mapping[str, str]], bytes]


def _response(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(body)}"])
    return f"{head}\r\n\r\n".encode() + body


def _obliging(headers: Mapping[str, str]) -> bytes:
    """A server that does what the headers ask for, and shows the credential that it got."""
    key = headers.get("authorization", "").removeprefix("Bearer ")
    body = orjson.dumps({"message": "hello", "yourKey": key, "end": True})
    if "if-none-match" in headers:
        return _response(b"", status="304 Not Modified")
    if headers.get("accept-encoding") == "gzip":
        return _response(gzip.compress(body), "Content-Encoding: gzip")
    if "range" in headers:
        start, _, end = headers["range"].removeprefix("bytes=").partition("-")
        return _response(body[int(start) : int(end) + 1], status="206 Partial Content")
    return _response(body, f"X-Done: {headers.get('x-http-method-override', 'GET')}")


def _escaping(headers: Mapping[str, str]) -> bytes:
    """A server that escapes all it writes."""
    key = headers["authorization"].removeprefix("Bearer ")
    return _response("".join(f"\\u{ord(each):04X}" for each in key).encode())


@asynccontextmanager
async def _selling(
    opened: Opened, database: Database, echo: Echo, *, has_credential: bool = True
) -> AsyncIterator[tuple[GatewayBench, bytes]]:
    """A wrapper whose upstream answers by the headers that it got; and its credential."""
    benches: list[GatewayBench] = []

    async def answer(writer: asyncio.StreamWriter) -> None:
        lines = sent(benches[0])[-1].partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        fields = [line.partition(": ") for line in lines]
        writer.write(echo({name.lower(): value for name, _, value in fields}))
        await writer.drain()

    caller, value = new_owner(), random_value()
    secret = await vault_replica(database).keep(caller, value, purpose=Purpose.BEARER)
    named = {"auth_type": "bearer", "secret_id": secret.id} if has_credential else {}
    fields = wrapper_fields(upstream_url=f"https://{SELLER}/", **named)
    wrappers = wrappers_of(database)
    created = await wrappers.create(caller, "r", fields)
    async with opened(answer=answer) as at:
        at.wrapper = await wrappers.enable(caller, "r", created.id)
        benches.append(at)
        yield at, value.reveal().encode()


async def test_credential_is_found_whatever_form_the_buyer_asks_for(
    opened: Opened, database: Database
) -> None:
    async with _selling(opened, database, _obliging) as (at, _):
        for name, value in (
            ("accept-encoding", "gzip"), ("range", "bytes=0-9"), ("range", "bytes=25-40"),
        ):  # fmt: skip
            answer = await at.pay(headers={name: value}, payment=value)
            assert (answer.status, code_of(answer)) == (502, "upstream_failed"), value
            assert "credential" in answer.json()["error"]["message"]


async def test_credential_is_found_in_escapes(opened: Opened, database: Database) -> None:
    async with _selling(opened, database, _escaping) as (at, _):
        answer = await at.pay()
    assert (answer.status, code_of(answer)) == (502, "upstream_failed")


async def test_response_in_a_coding_that_nobody_asked_for_is_refused(
    opened: Opened, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_headers, "_REPRESENTATIONS", frozenset())  # an upstream's own mind
    async with _selling(opened, database, _obliging) as (at, _):
        answer = await at.pay(headers={"accept-encoding": "gzip"})
    assert (answer.status, code_of(answer)) == (502, "upstream_failed")
    assert "credential" in answer.json()["error"]["message"]


async def test_control_buyer_reads_the_credential_where_it_chooses_the_coding(
    opened: Opened, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_headers, "_REPRESENTATIONS", frozenset())
    monkeypatch.setattr(hidden_value, "_CODING_HEADERS", ())
    async with _selling(opened, database, _obliging) as (at, key):
        answer = await at.pay(headers={"accept-encoding": "gzip"})
    assert key in gzip.decompress(answer.body)


async def test_control_buyer_reads_the_credential_where_escapes_are_not_read(
    opened: Opened, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_value, "_unescape", b"".join)
    async with _selling(opened, database, _escaping) as (at, key):
        answer = await at.pay()
    assert (answer.status, key in answer.body.decode("unicode_escape").encode()) == (200, True)


async def test_condition_or_other_method_of_the_buyer_reaches_no_upstream(
    opened: Opened, database: Database
) -> None:
    asked = {"if-none-match": "*", "x-http-method-override": "DELETE"}
    async with _selling(opened, database, _obliging, has_credential=False) as (at, _):
        answer = await at.pay(headers=asked)
        assert (answer.status, answer.headers["x-done"]) == (200, "GET")


async def test_control_override_of_the_method_has_another_one_executed(
    opened: Opened, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_headers, "_PREFIXES", ())
    async with _selling(opened, database, _obliging, has_credential=False) as (at, _):
        answer = await at.pay(headers={"x-http-method-override": "DELETE"})
    assert (answer.status, answer.headers["x-done"]) == (200, "DELETE")


async def test_control_condition_turns_a_response_into_an_owed_one(
    opened: Opened, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_headers, "_CONDITIONS", frozenset())
    async with _selling(opened, database, _obliging, has_credential=False) as (at, _):
        assert (await at.pay(headers={"if-none-match": "*"})).status == 502


async def test_control_unread_spelling_buys_a_dear_path_at_the_base_price(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = {"method": "GET", "path": "/dear/:name", "amount": "900"}
    async with opened(amount="100", routes=[dear]) as at:
        priced = (await at.offer("/dear%2Freport")).json()["accepts"][0]["amount"]
        monkeypatch.setattr("farebox.gateway.wrapper.read_path", lambda path: ((path[1:],),))
        unread = (await at.offer("/dear%2Freport")).json()["accepts"][0]["amount"]
    assert (priced, unread) == ("900", "100")
