"""Steps of a node proxy that forward a call and lose its response."""

from typing import Final

from aiohttp import web

from support.node_proxy import Call, Forward, Step


def lost_response(status: int, *, pause: str | None = None, body: bytes = b"") -> Step:
    """Forward the call; a gateway answers in place of the node."""

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
    "502 with a page": lost_response(502, body=b"<html>bad gateway</html>"),
    "503 with a pause": lost_response(503, pause="1"),
    "429": lost_response(429),
    "429 with a pause": lost_response(429, pause="1"),
    "429 with a date": lost_response(429, pause="Wed, 21 Oct 2026 07:28:00 GMT"),
    "broken JSON": lost_response(200, body=b'{"jsonrpc":"2.0","id":1,"resu'),
}
