"""A closed loop of HTTP requests over keep-alive connections, light enough not to be the limit.

One thread, non-blocking sockets and ready-made request bytes: about 15 µs of work a request.
It runs as its own process (`main`), reads one plan as JSON on standard input and
prints one result as JSON, so that it can be pinned to another core than the server it measures.
"""

import base64
import re
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HEAD_END: Final = b"\r\n\r\n"
_STALLED_S: Final = 30.0


class Plan(msgspec.Struct, frozen=True):
    """The bodies (base64, sent in turn), concurrency, duration and expected answers of a load.

    `requests` are whole requests in place of bodies; with `is_once` each is sent once at most.
    """

    host: str
    port: int
    path: str
    bodies: list[str]
    in_flight: int
    duration_s: float
    expect: list[str]  # the answer to body i must contain expect[i % len(expect)]
    headers: dict[str, str] = {}
    requests: list[str] = []
    is_once: bool = False


class Result(msgspec.Struct, frozen=True):
    """The result; times in milliseconds, `busy` is the generator's share of one core."""

    answers: int
    unexpected: int
    elapsed_s: float
    per_second: float
    p50_ms: float
    p99_ms: float
    busy: float
    first_unexpected: str = ""
    p95_ms: float = 0.0


@dataclass(slots=True)
class _Connection:
    """One connection with at most one request on it."""

    sock: socket.socket
    index: int = 0
    sent_at: float = 0.0
    buffer: bytearray = field(default_factory=bytearray)
    expected_bytes: int = 0


def request_bytes(plan: Plan) -> list[bytes]:
    """Encode every request of the plan."""
    if plan.requests:
        return [base64.b64decode(each) for each in plan.requests]
    head = f"POST {plan.path} HTTP/1.1\r\nHost: {plan.host}:{plan.port}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in plan.headers.items())
    head += "Content-Type: application/json\r\nContent-Length: "
    bodies = [base64.b64decode(body) for body in plan.bodies]
    return [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]


def run(plan: Plan) -> Result:
    """Keep `in_flight` requests under way for `duration_s` seconds.

    Raises:
        RuntimeError: the server closed a connection or sent nothing for thirty seconds.
    """
    return _Generator(plan).run()


class _Generator:
    def __init__(self, plan: Plan) -> None:
        self._requests = request_bytes(plan)
        self._expected = [text.encode() for text in plan.expect]
        self._connections = [_open(plan) for _ in range(plan.in_flight)]
        self._selector = selectors.DefaultSelector()
        for connection in self._connections:
            self._selector.register(connection.sock, selectors.EVENT_READ, connection)
        self._duration_s, self._is_once = plan.duration_s, plan.is_once
        self._turn = 0
        self._latencies: list[float] = []
        self._unexpected = 0
        self._first_unexpected = ""

    def run(self) -> Result:
        cpu, began = time.process_time(), time.perf_counter()
        until = began + self._duration_s
        for connection in self._connections:
            self._send(connection)
        busy_connections = len(self._connections)
        while busy_connections:
            for connection in self._wait_for_answers():
                is_spent = self._is_once and self._turn >= len(self._requests)
                if time.perf_counter() < until and not is_spent:
                    self._send(connection)
                else:
                    busy_connections -= 1
        elapsed = time.perf_counter() - began
        busy = (time.process_time() - cpu) / elapsed
        for connection in self._connections:
            connection.sock.close()
        return self._result(elapsed, busy)

    def _send(self, connection: _Connection) -> None:
        connection.index = self._turn % len(self._requests)
        connection.expected_bytes = 0
        connection.buffer.clear()
        self._turn += 1
        connection.sent_at = time.perf_counter()
        connection.sock.sendall(self._requests[connection.index])

    def _wait_for_answers(self) -> Iterator[_Connection]:
        """Wait for data; yield the connections whose answer is complete."""
        ready = self._selector.select(_STALLED_S)
        if not ready:
            raise RuntimeError("the server stopped answering")
        for key, _ in ready:
            connection: _Connection = key.data
            if _receive(connection):
                self._latencies.append(time.perf_counter() - connection.sent_at)
                self._judge(connection)
                yield connection

    def _judge(self, connection: _Connection) -> None:
        if self._expected[connection.index % len(self._expected)] not in connection.buffer:
            self._unexpected += 1
            self._first_unexpected = self._first_unexpected or connection.buffer.decode(
                errors="replace"
            )

    def _result(self, elapsed: float, busy: float) -> Result:
        ordered = sorted(self._latencies)
        return Result(
            answers=len(ordered),
            unexpected=self._unexpected,
            elapsed_s=elapsed,
            per_second=len(ordered) / elapsed,
            p50_ms=ordered[len(ordered) // 2] * 1000,
            p99_ms=ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000,
            busy=busy,
            first_unexpected=self._first_unexpected,
            p95_ms=ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] * 1000,
        )


def _open(plan: Plan) -> _Connection:
    sock = socket.create_connection((plan.host, plan.port), timeout=10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _Connection(sock)


def _receive(connection: _Connection) -> bool:
    """Read the received data; True once the answer is complete."""
    chunk = connection.sock.recv(65536)
    if not chunk:
        raise RuntimeError("the server closed a connection")
    connection.buffer += chunk
    if not connection.expected_bytes:
        end = connection.buffer.find(_HEAD_END)
        if end < 0:
            return False
        length = _LENGTH.search(connection.buffer, 0, end)
        if length is None:
            raise RuntimeError("an answer without Content-Length")
        connection.expected_bytes = end + len(_HEAD_END) + int(length[1])
    return len(connection.buffer) >= connection.expected_bytes


def main() -> int:
    """Run the plan on standard input."""
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.json.encode(run(plan)) + b"\n")
    return 0
