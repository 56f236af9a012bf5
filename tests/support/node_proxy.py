"""A proxy of a Stellar RPC node that forwards every call, unless a test scripts its response."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, Self

import aiohttp
import msgspec
from aiohttp import web
from stellar_sdk import TransactionEnvelope

from farebox.kernel.networks import Network
from testing.servers import serving

PLANTED_KEY: Final = "planted-rpc-key-5f0c1d"  # part of the URL; must never be seen anywhere

SEND: Final = "sendTransaction"
METHODS: Final = (  # that the service calls
    "getFeeStats",
    "getHealth",
    "getLatestLedger",
    "getLedgerEntries",
    "getNetwork",
    "getTransaction",
    "getTransactions",
    "getVersionInfo",
    SEND,
    "simulateTransaction",
)
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
        """Write until done, or until the caller disconnects."""
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        piece = b" " * 65_536
        while self.written < self._size:
            await response.write(piece)
            self.written += len(piece)
        return response


Forward = Callable[[], Awaitable[Json]]
Step = Callable[[Call, Forward], Awaitable[Json | Flood | web.StreamResponse]]


class NodeProxy:
    """Listens on loopback in front of a real node; keeps every call and answers by script."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._script: dict[str, Step] = {}
        self._open = AsyncExitStack()
        self._session: aiohttp.ClientSession | None = None
        self.calls: list[Call] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_post("/{path:.*}", self._serve)
        url = await self._open.enter_async_context(serving(app, shutdown_s=0.1))
        self.url = f"{url}/{PLANTED_KEY}"
        self._session = aiohttp.ClientSession(trust_env=False)
        await self._open.enter_async_context(self._session)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def on(self, method: str, step: Step) -> None:
        """Answer `method` by `step` from now on."""
        self._script[method] = step

    def on_every_method(self, step: Step) -> None:
        """Answer every method that the service calls by `step` from now on."""
        for method in METHODS:
            self.on(method, step)

    @property
    def is_scripted(self) -> bool:
        """Whether some calls are not simply forwarded."""
        return bool(self._script)

    def reset(self) -> None:
        """Forward every call again and forget the recorded calls."""
        self._script.clear()
        self.calls.clear()

    def counts(self) -> Counter[str]:
        """Calls by method since the last reset."""
        return Counter(call.method for call in self.calls)

    def sent_envelopes(self) -> list[str]:
        """Return the envelopes of sendTransaction since the last reset, base64."""
        return [each.params["transaction"] for each in self.calls if each.method == SEND]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        message = msgspec.json.decode(body, type=Json)
        call = Call(message["method"], message.get("params") or {}, body)
        self.calls.append(call)

        async def forward() -> Json:
            return await self._forward(body)

        step = self._script.get(call.method)
        answer = await (forward() if step is None else step(call, forward))
        if isinstance(answer, Flood):
            return await answer.pour(request)
        if isinstance(answer, web.StreamResponse):
            return answer
        answer["id"] = message.get("id")
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    async def _forward(self, body: bytes) -> Json:
        assert self._session is not None
        headers = {"content-type": "application/json"}
        async with self._session.post(self._upstream, data=body, headers=headers) as answer:
            return msgspec.json.decode(await answer.read(), type=Json)


def result(change: Callable[[Json], object]) -> Step:
    """Forward the call and change the result in place."""

    async def step(call: Call, forward: Forward) -> Json:
        del call
        answer = await forward()
        change(answer["result"])
        return answer

    return step


def fixed(value: object) -> Step:
    """Answer with this result."""
    return _answering(result=value)


def refused(message: str, code: int = -32603) -> Step:
    """Answer with a JSON-RPC error."""
    return _answering(error={"code": code, "message": message})


def _answering(**members: object) -> Step:
    async def step(call: Call, forward: Forward) -> Json:
        del call, forward
        return {"jsonrpc": "2.0", **members}

    return step


def http(status: int, body: bytes = b"") -> Step:
    """Answer with a bare HTTP response."""

    async def step(call: Call, forward: Forward) -> web.StreamResponse:
        del call, forward
        return web.Response(status=status, body=body, content_type="application/json")

    return step


def silence(until: asyncio.Event) -> Step:
    """Give no response before `until` is set, then 504."""

    async def step(call: Call, forward: Forward) -> web.StreamResponse:
        del call, forward
        await until.wait()
        return web.Response(status=504)

    return step


def lost_answer(body: bytes = b"", *, status: int = 502, pause: str | None = None) -> Step:
    """Forward the call and lose its response: a gateway sends these bytes in place of the node."""

    async def step(call: Call, forward: Forward) -> web.StreamResponse:
        del call
        await forward()
        headers = {} if pause is None else {"Retry-After": pause}
        return web.Response(status=status, headers=headers, body=body)

    return step


async def cut_connection(call: Call, forward: Forward) -> web.StreamResponse:
    """Forward the call and break the connection before the response."""
    del call
    await forward()
    raise ConnectionResetError


LOST_RESPONSES: Final = {
    "cut off": cut_connection,
    "502 with a page": lost_answer(b"<html>bad gateway</html>"),
    "503 with a pause": lost_answer(status=503, pause="1"),
    "429": lost_answer(status=429),
    "429 with a pause": lost_answer(status=429, pause="1"),
    "429 with a date": lost_answer(status=429, pause="Wed, 21 Oct 2026 07:28:00 GMT"),
    "broken JSON": lost_answer(b'{"jsonrpc":"2.0","id":1,"resu', status=200),
}


class Approving:
    """Answers what it saw succeed once with the same success for ever."""

    def __init__(self) -> None:
        self._approved: dict[str, Json] = {}

    async def __call__(self, call: Call, forward: Forward) -> Json:
        answer = await forward()
        asked = call.params["transaction"]
        result: Json = answer["result"]
        if "error" not in result:
            self._approved[asked] = result
        approved = self._approved.get(asked, result)
        return answer | {"result": {**approved, "latestLedger": result["latestLedger"]}}


class HeldLedger:
    """Answers each getHealth as the first one: the newest ledger stays `sequence`."""

    def __init__(self) -> None:
        self._held: Json | None = None

    async def __call__(self, call: Call, forward: Forward) -> Json:
        del call
        if self._held is None:
            self._held = await forward()
        return dict(self._held)

    @property
    def sequence(self) -> int:
        """The newest ledger; 0 before the first call."""
        return int(self._held["result"]["latestLedger"]) if self._held is not None else 0


def hide_transactions(node: NodeProxy) -> None:
    """Hide every transaction from now on, while ledgers go on closing."""
    node.on("getTransaction", result(unknown))
    node.on("getTransactions", result(lambda fields: fields.update(transactions=[])))


def unknown(fields: Json) -> None:
    """Change a result to that of an unknown hash."""
    for member in ("envelopeXdr", "resultXdr", "resultMetaXdr", "events", "ledger", "createdAt"):
        fields.pop(member, None)
    fields["status"] = "NOT_FOUND"


async def busy(call: Call, forward: Forward) -> Json:
    """Answer TRY_AGAIN_LATER without forwarding the transaction (testnet only)."""
    del forward
    sent = TransactionEnvelope.from_xdr(call.params["transaction"], Network.TESTNET.passphrase)
    answer = {"status": "TRY_AGAIN_LATER", "hash": sent.hash_hex(), "latestLedger": 5}
    return {"jsonrpc": "2.0", "result": answer | {"latestLedgerCloseTime": "0"}}
