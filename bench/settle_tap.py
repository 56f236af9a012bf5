"""A relay in front of the devnet's RPC port that counts what one facilitator asks and is told.

The devnet counts calls of everybody; this tells one facilitator's from another's, and how each
sendTransaction was answered, without believing anybody's log.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

from farebox.stellar.transaction_result import read_transaction_result

_METHOD: Final = re.compile(rb'"method": ?"(\w+)"')
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HEAD_END: Final = b"\r\n\r\n"
_SEND: Final = "sendTransaction"
_HEAD_BYTES: Final = 256 * 1024


class Tap:
    """Counts by method, and answers of sendTransaction by status or result code."""

    def __init__(self, rpc_url: str) -> None:
        parts = urlsplit(rpc_url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self.calls: Counter[str] = Counter()
        self.sends: Counter[str] = Counter()

    def reset(self) -> None:
        """Start counting from nothing."""
        self.calls.clear()
        self.sends.clear()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen on loopback; yields the URL to give to a facilitator."""
        server = await asyncio.start_server(self._relay, "127.0.0.1", 0, limit=_HEAD_BYTES)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.close()  # connections end with their clients

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass requests on one after the other, each with its answer, until either side leaves."""
        upstream: asyncio.StreamWriter | None = None
        with suppress(OSError, EOFError):
            node, upstream = await asyncio.open_connection(
                self._host, self._port, limit=_HEAD_BYTES
            )
            while True:
                head, body = await _message(reader)
                found = _METHOD.search(body)
                method = found[1].decode() if found else ""
                self.calls[method] += 1
                upstream.write(head + body)
                head, body = await _message(node)
                if method == _SEND:
                    self.sends[_fate(body)] += 1
                writer.write(head + body)
                await writer.drain()
        for side in (writer, upstream):
            if side is not None:
                side.close()


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(_HEAD_END)
    length = _LENGTH.search(head)
    return head, await reader.readexactly(int(length[1])) if length else b""


def _fate(body: bytes) -> str:
    """The status of a sendTransaction, or the result code where it was refused."""
    said = json.loads(body).get("result", {})
    result = read_transaction_result(said.get("errorResultXdr", ""))
    return result.telling_code if result is not None else str(said.get("status", "error"))
