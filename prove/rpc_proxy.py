"""A proxy between a replica and its RPC node; the interceptor handles every call."""

from typing import Any, Final, Self

import aiohttp
import msgspec
from aiohttp import web

from prove.interceptor import CONNECTION_ERRORS, ConnectionCut, Interceptor

_KEPT: Final = ("Retry-After",)  # response headers that are forwarded
_BODY_LIMIT: Final = 8 * 1024 * 1024
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30)


class RpcProxy:
    """Listens on loopback and forwards calls to a devnet's RPC port."""

    def __init__(self, interceptor: Interceptor, upstream: str) -> None:
        self._interceptor, self._upstream = interceptor, upstream
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_BODY_LIMIT)
        app.router.add_post("/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _serve(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            answer = await self._interceptor.intercept(
                _label(body),
                lambda: self._interceptor.deliver_call(body, lambda: self._forward(body)),
            )
        except (ConnectionCut, *CONNECTION_ERRORS):
            # the replica is dead, or the devnet dropped the call: close the connection
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        status, raw, kept = answer
        return web.Response(status=status, body=raw, headers=kept, content_type="application/json")

    async def _forward(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if self._session is None or self._session.closed:
            raise ConnectionError
        headers = {"content-type": "application/json"}
        try:
            async with self._session.post(self._upstream, data=body, headers=headers) as answer:
                kept = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
                return answer.status, await answer.read(), kept
        except aiohttp.ClientError as error:
            raise ConnectionError from error


def _label(body: bytes) -> str:
    call = msgspec.json.decode(body, type=dict[str, Any])
    return f"rpc {call['method']}"
