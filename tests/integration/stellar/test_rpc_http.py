"""HTTP faults of a node and of the network: deadlines, limits, and what was certainly not sent."""

import asyncio
import socket
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.certificates import Authority
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_http import HttpSorobanRpc
from support.scripted_node import (
    Act,
    ScriptedNode,
    by_method,
    cut_short,
    dripping,
    dropped,
    endless,
    fault,
    raw,
    result,
    silent,
)
from support.table_rows import in_row
from testing.waiting import until

SENT = {"status": "PENDING", "hash": "ab" * 32, "latestLedger": 7}


@asynccontextmanager
async def client(
    url: str, *, timeout_s: float = 5.0, authority: Path | None = None
) -> AsyncIterator[HttpSorobanRpc]:
    async with HttpSorobanRpc(
        Network.TESTNET, Secret(url), timeout_s=timeout_s, authority=authority
    ) as rpc:
        yield rpc


async def outage_of_send(url: str, *, timeout_s: float = 5.0) -> RpcUnavailable:
    async with client(url, timeout_s=timeout_s) as rpc:
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
    return caught.value


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


async def test_send_is_certainly_not_sent_when_the_connection_is_refused() -> None:
    outage = await outage_of_send(f"http://127.0.0.1:{unused_port()}/key-4f1c9e")
    assert outage.certainly_not_sent
    assert outage.part == "stellar:testnet"


async def test_send_is_certainly_not_sent_when_the_name_does_not_resolve() -> None:
    outage = await outage_of_send("http://node.invalid/key-4f1c9e")
    assert outage.certainly_not_sent


async def test_send_is_certainly_not_sent_by_a_closed_client() -> None:
    async with ScriptedNode([result(SENT)]) as node:
        rpc = HttpSorobanRpc(Network.TESTNET, Secret(node.url))
        await rpc.close()
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
    assert caught.value.certainly_not_sent
    assert node.requests == []


async def test_send_is_certainly_not_sent_when_no_connection_is_free_in_time() -> None:
    """The node was not called either."""
    async with ScriptedNode([silent]) as node:
        rpc = HttpSorobanRpc(Network.TESTNET, Secret(node.url), timeout_s=1, max_connections=1)
        async with rpc:
            both = (rpc.send("AAAA"), rpc.send("BBBB"))
            ended = await asyncio.gather(*both, return_exceptions=True)
    outages = [end for end in ended if isinstance(end, RpcUnavailable)]
    ends_of = [(outage.certainly_not_sent, outage.node_was_called) for outage in outages]
    assert sorted(ends_of) == [(False, True), (True, False)]
    assert len(node.requests) == 1


async def test_simulations_do_not_use_the_connections_of_other_calls() -> None:
    acts = {"simulateTransaction": silent, "sendTransaction": result(SENT)}
    async with ScriptedNode([by_method(acts)]) as node:
        rpc = HttpSorobanRpc(
            Network.TESTNET, Secret(node.url), timeout_s=20, max_connections=1, max_simulations=2
        )
        async with rpc:
            slow = [asyncio.ensure_future(rpc.simulate("AAAA")) for _ in range(8)]
            await until(lambda: len(node.requests) == 2)
            assert (await rpc.send("AAAA")).hash == SENT["hash"]
            assert not any(each.done() for each in slow), "it waited for none of them"
            for each in slow:
                each.cancel()
            await asyncio.gather(*slow, return_exceptions=True)


FAILURES: dict[str, Act] = {
    "reset after the request was read": dropped,
    "closed in the middle of the answer": cut_short,
    "429": raw(b"", status="429 Too Many Requests", headers="Retry-After: 1\r\n"),
    "500": raw(b"oops", status="500 Internal Server Error"),
    "502": raw(b"<html>", status="502 Bad Gateway"),
    "503": raw(b"", status="503 Service Unavailable"),
    "204": raw(b"", status="204 No Content"),
    "broken JSON": raw(b'{"jsonrpc":"2.0","id":1,"resul'),
    "no JSON at all": raw(b"\xff\xfe\x00"),
    "JSON nested without end": raw(b"[" * 100_000),
    "neither result nor error": raw(b"{}"),
    "a null result": raw(b'{"jsonrpc":"2.0","id":1,"result":null}'),
    "the answer to another request": raw(
        b'{"id":2,"result":{"status":"PENDING","hash":"","latestLedger":7}}'
    ),
    "a list for a result": raw(b'{"jsonrpc":"2.0","id":1,"result":[]}'),
    "a compressed answer": raw(b"{}", headers="Content-Encoding: gzip\r\n"),
    "an endless header": raw(b"", headers="X: " + "y" * 20_000 + "\r\n"),
    "a JSON-RPC error": fault(-32603, "internal"),
    "an unknown status": result({**SENT, "status": "LOST"}),
    "a text for a number": result({**SENT, "latestLedger": "7"}),
    "a number for a text": result({**SENT, "hash": 7}),
}


async def test_send_is_not_retried_and_unknown_after_a_failure_behind_the_request() -> None:
    async with ScriptedNode(list(FAILURES.values())) as node:
        for number, row in enumerate(FAILURES, start=1):
            with in_row(row):
                outage = await outage_of_send(node.url)
                assert (outage.certainly_not_sent, len(node.requests)) == (False, number)


async def test_send_is_not_retried_when_the_connection_is_reset_unread() -> None:
    async with ScriptedNode(resets_unread=True) as node:
        outage = await outage_of_send(node.url)
    assert not outage.certainly_not_sent
    assert node.connections == 1


async def test_send_is_not_retried_when_a_reused_connection_drops() -> None:
    async with ScriptedNode([result(SENT), dropped]) as node, client(node.url) as rpc:
        await rpc.send("AAAA")
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("BBBB")
        assert not caught.value.certainly_not_sent
        assert (node.connections, len(node.requests)) == (1, 2)


async def test_read_is_not_retried_when_the_connection_drops() -> None:
    async with ScriptedNode([dropped]) as node, client(node.url) as rpc:
        with pytest.raises(RpcUnavailable):
            await rpc.latest_ledger()
    assert len(node.requests) == 1


async def test_send_times_out_at_the_deadline_of_a_slow_node() -> None:
    async with ScriptedNode([silent]) as mute, ScriptedNode([dripping]) as slow:
        both = [outage_of_send(each.url, timeout_s=1) for each in (mute, slow)]
        for outage in await asyncio.gather(*both):
            assert not outage.certainly_not_sent
            assert outage.message.endswith("no answer came in time")


async def test_a_redirect_is_not_followed() -> None:
    async with ScriptedNode([result(SENT)]) as other:
        moved = raw(b"", status="307 Temporary Redirect", headers=f"Location: {other.url}\r\n")
        async with ScriptedNode([moved]) as node:
            outage = await outage_of_send(node.url)
    assert outage.message.endswith("HTTP status 307")
    assert other.requests == []


@pytest.mark.parametrize(
    "act",
    [endless(50), raw(b" " * 5_000_000)],
    ids=["50 MB of unknown length", "5 MB that say so"],
)
async def test_response_over_the_size_limit_is_refused(act: Act) -> None:
    async with ScriptedNode([act]) as node, client(node.url) as rpc:
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.simulate("AAAA")
    assert caught.value.message.endswith("the answer is too large")


async def test_response_below_the_size_limit_is_read() -> None:
    large = result({"latestLedger": 7, "x": "y" * 4_000_000})
    async with ScriptedNode([large]) as node, client(node.url) as rpc:
        simulation = await rpc.simulate("AAAA")
    assert simulation.result["latestLedger"] == 7


def unresolvable(url: str) -> str:
    return url.replace("127.0.0.1", "node.invalid")


LEAKS: dict[str, tuple[Act, Callable[[str], str]]] = {
    "status": (raw(b"", status="500 Oops"), str),
    "drop": (dropped, str),
    "garbled": (raw(b"not json key-4f1c9e"), str),
    "error": (fault(-32000, "bad key-4f1c9e"), str),
    "header": (raw(b"", headers="X: " + "y" * 20_000 + "\r\n"), str),
    "no such name": (silent, unresolvable),
    "no address at all": (silent, lambda url: url.replace("http://", "http:/\x00/")),
}


async def test_outage_and_its_traceback_do_not_contain_the_url() -> None:
    async with ScriptedNode() as node:
        for row, (act, change) in LEAKS.items():
            node.script[:] = [act]
            with in_row(row):
                outage = await outage_of_send(change(node.url))
                text = "".join(traceback.format_exception(outage)) + repr(outage)
                assert "key-4f1c9e" not in text
                assert str(node.port) not in text
                assert "invalid" not in text
                assert outage.__cause__ is None
                assert outage.__context__ is None


async def test_configured_authority_is_trusted(tmp_path: Path) -> None:
    trusted = Authority(tmp_path)
    async with (
        ScriptedNode([result(SENT)], tls=trusted.server("localhost")) as node,
        client(node.url, authority=trusted.file) as rpc,
    ):
        assert (await rpc.send("AAAA")).hash == "ab" * 32


async def test_untrusted_certificate_is_certainly_not_sent(
    tmp_path: Path,
) -> None:
    trusted = Authority(tmp_path)
    async with ScriptedNode([result(SENT)], tls=trusted.server("localhost")) as node:
        outage = await outage_of_send(node.url)
    assert outage.certainly_not_sent
    assert node.requests == []


async def test_connection_is_reused_between_calls() -> None:
    async with ScriptedNode([result(SENT)]) as node, client(node.url) as rpc:
        for _ in range(5):
            await rpc.send("AAAA")
    assert (node.connections, len(node.requests)) == (1, 5)


async def test_proxy_of_the_environment_and_cookies_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_port()}")
    sets_cookie = raw(b"", status="500 Oops", headers="Set-Cookie: a=b; Path=/\r\n")
    async with ScriptedNode([sets_cookie, result(SENT)]) as node:
        named = node.url.replace("127.0.0.1", "localhost")  # cookies are stored for names only
        async with client(named) as rpc:
            with pytest.raises(RpcUnavailable):
                await rpc.send("AAAA")
            await rpc.send("AAAA")
    assert "cookie" not in node.requests[1].head.lower()


async def test_request_is_json_rpc_without_compression() -> None:
    async with ScriptedNode([result(SENT)]) as node, client(node.url) as rpc:
        await rpc.send("AAAA")
    (request,) = node.requests
    assert request.head.startswith("POST /key-4f1c9e HTTP/1.1\r\n")
    assert "Accept-Encoding: identity\r\n" in request.head
    assert request.call == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "sendTransaction",
        "params": {"transaction": "AAAA"},
    }


def absence(*, closed_at: datetime) -> dict[str, object]:
    at = str(int(closed_at.timestamp()))
    return {
        "status": "NOT_FOUND",
        "latestLedger": 7,
        "latestLedgerCloseTime": at,
        "oldestLedger": 1,
        "oldestLedgerCloseTime": "1",
    }


@pytest.mark.parametrize("ahead_s", [121, 3_600, 86_400 * 365 * 3_000])
async def test_response_with_a_close_time_in_the_future_counts_as_none(ahead_s: int) -> None:
    """Control: a client without a clock, whose caller takes that time as the ledger's."""
    now = datetime(2026, 11, 21, tzinfo=UTC)
    closed_at = now + timedelta(seconds=ahead_s)
    health = {
        "status": "healthy",
        "latestLedger": 7,
        "oldestLedger": 1,
        "latestLedgerCloseTime": str(int(closed_at.timestamp())),
        "oldestLedgerCloseTime": "1",
    }
    acts = {"getTransaction": result(absence(closed_at=closed_at)), "getHealth": result(health)}
    until_s = timedelta(seconds=120)
    async with ScriptedNode([by_method(acts)]) as node:
        url = Secret(node.url)
        async with HttpSorobanRpc(Network.TESTNET, url, latest_close=lambda: now + until_s) as rpc:
            for call in (rpc.get_transaction("ab" * 32), rpc.latest_ledger()):
                with pytest.raises(RpcUnavailable, match="closed in the future"):
                    await call
        async with (
            HttpSorobanRpc(Network.TESTNET, url, latest_close=lambda: closed_at) as late,
            HttpSorobanRpc(Network.TESTNET, url) as believing,
        ):
            for each in (late, believing):
                assert (await each.latest_ledger()).close_at == closed_at
