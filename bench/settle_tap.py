"""A relay in front of the devnet's RPC port that counts what one facilitator asks and is told.

The devnet counts calls of everybody; this tells one facilitator's from another's, how long the
answers are, and how each sendTransaction was answered, without believing anybody's log.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from farebox.stellar.transaction_result import read_transaction_result
from farebox.submission.deliver import BAD_SEQUENCE

_METHOD: Final = re.compile(rb'"method": ?"(\w+)"')
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HEAD_END: Final = b"\r\n\r\n"
_SEND: Final = "sendTransaction"
_HEAD_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class BadSequence:
    """An envelope that was refused for its sequence number, and the ledger known by then."""

    tx_hash: str
    latest_ledger: int


class Tap:
    """Counts calls and bytes by method, and answers of sendTransaction by status or code."""

    def __init__(self, rpc_url: str) -> None:
        parts = urlsplit(rpc_url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self.calls: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()  # of the answers' bodies
        self.sends: Counter[str] = Counter()
        self.bad_sequences: list[BadSequence] = []

    def reset(self) -> None:
        """Start counting from nothing."""
        self.calls.clear()
        self.bytes.clear()
        self.sends.clear()
        self.bad_sequences.clear()

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
                self.bytes[method] += len(body)
                if method == _SEND:
                    self._note(json.loads(body).get("result", {}))
                writer.write(head + body)
                await writer.drain()
        for side in (writer, upstream):
            if side is not None:
                side.close()

    def _note(self, said: dict[str, Any]) -> None:
        """An answer of sendTransaction: its status, or the result code where it was refused."""
        result = read_transaction_result(said.get("errorResultXdr", ""))
        fate = result.telling_code if result is not None else str(said.get("status", "error"))
        self.sends[fate] += 1
        if fate == BAD_SEQUENCE:
            self.bad_sequences.append(BadSequence(said["hash"], said["latestLedger"]))


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(_HEAD_END)
    length = _LENGTH.search(head)
    return head, await reader.readexactly(int(length[1])) if length else b""
