"""Write a response as fast as its caller takes it."""

import asyncio
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Send

from farebox.web.responses import JSON_TYPE, send_json

LARGE_BYTES: Final = 64 * 1024
STALL_S: Final = 30.0  # until the caller takes more of a response
_PIECE_BYTES: Final = 16 * 1024


async def write_response(send: Send, body: bytes) -> None:
    """Write a 200 with this JSON; a large one in pieces.

    Raises:
        ClientDisconnect: the caller took nothing for 30 seconds.
    """
    if len(body) <= LARGE_BYTES:
        await send_json(send, 200, body)
    else:
        await _write_in_pieces(send, body)


async def _write_in_pieces(send: Send, body: bytes) -> None:
    headers = [JSON_TYPE, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for start in range(0, len(body), _PIECE_BYTES):
        end = start + _PIECE_BYTES
        piece = {"body": body[start:end], "more_body": end < len(body)}
        try:
            async with asyncio.timeout(STALL_S):
                await send({"type": "http.response.body", **piece})
        except TimeoutError:
            raise ClientDisconnect from None
