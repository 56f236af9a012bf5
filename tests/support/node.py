"""A Stellar node that can be told to lie: it passes every call on to a real one until then."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Self

import aiohttp
import msgspec
from aiohttp import web
from stellar_sdk import TransactionEnvelope

from farebox.kernel.networks import Network

PLANTED_KEY: Final = "planted-rpc-key-5f0c1d"  # part of the URL; must never be seen anywhere

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One call that reached the node."""

    method: str
    params: Json
    body: bytes


class Flood:
    """An answer of that many bytes; `written` says how many went out before the caller left."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.written = 0

    async def step(self, call: "Call", forward: "Forward") -> Self:
        """Answer with the flood."""
        del call, forward
        return self

    async def pour(self, request: web.Request) -> web.StreamResponse:
        """Write until done, or until nobody reads any more."""
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        piece = b" " * 65_536
        while self.written < self._size:
            await response.write(piece)
            self.written += len(piece)
        return response


Forward = Callable[[], Awaitable[Json]]
Step = Callable[[Call, Forward], Awaitable[Json | Flood | web.StreamResponse]]


class ScriptedNode:
    """Listens on loopback in front of a real node; keeps every call and answers by script."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._script: dict[str, Step] = {}
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self.calls: list[Call] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_post("/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        _, port = self._runner.addresses[0][:2]
        self.url = f"http://127.0.0.1:{port}/{PLANTED_KEY}"
        self._session = aiohttp.ClientSession(trust_env=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def on(self, method: str, step: Step) -> None:
        """From now on answer `method` by `step`."""
        self._script[method] = step

    def reset(self) -> None:
        """Be honest again and forget the calls."""
        self._script.clear()
        self.calls.clear()

    def counts(self) -> Counter[str]:
        """Calls by method since the last reset."""
        return Counter(call.method for call in self.calls)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked = msgspec.json.decode(body, type=Json)
        call = Call(asked["method"], asked.get("params") or {}, body)
        self.calls.append(call)

        async def forward() -> Json:
            return await self._forward(body)

        step = self._script.get(call.method)
        answer = await (forward() if step is None else step(call, forward))
        if isinstance(answer, Flood):
            return await answer.pour(request)
        if isinstance(answer, web.StreamResponse):
            return answer
        answer["id"] = asked.get("id")
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    async def _forward(self, body: bytes) -> Json:
        assert self._session is not None
        headers = {"content-type": "application/json"}
        async with self._session.post(self._upstream, data=body, headers=headers) as answer:
            return msgspec.json.decode(await answer.read(), type=Json)


def result(change: Callable[[Json], object]) -> Step:
    """The real answer with its result changed in place."""

    async def step(call: Call, forward: Forward) -> Json:
        del call
        answer = await forward()
        change(answer["result"])
        return answer

    return step


def fixed(value: object) -> Step:
    """Always this result."""

    async def step(call: Call, forward: Forward) -> Json:
        del call, forward
        return {"jsonrpc": "2.0", "result": value}

    return step


def refused(message: str, code: int = -32603) -> Step:
    """A JSON-RPC error."""

    async def step(call: Call, forward: Forward) -> Json:
        del call, forward
        return {"jsonrpc": "2.0", "error": {"code": code, "message": message}}

    return step


def http(status: int, body: bytes = b"") -> Step:
    """A bare HTTP answer."""

    async def step(call: Call, forward: Forward) -> web.StreamResponse:
        del call, forward
        return web.Response(status=status, body=body, content_type="application/json")

    return step


def silence(until: asyncio.Event) -> Step:
    """No answer before `until` is set; then a gateway's timeout."""

    async def step(call: Call, forward: Forward) -> web.StreamResponse:
        del call, forward
        await until.wait()
        return web.Response(status=504)

    return step


def lost_answer(body: bytes = b"", *, status: int = 502) -> Step:
    """The call is carried out and its answer lost: these bytes come instead."""

    async def step(call: Call, forward: Forward) -> web.StreamResponse:
        del call
        await forward()
        return web.Response(status=status, body=body)

    return step


def lose_sight(node: ScriptedNode) -> None:
    """From now on the node has seen no transaction at all, while its ledgers go on."""
    node.on("getTransaction", result(unknown))
    node.on("getTransactions", result(lambda told: told.update(transactions=[])))


def unknown(told: Json) -> None:
    """What a node answers for a hash it does not know."""
    for member in ("envelopeXdr", "resultXdr", "resultMetaXdr", "events", "ledger", "createdAt"):
        told.pop(member, None)
    told["status"] = "NOT_FOUND"


async def busy(call: Call, forward: Forward) -> Json:
    """The node of testnet has no room for a transaction; it never reaches the queue."""
    del forward
    sent = TransactionEnvelope.from_xdr(call.params["transaction"], Network.TESTNET.passphrase)
    answer = {"status": "TRY_AGAIN_LATER", "hash": sent.hash_hex(), "latestLedger": 5}
    return {"jsonrpc": "2.0", "result": answer | {"latestLedgerCloseTime": "0"}}
