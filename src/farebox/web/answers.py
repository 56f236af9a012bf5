"""Write a whole answer to an ASGI `send`."""

from collections.abc import Sequence

from starlette.types import Send

JSON_TYPE = (b"content-type", b"application/json")


async def send_json(
    send: Send, status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """The answer is sent: `body` is JSON already encoded, `headers` go beside type and length."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [JSON_TYPE, (b"content-length", b"%d" % len(body)), *headers],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def send_nothing(send: Send) -> None:
    """The answer is sent: it was done, and there is nothing to say of it."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})
