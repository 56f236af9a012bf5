"""A relay in front of the devnet's RPC port that counts the calls of one facilitator.

The devnet counts all calls; the relay counts those of one facilitator, the bytes of the answers,
and the result of each sendTransaction, independently of any log.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from farebox.stellar.rpc import BAD_SEQUENCE
from farebox.stellar.transaction_result import read_transaction_result
from testing.servers import listening

_METHOD: Final = re.compile(rb'"method": ?"(\w+)"')
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HEAD_END: Final = b"\r\n\r\n"
_SEND: Final = "sendTransaction"
_HEAD_BYTES: Final = 256 * 1024


DelayOf = Callable[[str, bytes], float]  # seconds by which a call is delayed, by method and body


def _no_delay(method: str, body: bytes) -> float:
    del method, body
    return 0.0


@dataclass(frozen=True, slots=True)
class BadSequence:
    """An envelope that was refused for its sequence number, and the latest ledger then."""

    tx_hash: str
    latest_ledger: int


class RpcRelay:
    """Counts calls and bytes by method, and answers of sendTransaction by status or code.

    `delay_of` returns the delay of each call before it is forwarded.
    """

    def __init__(self, rpc_url: str) -> None:
        parts = urlsplit(rpc_url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self.calls: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()  # of the answers' bodies
        self.sends: Counter[str] = Counter()
        self.bad_sequences: list[BadSequence] = []
        self.delay_of: DelayOf = _no_delay

    def reset(self) -> None:
        """Reset all counters."""
        self.calls.clear()
        self.bytes.clear()
        self.sends.clear()
        self.bad_sequences.clear()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen on loopback; yields the URL to give to a facilitator."""
        async with listening(self._relay, limit=_HEAD_BYTES) as port:
            yield f"http://127.0.0.1:{port}"

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward requests and answers until either side closes the connection."""
        upstream: asyncio.StreamWriter | None = None
        with suppress(OSError, EOFError):
            node, upstream = await asyncio.open_connection(
                self._host, self._port, limit=_HEAD_BYTES
            )
            while True:
                head, body = await _read_message(reader)
                match = _METHOD.search(body)
                method = match[1].decode() if match else ""
                await asyncio.sleep(self.delay_of(method, body))
                self.calls[method] += 1
                upstream.write(head + body)
                head, body = await _read_message(node)
                self.bytes[method] += len(body)
                if method == _SEND:
                    self._count_send_response(json.loads(body).get("result", {}))
                writer.write(head + body)
                await writer.drain()
        for side in (writer, upstream):
            if side is not None:
                side.close()

    def _count_send_response(self, response: dict[str, Any]) -> None:
        """Count an answer of sendTransaction by status, or by result code when refused."""
        result = read_transaction_result(response.get("errorResultXdr", ""))
        status = (
            result.effective_code if result is not None else str(response.get("status", "error"))
        )
        self.sends[status] += 1
        if status == BAD_SEQUENCE:
            self.bad_sequences.append(BadSequence(response["hash"], response["latestLedger"]))


async def _read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(_HEAD_END)
    length = _LENGTH.search(head)
    return head, await reader.readexactly(int(length[1])) if length else b""
